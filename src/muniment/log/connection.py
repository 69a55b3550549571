"""Connections to the file of a log: how they are opened, how long they wait, how they are given up.

The file is made with mode 0600 before SQLite sees it, in a directory of mode 0700; its companions (-wal, -shm)
inherit the mode. Nobody may open and close the file beside SQLite in a process that uses it: POSIX drops all locks of
a process on a file when any descriptor of it is closed. That is why only the write-ahead log and the directory are
flushed by hand here; the database itself is flushed by every checkpoint.

SQLite wants an index of the write-ahead log beside it (-shm), and makes it when a log is opened. Where it cannot be
made, the log is opened in another way (`Way`, decision 0133):

- on a full disk this process keeps the index in its memory and locks all others out as long as it has the log open;
- what can only be read is read as it is, when nothing waits in a write-ahead log. A writer who came by another
  way since is noticed by `moved`. A write-ahead log without its index is refused: reading past it would be wrong.
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

from muniment.errors import StoreBusy, StoreMissing, StoreReadOnly
from muniment.log.faults import STORE_ERRORS, fault_of
from muniment.log.migrations import MIGRATIONS, check_schema, migrate, version_of

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5000
PATIENCE_S = 30.0  # how long other writers, or readers of old snapshots, may keep us waiting
PAUSE_FIRST_S, PAUSE_MAX_S = 0.002, 0.2
CACHE_KIB = 4096
PIECE_BYTES = 1 << 20

PRAGMAS: dict[str, str | int] = {
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


class Way(StrEnum):
    """How connections share what they know of the write-ahead log."""

    SHARED = "shared"  # by a file beside it
    ALONE = "alone"  # in the memory of this process, which keeps all others out
    STILL = "still"  # there is none: nobody writes


# What SQLite says when the index of the write-ahead log cannot be made.
NO_INDEX = frozenset({apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMMAP})
VFS_ALONE = "unix-excl"


class LogFile:
    """Where a log lies, and how connections to it are opened. `refusal` says why nothing may be written."""

    def __init__(self, path: Path, mode: OpenMode, patience_s: float, vfs: str | None) -> None:
        self.path = path
        self.wal = path.with_name(path.name + "-wal")
        self.mode = mode
        self.refusal = "opened_for_reading"
        self.patience_s = patience_s
        self.busy_timeout_ms = min(BUSY_TIMEOUT_MS, int(patience_s * 1000))
        self._vfs = vfs
        self._way: Way | None = None
        self.is_still = False  # whether the log is read without any lock, because nobody here could write to it
        self._seen: tuple[int, ...] = ()
        if mode is not OpenMode.READ and path.is_file() and not self._is_writable():
            self.mode, self.refusal = OpenMode.READ, "not_writable"

    def _is_writable(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    def open(self) -> apsw.Connection:
        """Return a connection to a log of the newest version."""
        try:
            if not self.path.is_file():
                raise StoreMissing(problem="no_file")
            return self._connected(self._way) if self._way is not None else self._first_connected()
        except (*STORE_ERRORS, OSError) as error:
            raise fault_of(error) from None

    def _first_connected(self) -> apsw.Connection:
        """Return the first connection, and settle on the way of all others."""
        way = Way.SHARED
        try:
            connection = self._connected(way)
        except (apsw.IOError, apsw.CantOpenError) as error:
            if self._vfs is not None or not lacks_index(error):
                raise
            way = self._other_way()
            connection = self._connected(way)
        self._way, self.is_still = way, way is Way.STILL
        return connection

    def _other_way(self) -> Way:
        """Return the way to open a log whose index cannot be made."""
        if self._is_writable():
            return Way.ALONE
        if self.wal_bytes():
            raise StoreReadOnly(problem="waiting_writes")
        return Way.STILL

    def _connected(self, way: Way) -> apsw.Connection:
        name, vfs = str(self.path), VFS_ALONE if way is Way.ALONE else self._vfs
        # locking all others out takes the right to write, also where nothing will be written
        reads = self.mode is OpenMode.READ and way is not Way.ALONE
        flags = apsw.SQLITE_OPEN_READONLY if reads else apsw.SQLITE_OPEN_READWRITE
        if way is Way.STILL:
            name, flags = f"{self.path.absolute().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
            self._seen = self._seen or self._stamp()
        connection = apsw.Connection(name, flags=flags, vfs=vfs)
        done = False
        try:
            self.patiently(lambda: self._prepare(connection, way))
            done = True
        finally:
            if not done:
                give_up(connection)
        return connection

    def moved(self) -> bool:
        """Tell whether somebody has written, by another way, to a log that is read as if it lay still."""
        return self._stamp() != self._seen

    def begin_again(self) -> None:
        """Forget how the log was opened: it is not as it was."""
        self._way, self.is_still, self._seen = None, False, ()

    def _stamp(self) -> tuple[int, ...]:
        status = self.path.stat()
        return status.st_ino, status.st_mtime_ns, status.st_size, self.wal_bytes()

    def _prepare(self, connection: apsw.Connection, way: Way) -> None:
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
        elif way is Way.ALONE:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.pragma("query_only", "ON")
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


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, unless there is one, and the directories above it."""
    try:
        for directory in reversed(path.parents):
            if not directory.exists():
                directory.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _flush(path.parent)
    except FileExistsError:
        pass  # opening it will tell what it is
    except OSError as error:
        raise fault_of(error) from None


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lacks_index(error: apsw.Error) -> bool:
    """Tell whether SQLite failed because the index of the write-ahead log cannot be made."""
    known = getattr(error, "extendedresult", 0)  # what SQLite raised has it
    return isinstance(error, apsw.CantOpenError) or known in NO_INDEX


def give_up(connection: apsw.Connection) -> None:
    """Close a connection that is not trusted: without the checkpoint that SQLite makes when the last one closes."""
    with contextlib.suppress(apsw.Error):  # it is being given up because of an error; a second one tells nothing new
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close(force=True)
