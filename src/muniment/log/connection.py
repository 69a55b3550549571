"""Connections to the file of a log: how they are opened, how long they wait, how they are given up.

The file is made with mode 0600 before SQLite sees it, in a directory of mode 0700; its companions (-wal, -shm)
inherit the mode. Nobody may open and close the file beside SQLite in a process that uses it: POSIX drops all locks of
a process on a file when any descriptor of it is closed. That is why only the write-ahead log and the directory are
flushed by hand here; the database itself is flushed by every checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import apsw

from muniment.errors import StoreBusy, StoreMissing
from muniment.log.faults import STORE_ERRORS, fault_of
from muniment.log.migrations import MIGRATIONS, check_schema, migrate, version_of

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5000
PATIENCE_S = 30.0  # how long other writers, or readers of old snapshots, may keep us waiting
PAUSE_FIRST_S, PAUSE_MAX_S = 0.002, 0.2
CACHE_KIB = 4096
PIECE_BYTES = 1 << 20

PRAGMAS = {
    "synchronous": "FULL",
    "fullfsync": "ON",  # macOS alone has it: there a plain fsync leaves what was written in the cache of the disk
    "checkpoint_fullfsync": "ON",
    "secure_delete": "ON",
    "temp_store": "MEMORY",
    "foreign_keys": "ON",
    "trusted_schema": "OFF",
    "cell_size_check": "ON",
    "cache_size": -CACHE_KIB,
}


class OpenMode(StrEnum):
    """What opening a store may do to it."""

    CREATE = "create"
    WRITE = "write"
    READ = "read"


class LogFile:
    """Where a log lies, and how connections to it are opened."""

    def __init__(self, path: Path, mode: OpenMode, patience_s: float, vfs: str | None) -> None:
        self.path = path
        self.wal = path.with_name(path.name + "-wal")
        self.mode = mode
        self.patience_s = patience_s
        self.busy_timeout_ms = min(BUSY_TIMEOUT_MS, int(patience_s * 1000))
        self._vfs = vfs

    def make_file(self) -> None:
        """Make an empty file that only its owner may read, unless there is one."""
        try:
            for directory in reversed(self.path.parents):
                if not directory.exists():
                    directory.mkdir(mode=0o700, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self.flush_directory()
        except FileExistsError:
            pass  # opening it will tell whether it is a log
        except OSError as error:
            raise fault_of(error) from None

    def open(self) -> apsw.Connection:
        """Return a connection to a log of the newest version."""
        flags = apsw.SQLITE_OPEN_READONLY if self.mode is OpenMode.READ else apsw.SQLITE_OPEN_READWRITE
        try:
            if not self.path.is_file():
                raise StoreMissing(problem="no_file")
            connection = apsw.Connection(str(self.path), flags=flags, vfs=self._vfs)
        except (apsw.Error, OSError) as error:
            raise fault_of(error) from None
        done = False
        try:
            self.patiently(lambda: self._prepare(connection))
            done = True
        except STORE_ERRORS as error:
            raise fault_of(error) from None
        finally:
            if not done:
                give_up(connection)
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(self.busy_timeout_ms)
        # Without the stability guarantee SQLite plans cached statements again: partial indexes depend on bindings.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for name, value in PRAGMAS.items():
            connection.pragma(name, value)
        if version_of(connection, max(MIGRATIONS)) == 0 and self.mode is not OpenMode.CREATE:
            raise StoreMissing(problem="empty_file")
        if self.mode is not OpenMode.READ:
            connection.pragma("journal_mode", "WAL")
            migrate(connection)
        check_schema(connection)

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Return what the attempt returns, repeating it while others are in the way; then raise `StoreBusy`."""
        deadline = time.monotonic() + self.patience_s
        pause_s = PAUSE_FIRST_S
        while True:
            try:
                return attempt()
            except (apsw.BusyError, apsw.LockedError):
                if time.monotonic() >= deadline:
                    raise StoreBusy from None
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log, 0 when there is none."""
        return self.wal.stat().st_size if self.wal.exists() else 0

    def flush_wal(self) -> bool:
        """Flush the write-ahead log to the disk; return whether there is one."""
        if not self.wal.exists():
            return False
        _flush(self.wal)
        return True

    def rewrite_wal(self) -> None:
        """Write the write-ahead log once more, as it reads, and flush it; whoever calls holds the lock of writers.

        After a flush that failed, the system may go on showing what it never wrote, and takes it for written.
        """
        descriptor = os.open(self.wal, os.O_RDWR | os.O_CLOEXEC)
        try:
            at = 0
            while piece := os.pread(descriptor, PIECE_BYTES, at):
                at += os.pwrite(descriptor, piece, at)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def flush_directory(self) -> None:
        """Flush the names of the files to the disk."""
        _flush(self.path.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def give_up(connection: apsw.Connection) -> None:
    """Close a connection that is not trusted: without the checkpoint that SQLite makes when the last one closes."""
    with contextlib.suppress(apsw.Error):  # it is being given up because of an error; a second one tells nothing new
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close(force=True)
