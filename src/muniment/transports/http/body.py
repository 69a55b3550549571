"""Bodies of requests: JSON up to a limit, read whole; uploads that an operation reads while they come.

Nothing is written to a disk on the way, and no more of an upload is in memory than one piece of what the network gave.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncGenerator, Iterator

import anyio.from_thread
from starlette.requests import ClientDisconnect, Request

from muniment.errors import InvalidInput, LimitExceeded

PIECE_S = 30.0  # how long the next piece of a body may take


async def whole_body(request: Request, limit: int) -> bytes:
    """Return a body; raises `request.limit_exceeded` for one over the limit, before it is read where that is declared.

    One that stops coming is refused as `request.invalid`.
    """
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise LimitExceeded(at="body", problem="request_too_large", limit=limit)
    body = bytearray()
    with _refused():
        async with asyncio.timeout(PIECE_S) as patience:
            async for piece in request.stream():
                if not piece:  # the end of the body
                    continue
                body += piece
                if len(body) > limit:
                    raise LimitExceeded(at="body", problem="request_too_large", limit=limit)
                patience.reschedule(asyncio.get_running_loop().time() + PIECE_S)
    return bytes(body)


class UploadStream(io.RawIOBase):
    """A body as a stream that a worker thread reads."""

    def __init__(self, request: Request) -> None:
        self._pieces = request.stream()
        self._left = b""

    def readable(self) -> bool:
        """Tell that this can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io hands over
        """Read what is there, and wait for more when nothing is."""
        while not self._left:
            piece = anyio.from_thread.run(_next, self._pieces)
            if piece is None:
                return 0
            self._left = piece
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


async def _next(pieces: AsyncGenerator[bytes, None]) -> bytes | None:
    """Return the next piece of a body, or None at its end."""
    with _refused():
        async with asyncio.timeout(PIECE_S):
            return await anext(pieces, None)


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    """Refuse a body that stops coming."""
    try:
        yield
    except TimeoutError:
        raise InvalidInput(at="body", problem="too_slow") from None
    except ClientDisconnect:
        raise InvalidInput(at="body", problem="cut_short") from None
