"""Files that leave the store: written beside their name, for the owner alone, and named when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from muniment.errors import FileTaken, FileUnavailable

MODE = 0o600
DIRECTORY_MODE = 0o700


@contextmanager
def outside(at: str) -> Iterator[None]:
    """Turn what the system says of a file into our error; the path that it quotes is left behind."""
    try:
        yield
    except OSError as fault:
        raise FileUnavailable.because(fault, at=at) from None


@contextmanager
def reading(path: Path, at: str) -> Iterator[BinaryIO]:
    """Give a file from outside for reading."""
    if "\0" in str(path):
        raise FileUnavailable(at=at, problem="not_found")
    with outside(at), path.open("rb") as file:
        yield file


class OutFile:
    """A file on its way: `beside` until it is `kept`. What an interrupted attempt left is written over."""

    def __init__(self, path: Path, at: str) -> None:
        """Raise `FileTaken` when there is a file of this name already, `FileUnavailable` where there can be none."""
        self.path = path
        self.beside = path.with_name(path.name + ".new")
        self._at = at
        if "\0" in str(path):
            raise FileUnavailable(at=at, problem="not_found")
        with outside(at):
            path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            if os.path.lexists(path):
                raise FileTaken(at=at)

    @contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """Give the file for writing from its beginning; what was written is durable afterwards."""
        with outside(self._at):
            self.beside.unlink(missing_ok=True)
            descriptor = os.open(self.beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, MODE)  # the process may have an umask that takes more away
                yield file
                file.flush()
                os.fsync(descriptor)

    def keep(self) -> None:
        """Give the file its name."""
        with outside(self._at):
            try:
                os.link(self.beside, self.path)  # unlike a renaming, this takes nothing from anybody
            except FileExistsError:
                raise FileTaken(at=self._at) from None
            self.beside.unlink()
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def drop(self) -> None:
        """Leave nothing of a file that was not kept."""
        with outside(self._at):
            self.beside.unlink(missing_ok=True)
