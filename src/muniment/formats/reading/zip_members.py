"""A zip archive as its files, read in place: nothing is unpacked to the disk.

The data exports of ChatGPT and Claude come as zip archives: `conversations.json` (or `conversations-000.json` and so
on) with other files beside. Where an archive has such a file, its other files are skipped; any other archive is read
whole, like a folder.

What an archive says of itself is not trusted. A member is refused when its name leads out of the archive, when it is
encrypted, a link, or an archive itself, when it is packed in a way that exports do not use, and when it is too large or
packed too densely for its size. A member is never read beyond the size that it declares, and its checksum is checked.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded

MEMBERS_MAX = 10_000
MEMBER_BYTES_MAX = 2**30
ARCHIVE_BYTES_MAX = 4 * 2**30  # all members that are read, unpacked
STREAM_BYTES_MAX = 64 * 2**20  # an archive from a pipe, which is kept in memory
DENSITY_MAX = 200  # unpacked bytes for one packed byte
DENSE_BYTES_MIN = 2**20  # smaller members may be packed as densely as they like

MAGICS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, struct.error, RuntimeError)
CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
ENCRYPTED = 0x1
RESOURCES = "__MACOSX"
HIDDEN = "hidden"
BESIDE = "beside_conversations"
DRIVE = re.compile(r"[A-Za-z]:")


class Unread(NamedTuple):
    """Why a file is not read: it is refused, for a `fault` of the disk or another reason, or skipped on purpose."""

    reason: str
    is_skipped: bool = False
    fault: FileUnavailable | None = None


class ZipMember(NamedTuple):
    """A file in an archive, or why it is not read."""

    name: str
    entry: zipfile.ZipInfo
    unread: Unread | None = None


def is_zip(stream: io.BufferedReader) -> bool:
    """Return whether a stream begins as a zip archive does; nothing is consumed."""
    return stream.peek(len(MAGICS[0]))[: len(MAGICS[0])] in MAGICS


class ZipMembers:
    """The files of an archive, in the order of their names."""

    def __init__(self, stream: io.BufferedReader) -> None:
        """Raise `request.invalid` for a damaged archive, `request.limit_exceeded` for one with too many members."""
        try:
            self._archive = zipfile.ZipFile(_seekable(stream))
        except (*DAMAGES, OSError):
            raise InvalidInput(at="file", problem="zip_damaged") from None
        entries = [entry for entry in self._archive.infolist() if not entry.is_dir()]
        if len(entries) > MEMBERS_MAX:
            raise LimitExceeded(at="file", problem="too_many_members", limit=MEMBERS_MAX, found=len(entries))
        self._entries = sorted(entries, key=lambda entry: entry.filename)
        self._is_export = any(map(_has_conversations, entries))

    def __iter__(self) -> Iterator[ZipMember]:
        """Yield every file, with the reason where it is not read."""
        seen: set[str] = set()
        bytes_left = ARCHIVE_BYTES_MAX
        for number, entry in enumerate(self._entries, start=1):
            if _leads_out(entry):
                yield ZipMember(f"#{number}", entry, Unread("path_outside"))  # its name is not for a screen
                continue
            unread = self._skipped(entry) or _why_not(entry)
            if unread is None and entry.filename in seen:
                unread = Unread("duplicate")
            if unread is None and entry.file_size > bytes_left:
                unread = Unread("archive_too_large")
            if unread is None:
                bytes_left -= entry.file_size
                seen.add(entry.filename)
            yield ZipMember(entry.filename, entry, unread)

    @contextmanager
    def opened(self, member: ZipMember) -> Iterator[io.BufferedReader | Unread]:
        """Give a member for reading, or why it cannot be read after all."""
        try:
            raw = self._archive.open(member.entry)
        except DAMAGES:
            yield Unread("zip_damaged")
            return
        with raw, cast("io.BufferedReader", io.BufferedReader(_Member(cast("io.BufferedReader", raw)))) as stream:
            yield Unread("nested_archive") if is_zip_or_broken(stream) else stream

    def _skipped(self, entry: zipfile.ZipInfo) -> Unread | None:
        if _is_hidden(entry.filename):
            return Unread(HIDDEN, is_skipped=True)
        if self._is_export and not _has_conversations(entry):
            return Unread(BESIDE, is_skipped=True)
        return None


class _Member(io.RawIOBase):
    """A member as a plain stream that ends with `EOFError` where the archive is damaged."""

    def __init__(self, raw: io.BufferedReader) -> None:
        super().__init__()
        self._raw = raw
        self._is_broken = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read the next bytes."""
        target = memoryview(buffer)
        if self._is_broken:  # what comes behind a damage is not read as an end
            raise EOFError
        try:
            data = self._raw.read1(len(target))
        except DAMAGES:
            self._is_broken = True
            raise EOFError from None
        target[: len(data)] = data
        return len(data)


def is_zip_or_broken(stream: io.BufferedReader) -> bool:
    """Return whether a member is an archive itself; one that is broken from its beginning is not."""
    try:
        return is_zip(stream)
    except EOFError:
        return False


def _seekable(stream: io.BufferedReader) -> io.BufferedReader | io.BytesIO:
    """Return an archive that can be read from its end: from a pipe it is kept in memory."""
    if stream.seekable():
        return stream
    data = stream.read(STREAM_BYTES_MAX + 1)
    if len(data) > STREAM_BYTES_MAX:
        raise LimitExceeded(at="file", problem="archive_too_large", limit=STREAM_BYTES_MAX)
    return io.BytesIO(data)


def _leads_out(entry: zipfile.ZipInfo) -> bool:
    name = entry.orig_filename
    return (
        name.startswith(("/", "\\"))
        or DRIVE.match(name) is not None
        or any(part in {"..", "."} for part in re.split(r"[/\\]", name))
        or not name.isprintable()
    )


def _has_conversations(entry: zipfile.ZipInfo) -> bool:
    return CONVERSATIONS.fullmatch(PurePosixPath(entry.filename).name) is not None and not _is_hidden(entry.filename)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == RESOURCES for part in name.split("/"))


def _why_not(entry: zipfile.ZipInfo) -> Unread | None:
    """Return why a member must not be read, from what the archive says of it."""
    mode = entry.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        return Unread("not_a_file")
    if entry.flag_bits & ENCRYPTED:
        return Unread("encrypted")
    if entry.compress_type not in METHODS:
        return Unread("packed_unusually")
    if entry.file_size > MEMBER_BYTES_MAX:
        return Unread("too_large")
    if entry.file_size > DENSE_BYTES_MIN and entry.file_size > DENSITY_MAX * max(entry.compress_size, 1):
        return Unread("packed_too_densely")
    return None
