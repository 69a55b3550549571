"""Folders in which people and programs keep memory as Markdown: `MEMORY.md`, `USER.md`, `memory/2026-01-02.md`.

No link is followed out of a folder, and nothing is written. Other files there are left alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import BinaryIO, NamedTuple

from muniment.formats.memories.memory_notes import FILE_BYTES_MAX
from muniment.formats.reading.beneath import directory_beneath, file_beneath, problem_of
from muniment.formats.reading.source_files import LINK, NO_FILE, name_of, text_of

FILES_MAX = 5000  # of a folder
LASTING = frozenset({"memory.md", "user.md"})  # names in lower case
DAYS, ENDING = "memory", ".md"
TOO_MANY_FILES, NO_MEMORY_FILES = "too_many_files", "no_memory_files"


class MemoryFile(NamedTuple):
    """A file: its name within its folder and its bytes, one more than are read at most; or why it is not read."""

    name: str
    content: bytes | None
    reason: str | None = None


def memory_files(given: Sequence[BinaryIO | Path]) -> Iterator[MemoryFile]:
    """Yield the files of streams, files and folders, one in memory at a time."""
    for one in given:
        if not isinstance(one, Path):
            yield MemoryFile(name_of(one), one.read(FILE_BYTES_MAX + 1))
            continue
        try:
            if one.is_dir():
                with directory_beneath(one) as opened:
                    nothing = MemoryFile(text_of(Path(one.name)), None, NO_MEMORY_FILES)
                    files = _in_folder(opened)
                    yield next(files, nothing)
                    yield from files
            else:
                with one.open("rb") as file:
                    yield MemoryFile(text_of(Path(one.name)), file.read(FILE_BYTES_MAX + 1))
        except (OSError, ValueError) as fault:
            yield MemoryFile(text_of(Path(one.name)), None, problem_of(fault))


def _in_folder(opened: int) -> Iterator[MemoryFile]:
    names = _names(opened)
    for name in [name for name in names if name.casefold() in LASTING]:
        yield _file(opened, name, name)
    if DAYS not in names:
        return
    if (why := _why_not(opened, DAYS, stat.S_ISDIR)) is not None:
        yield MemoryFile(DAYS, None, why)
        return
    with directory_beneath(DAYS, opened) as days:
        files = [name for name in _names(days) if name.casefold().endswith(ENDING) and not name.startswith(".")]
        for name in files[:FILES_MAX]:
            yield _file(days, name, f"{DAYS}/{name}")
        if len(files) > FILES_MAX:
            yield MemoryFile(DAYS, None, TOO_MANY_FILES)


def _names(opened: int) -> list[str]:
    with os.scandir(opened) as entries:
        return nsmallest(2 * FILES_MAX, (entry.name for entry in entries), key=os.fsencode)


def _file(opened: int, name: str, shown: str) -> MemoryFile:
    shown = text_of(Path(shown))
    try:
        why = _why_not(opened, name, stat.S_ISREG)
        if why is not None:
            return MemoryFile(shown, None, why)
        with file_beneath(name, opened) as file:
            return MemoryFile(shown, file.read(FILE_BYTES_MAX + 1))
    except OSError as fault:
        return MemoryFile(shown, None, problem_of(fault))


def _why_not(opened: int, name: str, is_wanted: Callable[[int], bool]) -> str | None:
    """Return why a file or folder is not opened, or None."""
    mode = os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode
    if is_wanted(mode):
        return None
    return LINK if stat.S_ISLNK(mode) else NO_FILE
