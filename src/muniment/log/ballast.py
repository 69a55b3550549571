"""Room that is kept back on the disk for erasures (decision 0123).

An erasure has to write before it can destroy: its event, and every key bundle anew. On a full disk it could therefore
not be carried out, just when somebody erases to make room. So a file of `BALLAST_BYTES` lies beside each log; it holds
nothing, and when an erasure finds the disk full, it is removed. It is made again when there is room.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NAME = "ballast"
BALLAST_BYTES = 1 << 20


class Ballast:
    """The file of one log."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME

    def keep(self) -> None:
        """Keep room back, unless it is kept; a disk that has none to keep is left alone."""
        with contextlib.suppress(OSError):  # for the next time: whoever asked wants something else
            if not self._path.exists():
                self._make()

    def release(self) -> bool:
        """Give the room away; return whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _make(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        whole = False
        try:
            left = BALLAST_BYTES
            while left:
                left -= os.write(descriptor, bytes(left))
            whole = True
        finally:
            os.close(descriptor)
            if not whole:
                self._path.unlink()
