"""A stream as numbered lines, read in bounded memory; its first bytes say whether it is gzip.

What cannot be read as a line (too long, a damaged archive) comes out in its place as the error that says so, so that
the lines around it are not lost.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded, MunimentError
from muniment.events.binding import REQUEST_BYTES_MAX

LINE_BYTES_MAX = REQUEST_BYTES_MAX
ITEM_BYTES_MAX = 64 * 2**20  # a conversation in a document
GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DRAIN_BYTES = 2**20
CHUNK_BYTES = 2**20
DAMAGES = (EOFError, zlib.error, gzip.BadGzipFile)


class Lines:
    """The lines of a stream, in a `with` statement. `damaged` says after reading whether the end was missing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", file))
        self._is_wrapped = self._file is not file
        self.bytes_total = 0
        try:
            if self._file.seekable():
                start = self._file.tell()
                self.bytes_total = self._file.seek(0, os.SEEK_END)
                self._file.seek(start)
            is_gzip = self._file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
        except (OSError, ValueError) as problem:
            raise FileUnavailable.because(problem, at="file") from None
        self._text: io.BufferedReader = self._file
        if is_gzip:
            self._text = io.BufferedReader(gzip.GzipFile(fileobj=self._file))
        self.damaged = False

    def ahead(self, limit: int) -> bytes:
        """Return the next line that is not blank, with the blank ones before it, and leave them to be read.

        At most so many bytes; what is behind a damage is never there.
        """
        return self._looked_at(self._text.readline, limit, lambda found: bool(found.strip()))

    def all_ahead(self, limit: int) -> bytes:
        """Return everything to the end, at most so many bytes, and leave it to be read; `damaged` tells of its end."""
        return self._looked_at(lambda room: self._text.read1(min(room, CHUNK_BYTES)), limit, lambda _found: False)

    def _looked_at(self, read: Callable[[int], bytes], limit: int, enough: Callable[[bytes], bool]) -> bytes:
        found: list[bytes] = []
        size, rest = 0, self._text
        try:
            while size < limit and (more := read(limit - size)):
                found.append(more)
                size += len(more)
                if enough(more):
                    break
        except DAMAGES:
            self.damaged = True
        except OSError as problem:
            raise FileUnavailable.because(problem, at="file") from None
        data = b"".join(found)
        self._text = io.BufferedReader(_Rejoined(data, None if self.damaged else rest))
        return data

    @property
    def bytes_done(self) -> int:
        """How much of the file was read, in bytes as they are stored; 0 for a stream that does not say."""
        return self._file.tell() if self.bytes_total else 0

    def __iter__(self) -> Iterator[tuple[int, bytes | MunimentError]]:
        """Yield every line that is not blank with its number, counted from 1."""
        number = 0
        while True:
            number += 1
            try:
                line = self._text.readline(LINE_BYTES_MAX + 1)
                if len(line) > LINE_BYTES_MAX and not line.endswith(b"\n"):
                    self._drain()
                    yield number, LimitExceeded(at="line", problem="too_large", limit=LINE_BYTES_MAX)
                    continue
            except DAMAGES:
                self.damaged = True
                yield number, InvalidInput(at="file", problem="gzip_damaged")
                return
            except OSError as problem:
                raise FileUnavailable.because(problem, at="file") from None
            if not line:
                return
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            if line.strip():
                yield number, line

    def _drain(self) -> None:
        """Read on to the end of a line without keeping it."""
        while (rest := self._text.readline(DRAIN_BYTES)) and not rest.endswith(b"\n"):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_wrapped:
            self._file.detach()  # whoever opened the stream closes it


class _Rejoined(io.RawIOBase):
    """What was read ahead, and behind it the rest; without one, the end is missing there."""

    def __init__(self, head: bytes, rest: io.BufferedReader | None) -> None:
        super().__init__()
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what is at hand."""
        room = memoryview(buffer)
        found: bytes | memoryview = self._head[: len(room)]
        if not found:
            if self._rest is None:
                raise EOFError
            found = self._rest.read1(len(room))
        self._head = self._head[len(found) :]
        room[: len(found)] = found
        return len(found)
