"""What the MCP conformance suite calls by name: the fixtures of the SDK's own test server, beside our tools.

The suite calls tools like `test_image_content` that no product has. The source distribution of the SDK ships a server
that has them. Its handlers are put in front of ours: what they do not know, ours answers, and every request passes our
key check, host check and wiring. Nothing of that server is kept in this repository.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

RETRY_MS = 100  # the suite measures that a client is told when to come back
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resource_templates",
    "prompts/list": "prompts",
}  # method -> the member of its answer that both servers add to


def with_fixtures(source: Path) -> Callable[[Server[Any]], StreamableHTTPSessionManager]:
    """Return what carries requests to a server with fixtures, in sessions that stream, as the older revision asks."""
    sys.path.insert(0, str(source / "examples" / "servers" / "everything-server"))
    try:
        shipped = import_module("mcp_everything_server.server")
    finally:
        sys.path.pop(0)

    def carried(server: Server[Any]) -> StreamableHTTPSessionManager:
        _extend(server, shipped.mcp._lowlevel_server)  # noqa: SLF001 - the SDK has no other door to its handlers
        return StreamableHTTPSessionManager(app=server, event_store=shipped.event_store, retry_interval=RETRY_MS)

    return carried


def _extend(server: Server[Any], fixtures: Server[Any]) -> None:
    """Put the handlers of one server in front of those of another."""
    server.middleware.extend(fixtures.middleware[1:])  # both have the first, which traces
    for method, entry in fixtures._request_handlers.items():  # noqa: SLF001 - as above
        ours = server.get_request_handler(method)
        if method in LISTS and ours is not None:
            handler = _joined(entry.handler, ours.handler, LISTS[method])
        elif ours is not None and method not in {"ping", "server/discover"}:
            handler = _either(entry.handler, ours.handler)
        elif ours is not None:
            continue
        else:
            handler = entry.handler
        server.add_request_handler(method, entry.params_type, handler)


def _joined(first: Any, second: Any, member: str) -> Any:
    async def both(context: Any, asked: Any) -> Any:
        found, more = await first(context, asked), await second(context, asked)
        setattr(found, member, [*getattr(found, member), *getattr(more, member)])
        return found

    return both


def _either(first: Any, second: Any) -> Any:
    """Return what asks the second where the first does not know what is asked for."""

    async def one(context: Any, asked: Any) -> Any:
        try:
            return await first(context, asked)
        except MCPError as unknown:
            if not unknown.error.message.startswith(("Unknown", "Resource not found")):
                raise
            return await second(context, asked)

    return one
