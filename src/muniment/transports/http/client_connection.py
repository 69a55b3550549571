"""One connection of a client: how many there are, how long a head may take, and how large it may be.

The server (uvicorn) bounds none of these by itself. Here:

- A head takes at most `HEAD_S` and `HEADER_BYTES_MAX`, however it trickles in.
- When all places are taken, the connection that has been idle longest gives way. When each has a request in work, the
  new one is told to come back.
- The rest of a body that was answered before it came is thrown away, up to `THROWN_AWAY_BYTES_MAX` and for `HEAD_S`.
- A client that does not read its answer is let go once nothing of it moves for as long as an idle one may stay.
- What is no HTTP is refused as a problem document, as everything else is.
"""

from __future__ import annotations

import asyncio
import itertools
import resource
from http import HTTPStatus
from operator import itemgetter

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from muniment.errors import InvalidInput, LimitExceeded, MunimentError, ServerBusy
from muniment.transports.http.problem import problem, problem_of
from muniment.transports.http.status import HEAD_TOO_LARGE

CONNECTIONS_MAX = 1000
HEAD_S = 15.0
HEADER_BYTES_MAX = 32 * 1024
THROWN_AWAY_BYTES_MAX = 1 << 20  # so that a client which still sends reads its answer before the connection ends
_TURNS = itertools.count()  # finer than the clock of an event loop
FILES_SHARE = 2  # of the files that a process may open, one in so many may be a connection


def connections_max() -> int:
    """Return how many connections there may be at once: fewer where the system lets a process open few files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS_MAX if files == resource.RLIM_INFINITY else min(CONNECTIONS_MAX, files // FILES_SHARE)


class AnswerTransport(asyncio.Transport):
    """Where one answer is written: its head waits for what follows at once, and both leave in one call of the system.

    A head that nothing follows at once, as that of a stream, leaves by itself.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._is_begun = False
        self._waiting = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write, behind what waits; what is written first waits."""
        self._waiting += data
        if self._is_begun:
            self._write_waiting()
        else:
            self._is_begun = True
            self._loop.call_soon(self._write_waiting)

    def close(self) -> None:
        """End the connection behind what was written."""
        self._write_waiting()
        self._transport.close()

    def is_closing(self) -> bool:
        """Tell whether the connection ends."""
        return self._transport.is_closing()

    def _write_waiting(self) -> None:
        data, self._waiting = self._waiting, b""
        if data and not self._transport.is_closing():
            self._transport.write(data)


class BoundedConnection(HttpToolsProtocol):
    """A connection that ends when it costs more than it may."""

    _deadline: asyncio.TimerHandle | None = None
    idle_since: int | None = None  # the turn in which it became idle; None while a request is in work
    _head_bytes = 0
    _is_in_head = True
    _thrown_away = 0
    _unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn types it
        """Take a place, or that of the connection that has been idle longest."""
        others = [each for each in self.connections if isinstance(each, BoundedConnection)]
        super().connection_made(transport)
        if len(others) >= connections_max():
            idle = [(each.idle_since, each) for each in others if each.idle_since is not None]
            if not idle:
                self._refuse(ServerBusy(limit=connections_max()))
                return
            longest = min(idle, key=itemgetter(0))[1]
            self.connections.discard(longest)  # it is told to the loop later, and another one may come before
            longest.transport.abort()
        self.idle_since = next(_TURNS)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the head of a request grows without end."""
        if self._is_in_head:
            self._head_bytes += len(data)
        elif self._is_idle:  # the rest of a body that was answered before it came
            self._thrown_away += len(data)
            if self._thrown_away > THROWN_AWAY_BYTES_MAX:
                self.transport.close()
                return
        super().data_received(data)
        if not self._is_in_head or not self._head_bytes:
            return
        self._expect_head()
        if self._head_bytes > HEADER_BYTES_MAX:
            self._refuse(LimitExceeded(at="head", problem="request_too_large", limit=HEADER_BYTES_MAX), HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Note that a request is in work."""
        self._is_in_head, self.idle_since = False, None
        self._head_came()
        super().on_headers_complete()
        self.cycle.transport = AnswerTransport(self.transport, self.loop)

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        super().on_message_complete()
        self._is_in_head, self._head_bytes = True, 0

    def on_response_complete(self) -> None:
        """Note that nothing is in work, unless a request waits behind this one."""
        super().on_response_complete()
        if self._is_idle:
            self.idle_since = next(_TURNS)
            if not self._is_in_head:  # the answer did not wait for the rest of a body
                self._thrown_away = 0
                self._expect_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; what the parser says of it is not repeated. A whole request before it is answered."""
        del msg
        if self._is_idle or not self._is_in_head:
            self._refuse(InvalidInput(at="head", problem="malformed"))
        else:
            self.cycle.keep_alive = False
            self.flow.pause_reading()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, and one whose answer nobody reads."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0:
            super().timeout_keep_alive_handler()
        elif unsent == self._unsent:
            self.transport.abort()
        else:
            self._unsent = unsent
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    @property
    def _is_idle(self) -> bool:
        """Whether no request is in work."""
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]  # before the first one

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self._give_up)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_idle:
            self.timeout_keep_alive_handler()

    def _refuse(self, error: MunimentError, status: int | None = None) -> None:
        """Answer and close; the rest of what comes is not looked at. Nothing is written into another answer."""
        if self.transport.is_closing() or not self._is_idle:
            self.transport.close()
            return
        answer = problem_of(error) if status is None else problem(status, error.report())
        head = [f"HTTP/1.1 {answer.status_code} {HTTPStatus(answer.status_code).phrase}".encode()]
        head += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*head, b"connection: close", b"", bytes(answer.body)]))
        self.transport.close()
