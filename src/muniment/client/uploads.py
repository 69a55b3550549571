"""An upload as the body of a request: read while it is sent, and from its start again for another attempt."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from muniment.declaration.operation import Operation
from muniment.declaration.upload import named_sources, reading
from muniment.errors import InvalidInput, NotServed

PIECE_BYTES = 64 * 1024


class UploadBody:
    """A stream that is sent. Where it can be sought in, its size is known, and it can be sent again."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._start: int | None = None
        self._sent = 0
        self.size: int | None = None
        if stream.seekable():
            self._start = stream.tell()
            self.size = stream.seek(0, io.SEEK_END) - self._start
            stream.seek(self._start)

    def piece(self) -> bytes:
        """Return the next piece, empty at the end; refuses a stream that is not as long as it was said to be."""
        piece = self._stream.read(PIECE_BYTES)
        self._sent += len(piece)
        if self.size is not None and (self._sent > self.size or (not piece and self._sent < self.size)):
            raise InvalidInput(at=self._name, problem="changed_meanwhile")
        return piece

    def again(self) -> bool:
        """Go back to the start; return whether that is possible."""
        if self._start is None:
            return False
        self._stream.seek(self._start)
        self._sent = 0
        return True


@contextlib.contextmanager
def upload_body(operation: Operation, upload: object) -> Iterator[UploadBody | None]:
    """Give the upload of a call as a body; a file that is opened here is closed here.

    Over a network an upload is one file: raises `request.not_served` for several, and for a folder.
    """
    name = operation.upload
    if name is None:
        yield None
        return
    source: object = upload
    if operation.uploads_several:
        [source, *more] = named_sources(upload, name)
        if more or (isinstance(source, Path) and source.is_dir()):
            raise NotServed(at=name, problem="one_file_a_call")
    with reading(source, name) as stream:
        yield UploadBody(stream, name)
