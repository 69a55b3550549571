"""Requests as parts of the traces of their callers: what `traceparent` says is around all that is done for one."""

from __future__ import annotations

from opentelemetry import context, propagate
from starlette.types import ASGIApp, Receive, Scope, Send


class TraceContext:
    """Wraps an application; operations that it runs are children of the span that the caller names, if it names one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request within the trace of its caller."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", [])}
        token = context.attach(propagate.extract(headers))
        try:
            await self._app(scope, receive, send)
        finally:
            context.detach(token)
