"""A client of a model provider that shows every completed exchange to a recorder before its caller has the answer.

The client that is returned is a copy of the given one, of a subclass of its class. It shares connections, cookies and
state with it; only the calls of the copy, and of what `with_options` makes of it, are recorded. Two things differ:

- its HTTP client keeps the bytes of requests and answers to the endpoints of a model: what is recorded is what was sent
  on the wire, whichever method of the client was called (`create`, `parse`, `stream`, raw and streaming responses);
- its `request` commits a whole answer before it returns it. A streamed answer is committed when its end mark arrives,
  before the mark is passed on; without one it is not.

A stream of events that cannot be read is a failure like one of the store: with `fail_open` the caller still has it all.

Asynchronous clients commit in a worker thread. A commit that has begun is completed when its caller is cancelled.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from muniment.errors import InvalidInput
from muniment.host.off_loop import off_loop
from muniment.host.recording.event_lines import EventLines
from muniment.host.recording.exchange_recorder import Exchange, ExchangeRecorder, RecordedCounts

OK = 200
Json = dict[str, Any]
C = TypeVar("C")
T = TypeVar("T")


class AnswerStream(Protocol):
    """Puts the events of a streamed answer together."""

    def add(self, data: bytes) -> Json | None:
        """Add the data of an event; return the whole answer when the event is the end mark."""


class ModelEndpoint(NamedTuple):
    """What a model answers at one path: how an exchange is read, and how a stream of an answer."""

    path: str
    read: Callable[[Json, Json], Exchange | None]
    stream: Callable[[], AnswerStream]


class Arrived(NamedTuple):
    """A whole answer that has arrived and is not committed yet."""

    endpoint: ModelEndpoint
    request: bytes
    answer: bytes


# the whole answers of the call that is under way, in its thread or task
_arrived: ContextVar[list[Arrived] | None] = ContextVar("arrived", default=None)


class AnswerTap:
    """What a recorded client tells about its answers."""

    def __init__(self, recorder: ExchangeRecorder, endpoints: tuple[ModelEndpoint, ...]) -> None:
        self.recorder = recorder
        self._endpoints = endpoints

    def endpoint_of(self, request: Any, response: Any) -> ModelEndpoint | None:
        """Return the endpoint of an answer that may be recorded."""
        if request.method != "POST" or response.status_code != OK:
            return None
        path = request.url.path.rstrip("/")
        return next((endpoint for endpoint in self._endpoints if path.endswith(endpoint.path)), None)

    def commit(self, arrived: Arrived) -> None:
        """Commit a whole answer."""
        self.guarded(
            lambda: self._commit(arrived.endpoint, arrived.request, msgspec.json.decode(arrived.answer, type=Json))
        )

    def commit_streamed(self, endpoint: ModelEndpoint, request: bytes, answer: Json) -> None:
        """Commit a streamed answer that is complete."""
        self.guarded(lambda: self._commit(endpoint, request, answer))

    def guarded(self, step: Callable[[], T]) -> T | None:
        """Return what a step of the recording returns; None when it fails and the exchange goes on."""
        try:
            return step()
        except Exception as error:  # the edge of the host: see `FailurePolicy`
            self.recorder.failed(error)
            if self.recorder.policy.is_raised(error):
                raise
            return None

    def _commit(self, endpoint: ModelEndpoint, request: bytes, answer: Json) -> None:
        exchange = endpoint.read(msgspec.json.decode(request, type=Json), answer)
        if exchange is None:
            self.recorder.unfinished()
        else:
            self.recorder.commit(exchange)


class StreamedAnswer:
    """The bytes of one answer as they arrive; whole or as events."""

    def __init__(self, tap: AnswerTap, endpoint: ModelEndpoint, request: bytes, response: Any) -> None:
        is_events = "text/event-stream" in response.headers.get("content-type", "")
        self._tap, self._endpoint, self._request = tap, endpoint, request
        self._lines, self._stream = EventLines(), endpoint.stream() if is_events else None
        self._whole: list[bytes] = []
        self._done = self._left = False  # a decoder may have the end mark when the connection is closed

    def arrives(self, chunk: bytes) -> Callable[[], None] | None:
        """Take a chunk; return what commits the answer when the chunk completes it."""
        if self._stream is None:
            self._whole.append(chunk)
            return None
        stream = self._stream
        answer = None if self._done else self._tap.guarded(lambda: self._added(stream, chunk))
        return None if answer is None else lambda: self._tap.commit_streamed(self._endpoint, self._request, answer)

    def _added(self, stream: AnswerStream, chunk: bytes) -> Json | None:
        """Add a chunk to a stream of events; return the whole answer when the chunk completes it."""
        self._done = True  # also when it cannot be read: then nothing more of it is
        for data in self._lines.feed(chunk):
            answer = stream.add(data)
            if answer is not None:
                return answer
        self._done = False
        return None

    def ends(self) -> Callable[[], None] | None:
        """Return what commits an answer that is no stream of events, at its end."""
        if self._stream is not None or self._done:
            return None
        self._done = True
        return lambda: self._tap.commit(Arrived(self._endpoint, self._request, b"".join(self._whole)))

    def closed(self) -> None:
        """Note that the connection is closed: that ends a stream of events, and of a whole answer, only the bytes."""
        if self._stream is not None:
            self.left()

    def left(self) -> None:
        """Note that nobody reads on."""
        if not self._done and not self._left:
            self._left = True
            self._tap.recorder.unfinished()


def recorded_client(client: C, kinds: tuple[type, ...], tap: AnswerTap) -> C:
    """Return a copy of a client whose exchanges are recorded; raises `request.invalid` for one of other kinds."""
    if not isinstance(client, kinds):
        raise InvalidInput(at="client", problem="wrong_type", choices=[kind.__name__ for kind in kinds])
    given, kind = cast("Any", client), cast("Any", type(client))
    is_async = inspect.iscoroutinefunction(given.request)
    copy: Any = given.copy(http_client=_tapped(given._client, tap, is_async=is_async))  # noqa: SLF001 - has no other name
    request = _async_request(kind, tap) if is_async else _sync_request(kind, tap)
    copy.__class__ = type(kind.__name__, (kind,), {"request": request, "_tap": tap})
    return cast("C", copy)


def recorded_counts(client: Any) -> RecordedCounts:
    """Return how many exchanges of a recorded client were committed, and how many were not; shared by its copies."""
    counts: RecordedCounts = client._tap.recorder.counts  # noqa: SLF001 - ours
    return counts


def _tapped(http: Any, tap: AnswerTap, *, is_async: bool) -> Any:
    """Return the same HTTP client, with all of its state, under a class that keeps what is sent and received."""
    send = _async_send(type(http), tap) if is_async else _sync_send(type(http), tap)
    members: Mapping[str, Any] = {"send": send, "__del__": lambda _self: None, "_shared": http}  # closed by the owner
    view: Any = object.__new__(type(type(http).__name__, (type(http),), dict(members)))
    view.__dict__ = http.__dict__
    return view


def _sync_request(kind: Any, tap: AnswerTap) -> Callable[..., Any]:
    def request(self: Any, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None) -> Any:
        arrived: list[Arrived] = []
        token = _arrived.set(arrived)
        try:
            answer = kind.request(self, cast_to, options, stream=stream, stream_cls=stream_cls)
        finally:
            _arrived.reset(token)
        for whole in arrived[-1:]:
            tap.commit(whole)
        return answer

    return request


def _async_request(kind: Any, tap: AnswerTap) -> Callable[..., Any]:
    async def request(self: Any, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None) -> Any:
        arrived: list[Arrived] = []
        token = _arrived.set(arrived)
        try:
            answer = await kind.request(self, cast_to, options, stream=stream, stream_cls=stream_cls)
        finally:
            _arrived.reset(token)
        for whole in arrived[-1:]:
            await off_loop(tap.commit, whole)
        return answer

    return request


def _sync_send(kind: Any, tap: AnswerTap) -> Callable[..., Any]:
    def send(self: Any, request: Any, *, stream: bool = False, **options: Any) -> Any:
        response = kind.send(self, request, stream=stream, **options)
        endpoint = tap.endpoint_of(request, response)
        if endpoint is not None and stream:
            answer = StreamedAnswer(tap, endpoint, request.read(), response)
            response.iter_bytes = _passed_on(response.iter_bytes, answer)
            response.close = _closed(response.close, answer)
        elif endpoint is not None:
            _note(Arrived(endpoint, request.read(), response.content))
        return response

    return send


def _async_send(kind: Any, tap: AnswerTap) -> Callable[..., Any]:
    async def send(self: Any, request: Any, *, stream: bool = False, **options: Any) -> Any:
        response = await kind.send(self, request, stream=stream, **options)
        endpoint = tap.endpoint_of(request, response)
        if endpoint is not None and stream:
            answer = StreamedAnswer(tap, endpoint, await request.aread(), response)
            response.aiter_bytes = _passed_on_async(response.aiter_bytes, answer)
            response.aclose = _closed(response.aclose, answer)
        elif endpoint is not None:
            _note(Arrived(endpoint, await request.aread(), response.content))
        return response

    return send


def _note(arrived: Arrived) -> None:
    under_way = _arrived.get()
    assert under_way is not None, "`request` is what sends"
    under_way.append(arrived)


def _closed(close: Callable[[], Any], answer: StreamedAnswer) -> Callable[[], Any]:
    def close_and_note() -> Any:
        answer.closed()
        return close()

    return close_and_note


def _passed_on(read: Callable[..., Iterator[bytes]], answer: StreamedAnswer) -> Callable[..., Iterator[bytes]]:
    def iter_bytes(chunk_size: int | None = None) -> Iterator[bytes]:
        try:
            for chunk in read(chunk_size):
                commit = answer.arrives(chunk)
                if commit is not None:
                    commit()
                yield chunk
            commit = answer.ends()
            if commit is not None:
                commit()
        finally:
            answer.left()

    return iter_bytes


def _passed_on_async(
    read: Callable[..., AsyncIterator[bytes]], answer: StreamedAnswer
) -> Callable[..., AsyncIterator[bytes]]:
    async def aiter_bytes(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        try:
            async for chunk in read(chunk_size):
                commit = answer.arrives(chunk)
                if commit is not None:
                    await off_loop(commit)
                yield chunk
            commit = answer.ends()
            if commit is not None:
                await off_loop(commit)
        finally:
            answer.left()

    return aiter_bytes
