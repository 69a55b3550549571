"""A disk that breaks: the n-th of one kind of call fails, once or from then on; and one that is full.

It becomes the default of SQLite in this process. What is flushed and written by hand (key files, pins, directories)
goes through the same count: `os.fsync`, `os.write` and `os.pwrite` are led through it as long as it lasts.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import apsw

NAME = "muniment-faulty"
STANDARD_STREAMS = 3  # the descriptors of input, output and errors


class Call(StrEnum):
    """A kind of call."""

    OPEN = "open"
    READ = "read"
    WRITE = "write"
    SYNC = "sync"
    TRUNCATE = "truncate"
    DELETE = "delete"
    FLUSH = "flush"  # by hand, beside SQLite
    PUT = "put"  # written by hand, beside SQLite


class How(StrEnum):
    """How a call fails."""

    BROKEN = "EIO"
    FULL = "ENOSPC"
    SHORT = "short"  # half of it is written, then the disk is full
    SILENT = "silent"  # nothing is done, and success reported: no store survives that


class Plan(NamedTuple):
    """Which call fails, and how."""

    call: Call
    how: How
    number: int
    for_ever: bool


HOWS: dict[Call, tuple[How, ...]] = {
    Call.OPEN: (How.BROKEN,),
    Call.READ: (How.BROKEN,),
    Call.WRITE: (How.BROKEN, How.FULL, How.SHORT),
    Call.SYNC: (How.BROKEN, How.FULL),
    Call.TRUNCATE: (How.BROKEN,),
    Call.DELETE: (How.BROKEN,),
    Call.FLUSH: (How.BROKEN, How.FULL),
    Call.PUT: (How.BROKEN, How.FULL),
}


class FaultyDisk(apsw.VFS):
    """The file system with a plan of what breaks. `hits` says how often it broke.

    `barriers` counts what makes a write-ahead log trustworthy again: a flush of the database, or the log emptied.
    """

    def __init__(self, base: str, plan: Plan | None) -> None:
        self.base = base
        self.plan = plan
        self.hits = 0
        self.calls: Counter[Call] = Counter()
        self.barriers = self.barriers_before = 0
        self.room: Callable[[], int] | None = None  # how many bytes are left
        super().__init__(NAME, base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's
        """Open a file."""
        if self.meets(Call.OPEN):
            raise apsw.CantOpenError
        return FaultyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's
        """Remove a file."""
        if self.meets(Call.DELETE):
            raise apsw.IOError
        super().xDelete(filename, syncdir)

    def meets(self, call: Call) -> How | None:
        """Count a call; return how it fails, if it does."""
        self.calls[call] += 1
        plan = self.plan
        if plan is None or plan.call is not call:
            return None
        number = self.calls[call]
        if number != plan.number and not (plan.for_ever and number > plan.number):
            return None
        self.hits += 1
        self.barriers_before = self.barriers
        return plan.how

    def by_hand(self, call: Call) -> How | None:
        """Count what is done by hand, and raise what fails as the system does."""
        how = self.meets(call)
        if how in {How.BROKEN, How.FULL}:
            raise OSError(errno.EIO if how is How.BROKEN else errno.ENOSPC, "a drill")
        return how


class FaultyFile(apsw.VFSFile):
    """One file on the faulty disk."""

    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_database = bool(flags[0] & apsw.SQLITE_OPEN_MAIN_DB)
        super().__init__(disk.base, name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's
        """Read."""
        _raise(self._disk.meets(Call.READ))
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's
        """Write."""
        grows = offset + len(data) - super().xFileSize()
        if grows > 0 and self._disk.room is not None and self._disk.room() < grows:
            raise apsw.FullError
        how = self._disk.meets(Call.WRITE)
        if how is How.SILENT:
            return
        if how is How.SHORT:
            super().xWrite(bytes(data[: len(data) // 2]), offset)
        _raise(how)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's
        """Cut, or lengthen."""
        _raise(self._disk.meets(Call.TRUNCATE))
        super().xTruncate(newsize)
        self._disk.barriers += not newsize

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's
        """Flush; no power is cut here, so the real file system need not."""
        del flags
        _raise(self._disk.meets(Call.SYNC))
        self._disk.barriers += self._is_database


def _raise(how: How | None) -> None:
    if how is How.BROKEN:
        raise apsw.IOError
    if how in {How.FULL, How.SHORT}:
        raise apsw.FullError


@contextmanager
def faulty(plan: Plan | None = None) -> Iterator[FaultyDisk]:
    """Put every database that is opened inside on a disk that breaks by plan."""
    usual, fsync, write, pwrite = apsw.vfs_names()[0], os.fsync, os.write, os.pwrite
    disk = FaultyDisk(usual, plan)

    def heard(_descriptor: int) -> None:
        disk.by_hand(Call.FLUSH)

    def written(descriptor: int, data: bytes) -> int:
        if descriptor >= STANDARD_STREAMS:
            if disk.room is not None and disk.room() < len(data):
                raise OSError(errno.ENOSPC, "a drill")
            disk.by_hand(Call.PUT)
        return write(descriptor, data)

    def written_over(descriptor: int, data: bytes, offset: int) -> int:
        disk.by_hand(Call.PUT)
        return pwrite(descriptor, data, offset)

    os.fsync, os.write, os.pwrite = heard, written, written_over  # type: ignore[assignment]  # as they are called here
    try:
        yield disk
    finally:
        os.fsync, os.write, os.pwrite = fsync, write, pwrite
        disk.unregister()
        apsw.set_default_vfs(usual)


def bytes_below(directory: Path) -> int:
    """Return how much room the files below a directory take."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
