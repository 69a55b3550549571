"""What every request passes before anything else looks at it, and what is said of it behind.

In this order: a request id; the host, which must be one of ours (DNS rebinding makes a browser call us under a foreign
name); the origin, which only a page of one of our hosts may have; a place among the requests in work. One line of log a
request: id, method, route, status, duration, fingerprint of the key. Never a path that was typed, a query or a body.
"""

from __future__ import annotations

import logging
import re
import time
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.errors import AccessDenied, MunimentError, ServerBusy, StoreFault
from muniment.kernel.sources import IdSource
from muniment.transports.http.problem import problem, problem_of
from muniment.transports.http.status import WRONG_HOST

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
BLANKS = b" \t"  # around a value, and no part of it (RFC 9110, 5.5)
BEGIN_STREAM = "begin_stream"  # in the state of a request: gives up its place, because its answer does not end
_log = logging.getLogger("muniment.http")


class GuardRules(Struct, frozen=True, kw_only=True):
    """Names of this server beside those of the loopback, origins of pages that may call it, and requests at once.

    `metadata_url` says whoever shows no key where tokens come from.
    """

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    requests_max: int = 256
    metadata_url: str | None = None


LOOPBACK_ONLY = GuardRules()


class SeenRequest:
    """What is said of a request behind it: `refusal` is the code of the error that it ended with."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._started = time.perf_counter()
        self.status = 0
        self.refusal: str | None = None
        self.is_stream = False

    @property
    def method(self) -> str:
        """The method as it was sent."""
        method: str = self._scope["method"]
        return method

    @property
    def route(self) -> str | None:
        """The path of ours that it was about."""
        route: str | None = self._scope["state"].get("route")
        return route

    @property
    def client(self) -> str | None:
        """The fingerprint of the key that it came with."""
        client: str | None = self._scope["state"].get("client")
        return client

    @property
    def seconds(self) -> float:
        """How long it has taken until now."""
        return time.perf_counter() - self._started


class RequestObserver(Protocol):
    """Whoever counts requests."""

    def begun(self) -> None:
        """Learn that a request is in work."""
        ...

    def streams(self) -> None:
        """Learn that the answer to it does not end."""
        ...

    def ended(self, request: SeenRequest) -> None:
        """Learn that it has ended."""
        ...


class NoObserver:
    """Counts nothing."""

    def begun(self) -> None:
        """Do nothing."""

    def streams(self) -> None:
        """Do nothing."""

    def ended(self, request: SeenRequest) -> None:
        """Do nothing."""


class RequestGuard:
    """Wraps an application. One for each event loop."""

    def __init__(self, app: ASGIApp, rules: GuardRules, ids: IdSource, observer: RequestObserver | None = None) -> None:
        self._app = app
        self._observer = observer or NoObserver()
        self._rules = rules
        self._hosts = LOOPBACK | rules.hosts
        self._ids = ids
        self._in_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["headers"] = [(name, value.strip(BLANKS)) for name, value in scope["headers"]]  # the parser keeps some
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else self._ids.new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        seen = SeenRequest(scope)

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode())]
            await send(message)

        scope["state"][BEGIN_STREAM] = partial(self._streams, seen)
        self._in_work += 1
        self._observer.begun()
        try:
            await (self._refusal(headers) or self._app)(scope, receive, say)
        except Exception as error:
            refusal = error if isinstance(error, MunimentError) else StoreFault(problem="bug")
            if refusal is not error:
                _log.error("request %s: %s", request_id, type(error).__name__)  # its text may quote what is stored
            seen.refusal = refusal.code
            if seen.status == 0:
                await problem_of(refusal, self._rules.metadata_url)(scope, receive, say)
        finally:
            self._in_work -= not seen.is_stream
            self._observer.ended(seen)
            _tell(seen, request_id)

    def _streams(self, seen: SeenRequest) -> None:
        """Give up the place of a request among those in work: its answer does not end."""
        self._in_work -= 1
        seen.is_stream = True
        self._observer.streams()

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


def _tell(seen: SeenRequest, request_id: str) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    line = {
        "request": request_id,
        "method": seen.method if seen.method.isalpha() else "?",
        "route": seen.route,
        "status": seen.status,
        "ms": round(seen.seconds * 1000, 1),
        "client": seen.client,
    }
    text = msgspec.json.encode(line).decode()
    made = logging.getLogRecordFactory()(_log.name, logging.INFO, __file__, 0, text, (), None)  # looks for no caller
    _log.handle(made)
