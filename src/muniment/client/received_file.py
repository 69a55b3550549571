"""A file as the answer to a call: a new file on this machine, or the bytes of a stream that the caller gave.

A file gets its name when all of it is there and is what its digest says; then an attempt that broke off can be made
again. What a stream has taken cannot be taken back, so a call is not repeated behind its first byte.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from muniment.declaration.download import DownloadReport
from muniment.declaration.http_wire import digest_of
from muniment.declaration.operation import Operation, Request, streamed
from muniment.errors import AnswerInvalid
from muniment.operations.outfile import OutFile

Report = TypeVar("Report")


class ReceivedFile:
    """Where the file goes that a call is answered with."""

    def __init__(self, target: OutFile | BinaryIO) -> None:
        self._target = target
        self._is_begun = False
        self.is_complete = False

    @contextlib.contextmanager
    def receiving(self, digest: str | None) -> Iterator[BinaryIO]:
        """Give what takes the file; refuses one that is not what its digest (RFC 9530) says."""
        self._is_begun = True
        with self._target.writing() if isinstance(self._target, OutFile) else _left_open(self._target) as written:
            digesting = _DigestedFile(written)
            yield digesting  # type: ignore[misc]  # it is written to and nothing else
        if digest != digesting.digest:
            raise AnswerInvalid(problem="other_digest")
        self.is_complete = True

    def again(self) -> bool:
        """Tell whether another attempt may be made."""
        return isinstance(self._target, OutFile) or not self._is_begun

    def keep(self, report: Report) -> Report:
        """Give a complete file its name; return the report with its path."""
        if not (self.is_complete and isinstance(self._target, OutFile) and isinstance(report, DownloadReport)):
            return report
        self._target.keep()
        return msgspec.structs.replace(report, file=str(self._target.path))

    def drop(self) -> None:
        """Leave nothing of a file that was not kept."""
        if isinstance(self._target, OutFile):
            self._target.drop()


class _DigestedFile:
    """A stream that knows the digest of what it was given."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        self._digest.update(piece)
        self._stream.write(piece)

    @property
    def digest(self) -> str:
        return digest_of(self._digest.digest())


@contextlib.contextmanager
def _left_open(stream: BinaryIO) -> Iterator[BinaryIO]:
    yield stream


@contextlib.contextmanager
def received_file(operation: Operation, request: Request, stream: BinaryIO | None) -> Iterator[ReceivedFile | None]:
    """Give where the file of a call goes: into a stream, or to the path that its request names."""
    if operation.download is None:
        yield None
        return
    target = stream if stream is not None else OutFile(Path(getattr(request, operation.download)), operation.download)
    file = ReceivedFile(target)
    try:
        yield file
    finally:
        file.drop()


def as_sent(operation: Operation, request: Request) -> tuple[Operation, Request]:
    """Return an operation and its request as a server knows them: without the path that a file has here."""
    if operation.download is None:
        return operation, request
    sent = streamed(operation)
    given = {name: value for name, value in msgspec.structs.asdict(request).items() if name != operation.download}
    return sent, sent.request(**given)
