"""A disk that is watched: a layer between SQLite and the file system that counts flushes and can make them slow.

It becomes the default of SQLite in this process, so that a store that is opened through the front door lies on it. Only
flushes are touched; reading and writing go to the real file system. Each call costs a walk through Python: count and
compare through this layer, never measure CPU time through it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

NAME = "muniment-watched"


class WatchedDisk(apsw.VFS):
    """The file system, with every flush counted (`wal_syncs`, `other_syncs`) and, if wanted, made slow."""

    def __init__(self, base: str, *, sync_s: float = 0.0) -> None:
        self.base = base
        self.sync_s = sync_s
        self.wal_syncs = 0
        self.other_syncs = 0
        super().__init__(NAME, base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's word
        """Open a file of SQLite."""
        return WatchedFile(self, name, flags)


class WatchedFile(apsw.VFSFile):
    """One file on the watched disk."""

    def __init__(self, disk: WatchedDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_wal = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__(disk.base, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's word
        """Flush, really, and take note."""
        super().xSync(flags)
        if self._is_wal:
            self._disk.wal_syncs += 1
        else:
            self._disk.other_syncs += 1
        if self._disk.sync_s:
            time.sleep(self._disk.sync_s)


@contextmanager
def watched(*, sync_s: float = 0.0) -> Iterator[WatchedDisk]:
    """Put every database that is opened inside on a watched disk."""
    usual = apsw.vfs_names()[0]
    disk = WatchedDisk(usual, sync_s=sync_s)
    try:
        yield disk
    finally:
        disk.unregister()
        apsw.set_default_vfs(usual)
