"""The files that an import is given: a stream, a file, a zip archive, a folder, or several of them, in a stable order.

Each file has a name: what conversations without an id are named after, so no two files of one import share it.

| given | files | name |
|---|---|---|
| a stream | itself | its name, or `import` |
| a file | itself | its name; with those of the folders above it where two given files have one name |
| a folder | every file in it and beneath it, sorted | its path, from the name of the folder on |
| a zip archive | see `zip_members` | that of the archive, then its path in the archive |

Of a folder that is an unpacked export, the known files beside its conversations are skipped, as in an archive.
Hidden files, links, what is no file (a pipe, a device) and the logs beside a database are skipped; a file that cannot
be read is refused. All are yielded with the reason, so that nothing is left out without a word. Nothing is ever
written, and no link is followed.
"""

from __future__ import annotations

import io
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from muniment.errors import FileUnavailable, LimitExceeded, MunimentError
from muniment.formats.reading.zip_members import BESIDE, CONVERSATIONS, HIDDEN, Unread, ZipMembers, is_zip

FILES_MAX = 10_000
UNNAMED = "import"
LINK = "link"
NO_FILE = "not_a_file"
OF_DATABASE = "beside_database"
BESIDE_DATABASES = ("-wal", "-shm", "-journal")
# files that the exports of ChatGPT and Claude have beside their conversations
COMPANIONS = frozenset({
    "chat.html", "group_chats.json", "memories.json", "message_feedback.json", "model_comparisons.json",
    "projects.json", "shared_conversations.json", "user.json", "user_settings.json", "users.json",
})  # fmt: skip


class SourceFile(NamedTuple):
    """A file to import, as a buffered stream, or why it is not read."""

    name: str
    stream: io.BufferedReader | None
    unread: Unread | None = None


class Located(NamedTuple):
    """A file on the disk before it is opened, or why it is not read."""

    name: str
    path: Path
    unread: Unread | None = None


def source_files(given: Sequence[BinaryIO | Path]) -> Iterator[SourceFile]:
    """Yield every file in what was given, each open until the next one is asked for."""
    located: list[BinaryIO | Located] = []
    for one, name in zip(given, _names(given), strict=True):
        located += _located(one, name) if isinstance(one, Path) else [one]
        if len(located) > FILES_MAX:
            raise LimitExceeded(at="file", problem="too_many", limit=FILES_MAX)
    for each in located:
        if not isinstance(each, Located):
            with buffered(each) as stream:
                yield from _unpacked(name_of(each), stream)
        elif each.unread is not None:
            yield SourceFile(each.name, None, each.unread)
        else:
            yield from _opened(each)


def name_of(stream: BinaryIO) -> str:
    """Return the name of the file behind a stream; standard input has none."""
    name = getattr(stream, "name", None)
    return Path(name).name if isinstance(name, str) and not name.startswith("<") else UNNAMED


@contextmanager
def buffered(stream: BinaryIO) -> Iterator[io.BufferedReader]:
    """Give a stream with a buffer to look ahead in; whoever opened the stream closes it."""
    if isinstance(stream, io.BufferedReader):
        yield stream
        return
    reader = cast("io.BufferedReader", io.BufferedReader(cast("io.RawIOBase", stream)))
    try:
        yield reader
    finally:
        reader.detach()


def _opened(file: Located) -> Iterator[SourceFile]:
    try:
        stream = file.path.open("rb")
    except (OSError, ValueError) as fault:
        yield SourceFile(file.name, None, _fault(fault))
        return
    with stream:
        yield from _unpacked(file.name, stream)


def _fault(fault: OSError | ValueError) -> Unread:
    error = FileUnavailable.because(fault, at="file")
    return Unread(error.problem or error.code, fault=error)


def _unpacked(name: str, stream: io.BufferedReader) -> Iterator[SourceFile]:
    """Yield a file as it is, or the members of a zip archive."""
    try:
        packed = is_zip(stream)
    except (OSError, ValueError) as fault:
        yield SourceFile(name, None, _fault(fault))
        return
    if not packed:
        yield SourceFile(name, stream)
        return
    try:
        members = ZipMembers(stream)
    except MunimentError as refused:
        yield SourceFile(name, None, Unread(refused.problem or refused.code))
        return
    for member in members:
        if member.unread is not None:
            yield SourceFile(f"{name}/{member.name}", None, member.unread)
            continue
        with members.opened(member) as inner:
            if isinstance(inner, Unread):
                yield SourceFile(f"{name}/{member.name}", None, inner)
            else:
                yield SourceFile(f"{name}/{member.name}", inner)


def _names(given: Sequence[BinaryIO | Path]) -> list[str]:
    """Return a name for each given path; where two are alike, the names of the folders above go before them."""
    full = [None if not isinstance(one, Path) else Path(os.path.abspath(one)) for one in given]  # noqa: PTH100 - links stay
    counted = Counter(path.name for path in set(full) if path is not None)
    alike = [path for path in full if path is not None and counted[path.name] > 1]
    shared = Path(os.path.commonpath(alike)) if alike else Path()
    return [
        "" if path is None else text_of(path.relative_to(shared) if path in alike else Path(path.name)) for path in full
    ]


def text_of(path: Path) -> str:
    """Return a path as text with slashes; bytes of it that are no text are spelt out."""
    return path.as_posix().encode(errors="surrogateescape").decode(errors="backslashreplace")


def _located(path: Path, name: str) -> Iterator[Located]:
    """Yield a file, or every file in a folder, in the order of their paths."""
    if not os.path.isdir(path):  # noqa: PTH112 - False for what cannot be asked
        yield Located(name, path)
        return
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as fault:
        yield Located(name, path, _fault(fault))
        return
    names = {entry.name for entry in entries}
    is_export = any(map(CONVERSATIONS.fullmatch, names))
    for entry in entries:
        inner = f"{name}/{text_of(Path(entry.name))}"
        why = _beside(entry.name, names, is_export=is_export) or _why_not(entry)
        if why is not None:
            yield Located(inner, path / entry.name, Unread(why, is_skipped=True))
        else:
            yield from _located(path / entry.name, inner)


def _beside(name: str, names: AbstractSet[str], *, is_export: bool) -> str | None:
    """Return why a file is skipped because of a file beside it, or None."""
    if is_export and name in COMPANIONS:
        return BESIDE
    return next((OF_DATABASE for ending in BESIDE_DATABASES if name.removesuffix(ending) in names - {name}), None)


def _why_not(entry: os.DirEntry[str]) -> str | None:
    """Return why an entry of a folder is skipped, or None for one that is read."""
    if entry.name.startswith("."):
        return HIDDEN
    if entry.is_symlink():
        return LINK
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return None  # opening it says what is wrong
    return None if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else NO_FILE
