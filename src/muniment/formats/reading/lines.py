"""A stream as numbered lines, read in bounded memory; its first bytes say whether it is gzip.

Where a line cannot be read (too long, a damaged archive), the error is yielded instead, so that the other lines are not
lost.
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
GZIP_DAMAGED, FILE_CUT = "gzip_damaged", "file_cut"


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
            is_gzip = self._begins_as_gzip()
        except (OSError, ValueError) as problem:
            raise FileUnavailable.because(problem, at="file") from None
        self._text: io.BufferedReader = self._file
        if is_gzip:
            self._text = io.BufferedReader(gzip.GzipFile(fileobj=self._file))
        self.damaged = False
        self.damage = GZIP_DAMAGED if is_gzip else FILE_CUT  # what a damage is called

    def _begins_as_gzip(self) -> bool:
        try:
            return self._file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
        except EOFError:  # a broken member of an archive; reading it says so
            return False

    def ahead(self, limit: int) -> bytes:
        """Return the next line that is not blank and the blank ones before it, without consuming them.

        Returns at most `limit` bytes, and nothing after a damage.
        """
        return self._peek(self._text.readline, limit, lambda line: bool(line.strip()))

    def pieces(self) -> Iterator[bytes]:
        """Yield the rest of the file in pieces; a damage ends it."""
        try:
            while piece := self._text.read1(CHUNK_BYTES):
                yield piece
        except DAMAGES:
            self.damaged = True
        except OSError as problem:
            raise FileUnavailable.because(problem, at="file") from None

    def all_ahead(self, limit: int) -> bytes:
        """Return the rest of the file, at most `limit` bytes, without consuming it."""
        return self._peek(lambda size: self._text.read1(min(size, CHUNK_BYTES)), limit, lambda _: False)

    def _peek(self, next_piece: Callable[[int], bytes], limit: int, is_last: Callable[[bytes], bool]) -> bytes:
        pieces: list[bytes] = []
        size, rest = 0, self._text
        try:
            while size < limit and (piece := next_piece(limit - size)):
                pieces.append(piece)
                size += len(piece)
                if is_last(piece):
                    break
        except DAMAGES:
            self.damaged = True
        except OSError as problem:
            raise FileUnavailable.because(problem, at="file") from None
        data = b"".join(pieces)
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
                yield number, InvalidInput(at="file", problem=self.damage)
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
        """Skip to the end of a line."""
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
    """The data that was read ahead, followed by the rest; without a rest, the end is missing."""

    def __init__(self, head: bytes, rest: io.BufferedReader | None) -> None:
        super().__init__()
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read the next available bytes."""
        target = memoryview(buffer)
        data: bytes | memoryview = self._head[: len(target)]
        if not data:
            if self._rest is None:
                raise EOFError
            data = self._rest.read1(len(target))
        self._head = self._head[len(data) :]
        target[: len(data)] = data
        return len(data)
