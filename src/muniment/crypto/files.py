"""Small private files whose old contents must be destroyed: key files, `keys.json`, `store.json`.

A file is replaced in five steps, each of which leaves a state that `settle` completes:

1. The new contents are written to `NAME.new` (0600) and synced.
2. The old contents get a second name (`NAME.old`, a hard link), and the directory is synced.
3. `NAME.new` is renamed to `NAME`, and the directory is synced: from here on the new contents are in force.
4. The old contents are overwritten with zeros through `NAME.old` and synced.
5. `NAME.old` is removed, and the directory is synced.

After a crash before step 3 the old contents are in force, after a later crash the new ones; in both cases `settle`
destroys the others. Copies that a file system keeps (copy on write, snapshots, flash translation) are out of reach.

Changes happen under `locked`, an advisory lock among threads and processes. Readers take no lock: `read` returns
contents that were in force at one moment.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.errors import Corrupt, StoreBusy, StoreFault, StoreFull, StoreMissing, StoreReadOnly

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
FILE_BYTES_MAX = 256 * 1024
LOCK_ATTEMPTS_MAX, LOCK_PAUSE_S = 500, 0.02
READ_ATTEMPTS_MAX = 100

_REFUSALS = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EROFS: StoreReadOnly,
    errno.EACCES: StoreReadOnly,
    errno.EPERM: StoreReadOnly,
    errno.ENOENT: StoreMissing,
    errno.ENOTDIR: StoreMissing,
}

Stamp = tuple[int, int, int, int]


@contextmanager
def faults(at: str) -> Iterator[None]:
    """Turn errors of the operating system into ours, without the path that they quote."""
    try:
        yield
    except OSError as refusal:
        raise _REFUSALS.get(refusal.errno or 0, StoreFault)(at=at) from None


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents, accessible only to the owner."""
    if path.is_dir():
        return
    make_directory(path.parent)
    try:
        path.mkdir(mode=DIRECTORY_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path, contents: bytes) -> None:
    """Create a file that only the owner can access, and sync it; it must not exist yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)  # whatever the umask is
        _write_all(descriptor, contents)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> tuple[bytes, Stamp]:
    """Return contents that were in force and their stamp, never those of a file that is being destroyed."""
    for _ in range(READ_ATTEMPTS_MAX):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MAX:
                raise Corrupt(at=path.name, problem="too_long", limit=FILE_BYTES_MAX)
            contents = _read_all(descriptor)
            # Contents are overwritten only after another file has the name: while this file has it, they are in force.
            # It stays open until then, so that no later file has its number.
            if stamp(path)[0] == status.st_ino:
                return contents, _stamp(status)
        finally:
            os.close(descriptor)
    raise StoreBusy(at=path.name, limit=READ_ATTEMPTS_MAX)


def stamp(path: Path) -> Stamp:
    """Return a value that changes when the file is replaced."""
    return _stamp(os.stat(path))  # noqa: PTH116 - called in every write transaction, and Path.stat takes twice as long


def replace(path: Path, contents: bytes) -> None:
    """Replace the contents of a file and destroy the old ones. The caller holds the lock."""
    settle(path)
    new, old = _beside(path)
    write_new(new, contents)
    if path.exists():
        os.link(path, old)
        sync_directory(path.parent)
    new.rename(path)
    sync_directory(path.parent)
    if old.exists():
        _destroy(old)


def unsettled(path: Path) -> bool:
    """Return whether a replacement was interrupted or is in progress."""
    return any(leftover.exists() for leftover in _beside(path))


def settle(path: Path) -> None:
    """Complete an interrupted replacement. The caller holds the lock."""
    new, old = _beside(path)
    if new.exists():
        _destroy(new)
    if old.exists():
        if path.exists() and old.samefile(path):
            old.unlink()
            sync_directory(path.parent)
        else:
            _destroy(old)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file against other threads and processes; raises `StoreBusy` when it stays locked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        for _ in range(LOCK_ATTEMPTS_MAX):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(LOCK_PAUSE_S)
            else:
                break
        else:
            raise StoreBusy(at=path.name)
        yield
    finally:
        os.close(descriptor)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + ".new"), path.with_name(path.name + ".old")


def _destroy(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        _write_all(descriptor, bytes(os.fstat(descriptor).st_size))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()
    sync_directory(path.parent)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, FILE_BYTES_MAX):
        pieces.append(piece)
    return b"".join(pieces)


def _write_all(descriptor: int, contents: bytes) -> None:
    rest = memoryview(contents)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
