"""The application: a path for each operation of the catalogue, health, and the OpenAPI document.

POST /v1/<group>/<verb>   every operation; its request as JSON, or an upload with the parameters in the query
GET  /v1/<group>/<verb>   operations that only read
GET  /openapi.json        all of that, described
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

from muniment.declaration.operation import Operation
from muniment.errors import InvalidInput, RouteMissing
from muniment.kernel.sources import Sources
from muniment.runtime.runtime import Runtime
from muniment.transports.http.call import Callers, TokenNames, answered
from muniment.transports.http.openapi import JSON, methods_of, openapi, path_of, served
from muniment.transports.http.problem import problem
from muniment.transports.http.request_guard import LOOPBACK_ONLY, GuardRules, RequestGuard
from muniment.transports.http.token_metadata import token_metadata

Endpoint = Callable[[Request], Awaitable[Response]]
WRONG_METHOD = 405


class Route(NamedTuple):
    """What answers at a path, and to which methods."""

    endpoint: Endpoint
    methods: tuple[str, ...] = ("GET",)


class MountedApp(Protocol):
    """An application at a path of its own, or at all that begin with one that has a slash at its end.

    `run` holds what it needs, for as long as the server serves.
    """

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


def http_app(
    runtime: Runtime,
    operations: Iterable[Operation],
    sources: Sources,
    rules: GuardRules = LOOPBACK_ONLY,
    mounts: Mounts = no_mounts,
    tokens: TokenNames | None = None,
) -> ASGIApp:
    """Return the application that serves an open store: whoever shows a client key gets what the key opens.

    `runtime` has the rights that no key exceeds. It stays open; whoever made it closes it. `mounts` makes the
    applications at other paths, from what finds out who calls. With `tokens` a client shows one of these or its key.
    """
    listed = served(operations)
    callers = Callers(runtime, sources.clock, tokens)
    routes = {path_of(one): Route(partial(_operation, one, callers), tuple(methods_of(one))) for one in listed}
    routes["/openapi.json"] = Route(partial(_document, cache(lambda: msgspec.json.encode(openapi(listed)))))
    routes["/health/live"] = Route(_alive)
    routes["/health/ready"] = Route(partial(_ready, runtime))
    metadata = None if tokens is None else token_metadata(tokens.issuer, tokens.audience)
    if metadata is not None:
        routes |= dict.fromkeys(metadata.paths, Route(partial(_told, metadata.document)))
        rules = replace(rules, metadata_url=metadata.url)
    return RequestGuard(Paths(routes, mounts(callers)), rules, sources.ids)


class Paths:
    """Finds what answers a request."""

    def __init__(self, routes: dict[str, Route], mounts: Mapping[str, MountedApp]) -> None:
        self._routes = routes
        self._mounts = mounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or serve as long as the server does."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path = scope["path"]
        at, route = self._mount_at(path), self._routes.get(path)
        if at is None and route is None:
            raise RouteMissing(at="path")
        scope["state"]["route"] = at or path
        if at is not None:
            mounted = self._mounts[at]
            await mounted(scope, receive, send)
            return
        assert route is not None, "it is one or the other"
        allowed = {*route.methods, *(("HEAD",) if "GET" in route.methods else ())}
        if scope["method"] not in allowed:
            response = wrong_method(allowed)
        else:
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


def wrong_method(allowed: Iterable[str]) -> Response:
    """Return the answer to a request whose method is not taken here."""
    response = problem(WRONG_METHOD, InvalidInput(at="method", choices=sorted(allowed)).report())
    response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


async def _operation(operation: Operation, callers: Callers, request: Request) -> Response:
    return await answered(request, operation, callers)


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
