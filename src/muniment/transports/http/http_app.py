"""The application: a path for each operation of the catalogue, health, and the OpenAPI document.

POST /v1/<group>/<verb>   every operation; its request as JSON, or an upload with the parameters in the query
GET  /v1/<group>/<verb>   operations that only read
GET  /v1/<group>          the feed of a group, as Server-Sent Events
GET  /openapi.json        all of that, and what is mounted beside it, described
GET  /health/live         the process answers
GET  /health/ready        the store answers, too
GET  /.well-known/...     where tokens come from, where they are taken (`token_metadata.py`)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cache, partial
from typing import NamedTuple, Protocol

import anyio.to_thread
import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from muniment.declaration.http_wire import JSON, path_of
from muniment.declaration.operation import Operation
from muniment.errors import RouteMissing
from muniment.kernel.sources import Sources
from muniment.runtime.runtime import Runtime
from muniment.transports.http.call import Callers, TokenNames, answered
from muniment.transports.http.downloads import Downloads
from muniment.transports.http.event_stream import EventStreams
from muniment.transports.http.openapi import OtherPaths, is_feed, methods_of, openapi, served, stream_path
from muniment.transports.http.problem import wrong_method
from muniment.transports.http.rates import Rates
from muniment.transports.http.request_guard import LOOPBACK_ONLY, GuardRules, RequestGuard, RequestObserver
from muniment.transports.http.request_runtimes import one_request
from muniment.transports.http.serving import STOP
from muniment.transports.http.token_metadata import token_metadata

Endpoint = Callable[[Request], Awaitable[ASGIApp]]


class Route(NamedTuple):
    """What answers at a path, and to which methods."""

    endpoint: Endpoint
    methods: tuple[str, ...] = ("GET",)


class MountedApp(Protocol):
    """An application at a path of its own, or at all that begin with one that has a slash at its end.

    `run` holds what it needs, for as long as the server serves. `described` is what the OpenAPI document says of its
    paths, or None where they have a protocol that describes itself.
    """

    @property
    def described(self) -> OtherPaths | None:
        """What the OpenAPI document says of its paths."""
        ...

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve requests inside."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        ...


Mounts = Callable[[Callers], Mapping[str, MountedApp]]


def no_mounts(_callers: Callers) -> Mapping[str, MountedApp]:
    """Return no applications."""
    return {}


class HttpSetup(NamedTuple):
    """What a server is set up with: which requests pass, and what there is beside the operations.

    `mounts` makes the applications at other paths, from what finds out who calls. With `tokens` a client shows one of
    these or its key. `observer` is told of every request. Several processes share `rates`.
    """

    rules: GuardRules = LOOPBACK_ONLY
    mounts: Mounts = no_mounts
    tokens: TokenNames | None = None
    observer: RequestObserver | None = None
    rates: Rates | None = None


PLAIN = HttpSetup()


def http_app(runtime: Runtime, operations: Iterable[Operation], sources: Sources, setup: HttpSetup = PLAIN) -> ASGIApp:
    """Return the application that serves an open store: whoever shows a client key gets what the key opens.

    `runtime` has the rights that no key exceeds. It stays open; whoever made it closes it.
    """
    listed, rules, tokens = served(operations), setup.rules, setup.tokens
    callers = Callers(runtime, sources.clock, setup.rates or Rates(), tokens)
    downloads = Downloads(sources.entropy)
    streams = EventStreams(callers)
    routes = {
        path_of(one): Route(partial(_operation, one, callers, downloads), tuple(methods_of(one))) for one in listed
    }
    routes |= {stream_path(one): Route(partial(streams.answered, one)) for one in listed if is_feed(one)}
    mounts = setup.mounts(callers)
    others = [app.described for app in dict.fromkeys(mounts.values()) if app.described is not None]
    routes["/openapi.json"] = Route(partial(_document, cache(lambda: msgspec.json.encode(openapi(listed, others)))))
    routes["/health/live"] = Route(_alive)
    routes["/health/ready"] = Route(partial(_ready, runtime))
    metadata = None if tokens is None else token_metadata(tokens.issuer, tokens.audience)
    if metadata is not None:
        routes |= dict.fromkeys(metadata.paths, Route(partial(_told, metadata.document)))
        rules = replace(rules, metadata_url=metadata.url)
    return RequestGuard(Paths(routes, mounts, streams.stop), rules, sources.ids, setup.observer)


class Paths:
    """Finds what answers a request."""

    def __init__(
        self, routes: dict[str, Route], mounts: Mapping[str, MountedApp], stop: Callable[[], object] = bool
    ) -> None:
        self._routes = routes
        self._mounts = mounts
        self._stop = stop  # what is to be done when the server stops, before it waits for its requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or serve as long as the server does."""
        if scope["type"] == "lifespan":
            scope.get("state", {})[STOP] = self._stop
            await self._live(receive, send)
            return
        path = scope["path"]
        at, route = self._mount_at(path), self._routes.get(path)
        if at is None and route is None:
            raise RouteMissing(at="path")
        scope["state"]["route"] = at or path
        mounted = None if at is None else self._mounts[at]
        await one_request(self._answer(mounted, route, scope, receive, send))

    async def _answer(
        self, mounted: MountedApp | None, route: Route | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if mounted is not None:
            await mounted(scope, receive, send)
            return
        assert route is not None, "it is one or the other"
        allowed = {*route.methods, *(("HEAD",) if "GET" in route.methods else ())}
        if scope["method"] not in allowed:
            await wrong_method(allowed)(scope, receive, send)
            return
        response = await route.endpoint(Request(scope, receive))
        await response(scope, receive, send)

    def _mount_at(self, path: str) -> str | None:
        """Return the path of the application that answers: this one, or one with a slash at its end that begins it."""
        if path in self._mounts:
            return path
        return next((at for at in self._mounts if at.endswith("/") and path.startswith(at)), None)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Hold what the mounted applications need between the start of the server and its end."""
        async with AsyncExitStack() as stack:
            await receive()
            for mounted in dict.fromkeys(self._mounts.values()):  # each once, at however many paths it is
                await stack.enter_async_context(mounted.run())
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


async def _operation(operation: Operation, callers: Callers, downloads: Downloads, request: Request) -> Response:
    return await answered(request, operation, callers, downloads)


async def _document(document: Callable[[], bytes], _request: Request) -> Response:
    return Response(await anyio.to_thread.run_sync(document), media_type=JSON)


async def _told(document: bytes, _request: Request) -> Response:
    return Response(document, media_type=JSON)


async def _alive(_request: Request) -> Response:
    return Response(b'{"alive":true}', media_type=JSON)


async def _ready(runtime: Runtime, _request: Request) -> Response:
    """Answer whether the space that the server was started with can be read and written."""
    report = await anyio.to_thread.run_sync(runtime.system.health)
    return Response(msgspec.json.encode({"ready": report.sound}), 200 if report.sound else 503, media_type=JSON)
