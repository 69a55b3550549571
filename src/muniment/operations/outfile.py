"""Files that leave the store: written beside their name, for the owner alone, and named when they are complete.

What leaves through a stream is written to a file without a name, and copied into the stream when it is complete.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from muniment.declaration.download import Download
from muniment.errors import FileTaken, FileUnavailable
from muniment.log.faults import fault_of

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
def temporary() -> Iterator[None]:
    """Turn what the system says of a temporary file into our error: the request is not to blame."""
    try:
        yield
    except OSError as fault:
        raise fault_of(fault) from None


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

    @contextmanager
    def reading(self) -> Iterator[BinaryIO]:
        """Give what was written for reading from its beginning."""
        with reading(self.beside, self._at) as file:
            yield file

    @property
    def size(self) -> int:
        """How many bytes were written."""
        with outside(self._at):
            return self.beside.stat().st_size

    @property
    def name(self) -> str | None:
        """The path of the file."""
        return str(self.path)

    def spool(self) -> OutFile:
        """Return a file for what is written on the way, beside this one."""
        return OutFile(self.path.with_name(self.path.name + ".spool"), self._at)

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


class OutStream:
    """What leaves through a stream: in a file without a name, which goes with the process, until it is `kept`.

    The file lies where the system keeps temporary files, so only what is encrypted is written to it.
    """

    name = None

    def __init__(self, stream: BinaryIO | None, at: str) -> None:
        self._stream = stream
        self._at = at
        with temporary():
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `drop` closes it

    @contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """Give the file for writing from its beginning."""
        with temporary():
            self._file.truncate(0)
            self._file.seek(0)
            yield self._file
            self._file.flush()

    @contextmanager
    def reading(self) -> Iterator[BinaryIO]:
        """Give what was written for reading from its beginning."""
        with temporary():
            self._file.seek(0)
            yield self._file

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return os.fstat(self._file.fileno()).st_size

    def spool(self) -> OutStream:
        """Return another file, for what is written on the way."""
        return OutStream(None, self._at)

    def keep(self) -> None:
        """Copy the file into the stream."""
        assert self._stream is not None, "a spool is not kept"
        with self.reading() as file, outside(self._at):
            shutil.copyfileobj(file, self._stream)

    def drop(self) -> None:
        """Leave nothing of the file."""
        self._file.close()


def outgoing(file: Download, at: str) -> OutFile | OutStream:
    """Return the file that an operation was given as its download, on its way."""
    if isinstance(file, io.IOBase):
        return OutStream(cast("BinaryIO", file), at)
    return OutFile(Path(cast("str", file)), at)
