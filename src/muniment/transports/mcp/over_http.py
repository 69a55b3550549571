"""MCP over HTTP: the same server at `/mcp`, for whoever shows a client key.

Each request stands alone (stateless, answers as JSON), so that any worker can answer any of them. Host and origin were
looked at before (`transports.http.request_guard`); the key is looked at here, as for every other path.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from muniment.declaration.operation import Operation
from muniment.runtime.runtime import Runtime
from muniment.transports.http.call import BODY_BYTES_MAX, Callers
from muniment.transports.http.openapi import served
from muniment.transports.http.problem import wrong_method
from muniment.transports.mcp.mcp_server import Context, build

PATH = "/mcp"
Carrier = Callable[[Server[Any]], StreamableHTTPSessionManager]


def each_alone(server: Server[Any]) -> StreamableHTTPSessionManager:
    """Carry each request by itself, and its answer as JSON."""
    return StreamableHTTPSessionManager(
        app=server, json_response=True, stateless=True, max_request_body_size=BODY_BYTES_MAX
    )


class McpOverHttp:
    """The application at `/mcp`. `run` holds what its requests need, for as long as the server serves.

    `carrier` decides how requests reach the server; suites of others give one that adds what they look for.
    """

    described = None  # MCP lists its tools itself

    def __init__(
        self, operations: Iterable[Operation], callers: Callers, *, every: bool, carrier: Carrier = each_alone
    ) -> None:
        self._callers = callers
        offered = [one for one in served(operations) if one.download is None]
        self._manager = carrier(build(_runtime_of, offered, every=every))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve requests inside."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client; raises `access.not_authenticated` for one without a key."""
        request = Request(scope, receive)
        holder = await anyio.to_thread.run_sync(self._callers.caller_of, request.headers.get("authorization"))
        request.state.client, request.state.runtime = holder.fingerprint, holder.runtime
        if self._manager.stateless and request.method != "POST":  # there is nothing to listen to, and no session to end
            await wrong_method(["POST"])(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)


def _runtime_of(context: Context) -> Runtime:
    assert context.request is not None, "it came over HTTP"
    runtime: Runtime = context.request.state.runtime
    return runtime
