"""Feeds as Server-Sent Events (HTML Living Standard, 9.2): `GET /v1/<group>` for an operation that reports a feed.

1. The key is checked as for any request, and takes a place among the streams. The first page is read before the answer
   begins, so what is wrong with a request is a problem document.
2. An entry is an event with its id, its type and itself as JSON. A client that comes back says the last id that it got
   (`Last-Event-ID`), and misses nothing.
3. At the end of the feed the stream waits until this process appends something, and reads what others append within
   `POLL_S` seconds. It asks no more often than every `PAUSE_S` seconds, however much is appended.
4. Every `HEARTBEAT_S` seconds there is a comment, with the cursor that the feed goes on behind as its id.
5. Rights are looked at for every page. A key that was revoked or has expired, and anything else that goes wrong, ends
   the stream with an event `problem`. A server that stops just ends it.

No more than one page of a stream is in memory. A client that takes longer than `SEND_S` seconds to take it is let go;
nobody else waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace
from starlette.requests import Request as HttpRequest
from starlette.types import Receive, Scope, Send

from muniment.declaration.feed import FeedEntry, FeedPage
from muniment.declaration.operation import Operation, Request, bound, perform
from muniment.errors import MunimentError, ServerBusy, StreamsExceeded
from muniment.kernel.locks import new_lock
from muniment.transports.http.call import Callers, KeyHolder
from muniment.transports.http.problem import document_of
from muniment.transports.http.query_string import json_of
from muniment.transports.http.request_guard import BEGIN_STREAM
from muniment.transports.http.request_runtimes import used_up
from muniment.transports.http.status import status_of

EVENTS_AT_ONCE = 16
STREAMS_MAX = 64
STREAMS_PER_KEY_MAX = 8
RETRY_MS = 2000
HEARTBEAT_S, POLL_S, PAUSE_S, SEND_S = 15.0, 1.0, 0.05, 30.0
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # some proxies hold back what they are not told to pass on
]


class EventStreams:
    """All streams of a server. One for each event loop."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._lock = new_lock()
        self._by_key: Counter[str] = Counter()
        self._enders: set[Callable[[], object]] = set()
        self.has_stopped = False

    @property
    def count(self) -> int:
        """Return how many streams are open."""
        return self._by_key.total()

    def stop(self) -> None:
        """End all streams, and begin no other."""
        self.has_stopped = True
        for end in list(self._enders):
            end()

    async def answered(self, operation: Operation, request: HttpRequest) -> EventStream:
        """Return the stream that a request asks for; raises what is wrong with it."""
        shown = request.headers.get("authorization")
        holder = await anyio.to_thread.run_sync(self._callers.caller_of, shown, operation)
        request.state.client = holder.fingerprint
        given = bound(operation, json_of(operation, request.query_params.multi_items()))
        asked = given.__class__.__struct_fields__
        assert {"after", "limit"} <= set(asked), "a feed is read in pages"
        wanted = {"limit": min(EVENTS_AT_ONCE, given.limit)}  # type: ignore[attr-defined]  # it was looked at
        if last := request.headers.get("last-event-id"):
            wanted["after"] = last
        self._take(holder.fingerprint)
        try:
            reader = FeedReader(operation, replace(given, **wanted), partial(self._callers.known, shown, operation))
            return EventStream(self, reader, holder, await reader.page())
        except BaseException:
            self.give_back(holder.fingerprint)
            raise

    def _take(self, key: str) -> None:
        with self._lock:
            if self._by_key[key] >= STREAMS_PER_KEY_MAX:
                raise StreamsExceeded(limit=STREAMS_PER_KEY_MAX)
            if self.count >= STREAMS_MAX or self.has_stopped:
                raise ServerBusy(limit=STREAMS_MAX)
            self._by_key[key] += 1

    def give_back(self, key: str) -> None:
        """Free the place of a stream."""
        with self._lock:
            self._by_key[key] -= 1
            self._by_key += Counter()  # forgets those without any

    def ends_with(self, end: Callable[[], object]) -> None:
        """Call a function when all streams have to end."""
        self._enders.add(end)

    def has_ended(self, end: Callable[[], object]) -> None:
        """Call it no more."""
        self._enders.discard(end)


class FeedReader:
    """Reads one page of a feed after the other, each with the rights that the key has then."""

    def __init__(self, operation: Operation, request: Request, known: Callable[[], KeyHolder]) -> None:
        self._operation = operation
        self._request = request
        self._known = known

    async def page(self, after: str | None = None) -> FeedPage:
        """Return the page behind a cursor, or the first one."""
        if after is not None:
            self._request = replace(self._request, after=after)
        return await anyio.to_thread.run_sync(self._read)

    def _read(self) -> FeedPage:
        runtime = self._known().runtime
        with used_up(runtime):
            page = perform(getattr(runtime, self._operation.group), self._operation, self._request)
        assert isinstance(page, FeedPage), "it is a feed"
        return page


class EventStream:
    """One stream, which is the answer to a request."""

    def __init__(self, streams: EventStreams, reader: FeedReader, holder: KeyHolder, first: FeedPage) -> None:
        self._streams = streams
        self._reader = reader
        self._holder = holder
        self._first = first
        self._grown = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, for as long as it takes."""
        wake = partial(asyncio.get_running_loop().call_soon_threadsafe, self._grown.set)
        self._streams.ends_with(wake)
        try:
            scope["state"][BEGIN_STREAM]()
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            with self._holder.runtime.on_commit(wake):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                    await self._told(send)
                    tasks.cancel_scope.cancel()
        finally:
            self._streams.has_ended(wake)
            self._streams.give_back(self._holder.fingerprint)

    async def _told(self, send: Send) -> None:
        """Send what the feed tells until it ends."""
        try:
            await self._write(send, b"retry: %d\n\n" % RETRY_MS)
            try:
                await self._follow(send)
            except MunimentError as error:
                document = msgspec.json.encode(document_of(status_of(error), error.report()))
                await self._write(send, b"event: problem\ndata: " + document + b"\n\n")
            with anyio.fail_after(SEND_S):
                await send({"type": "http.response.body", "body": b""})
        except TimeoutError:  # the client is too slow, and comes back when it likes
            return

    async def _follow(self, send: Send) -> None:
        page, beat_s = self._first, time.monotonic() + HEARTBEAT_S
        while not self._streams.has_stopped:
            if page.entries:
                await self._write(send, b"".join(map(_event, page.entries)))
            if time.monotonic() >= beat_s:
                await self._write(send, b": still here\nid: " + page.cursor.encode() + b"\n\n")
                beat_s = time.monotonic() + HEARTBEAT_S
            if not page.has_more:
                await anyio.sleep(PAUSE_S)
                with anyio.move_on_after(min(POLL_S, max(0.0, beat_s - time.monotonic()))):
                    await self._grown.wait()
            self._grown.clear()
            page = await self._reader.page(page.cursor)

    async def _write(self, send: Send, text: bytes) -> None:
        with anyio.fail_after(SEND_S):
            await send({"type": "http.response.body", "body": text, "more_body": True})


def _event(entry: FeedEntry) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (entry.id.encode(), entry.type.encode(), msgspec.json.encode(entry))


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
