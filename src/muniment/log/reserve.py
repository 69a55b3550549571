"""The reserve: disk space that is kept for erasures (decision 0123).

An erasure has to write before it can destroy: its event, and the envelopes of each segment that it touches. On a full
disk it would fail, just when somebody erases to free space. So a file of `RESERVE_BYTES` without any content is beside
each log. An erasure that finds the disk full removes it. It is made again as soon as there is space.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NAME = "ballast"
RESERVE_BYTES = 1 << 20


class Reserve:
    """The file of one log."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME

    def keep(self) -> None:
        """Make the file unless it is there; a disk without enough space is left alone."""
        with contextlib.suppress(OSError):  # it is for another time: whoever called wants something else now
            if not self._path.exists():
                self._make()

    def release(self) -> bool:
        """Remove the file; return whether it was there."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _make(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        whole = False
        try:
            remaining = RESERVE_BYTES
            while remaining:
                remaining -= os.write(descriptor, bytes(remaining))
            whole = True
        finally:
            os.close(descriptor)
            if not whole:
                self._path.unlink()
