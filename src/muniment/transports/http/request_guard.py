"""What every request passes before anything else looks at it, and what is said of it behind.

In this order: a request id; the host, which must be one of ours (DNS rebinding makes a browser call us under a foreign
name); the origin, which only a page of one of our hosts may have; a place among the requests in work. One line of log a
request: id, method, route, status, duration, fingerprint of the key. Never a path that was typed, a query or a body.
"""

from __future__ import annotations

import json
import logging
import re
import time
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.errors import AccessDenied, MunimentError, ServerBusy, StoreFault
from muniment.kernel.sources import IdSource
from muniment.transports.http.problem import problem, problem_of

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
WRONG_HOST = 421
BEGIN_STREAM = "begin_stream"  # in the state of a request: gives up its place, because its answer does not end
_log = logging.getLogger("muniment.http")


class GuardRules(Struct, frozen=True, kw_only=True):
    """Names of this server beside those of the loopback, origins of pages that may call it, and requests at once."""

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    requests_max: int = 256


LOOPBACK_ONLY = GuardRules()


class RequestGuard:
    """Wraps an application. One for each event loop."""

    def __init__(self, app: ASGIApp, rules: GuardRules, ids: IdSource) -> None:
        self._app = app
        self._rules = rules
        self._hosts = LOOPBACK | rules.hosts
        self._ids = ids
        self._in_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else self._ids.new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def say(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode())]
            await send(message)

        is_in_work = True

        def leave() -> None:
            nonlocal is_in_work
            self._in_work -= is_in_work
            is_in_work = False

        scope["state"][BEGIN_STREAM] = leave
        self._in_work += 1
        try:
            await (self._refusal(headers) or self._app)(scope, receive, say)
        except Exception as error:
            refusal = error if isinstance(error, MunimentError) else StoreFault(problem="bug")
            if refusal is not error:
                _log.error("request %s: %s", request_id, type(error).__name__)  # its text may quote what is stored
            if status == 0:
                await problem_of(refusal)(scope, receive, say)
        finally:
            leave()
            _tell(scope, request_id, status, started)

    def _refusal(self, headers: dict[str, str]) -> ASGIApp | None:
        """Return the answer to a request that does not pass."""
        if _host_of(f"//{headers.get('host', '')}") not in self._hosts:
            return problem(WRONG_HOST, AccessDenied(at="host").report())
        origin = headers.get("origin")
        if origin is not None and origin not in self._rules.origins and _host_of(origin) not in self._hosts:
            return problem_of(AccessDenied(at="origin"))
        if self._in_work > self._rules.requests_max:
            return problem_of(ServerBusy(limit=self._rules.requests_max))
        return None


def _host_of(url: str) -> str | None:
    """Return the host of a URL in lower case, without its port."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _tell(scope: Scope, request_id: str, status: int, started: float) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    state = scope["state"]
    line = {
        "request": request_id,
        "method": scope["method"] if scope["method"].isalpha() else "?",
        "route": state.get("route"),
        "status": status,
        "ms": round((time.perf_counter() - started) * 1000, 1),
        "client": state.get("client"),
    }
    _log.info("%s", json.dumps(line))
