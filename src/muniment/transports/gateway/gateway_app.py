"""The application at the foreign paths: the memory gateway, and the aliases of operations.

An alias answers with our report in an envelope: `status` (`accepted`, or `duplicated` for a repeat under an idempotency
key), `report_kind` and `report`. A refusal is the problem document of every other path.
"""

from __future__ import annotations

import hmac
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio.to_thread
import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muniment.declaration.http_wire import JSON
from muniment.declaration.idempotency import KeyedReport, perform_once
from muniment.declaration.operation import Operation, bound, perform, permit
from muniment.errors import InvalidInput, NotAuthenticated, RouteMissing
from muniment.events.binding import bind
from muniment.events.identity import SubjectId
from muniment.runtime.runtime import Runtime
from muniment.transports.gateway.aliases import ALIASES, PLACE, Alias
from muniment.transports.gateway.gateway_document import gateway_paths
from muniment.transports.gateway.memory_gateway import CREDENTIALS, GATEWAY_PATHS
from muniment.transports.gateway.translation import Speaker, budget_of, chosen, request_of
from muniment.transports.http.call import Callers, json_body
from muniment.transports.http.http_app import MountedApp
from muniment.transports.http.problem import wrong_method
from muniment.transports.http.query_string import parsed

MOUNTS = ("/memories/", "/memory/", "/agent-tool-registries", "/agent-tool-registries/")
MEMORIES_BYTES_MAX = 2 * 1024 * 1024  # of a body that says who sent it
CHARS_PER_TOKEN = 3  # about
FITTING_MAX = 8  # how often a text that is too long for its bound is asked for again
IDEMPOTENCY_HEADERS = ("idempotency-key", "x-idempotency-key")


class _Call(NamedTuple):
    """A request of an alias: its body, what its path says, and its idempotency key."""

    body: dict[str, Any]
    place: str | None
    key: str | None


class GatewayApp:
    """Answers at the foreign paths; `mounts` says where that is."""

    def __init__(self, operations: Iterable[Operation], callers: Callers) -> None:
        self._callers = callers
        self._operations = {one.path: one for one in operations}
        self.described = gateway_paths(self._operations.values())
        self._routes: dict[str, dict[str, list[Alias]]] = defaultdict(lambda: defaultdict(list))
        for alias in ALIASES:
            self._routes[alias.path][alias.method].append(alias)

    @property
    def mounts(self) -> Mapping[str, MountedApp]:
        """The application, at each path where it answers."""
        return dict.fromkeys(MOUNTS, self)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Need nothing."""
        yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; raises what is wrong with it."""
        request = Request(scope, receive)
        route, place = self._route(scope["path"])
        scope["state"]["route"] = route
        methods = {"POST"} if route in GATEWAY_PATHS else set(self._routes[route])
        if request.method not in methods:
            response = wrong_method(methods)
        elif route in GATEWAY_PATHS:
            response = await self._memories(request, route)
        else:
            response = await self._alias(request, self._routes[route][request.method], place)
        await response(scope, receive, send)

    def _route(self, path: str) -> tuple[str, str | None]:
        """Return the route of a path, and the place that it names; an id may have slashes, too."""
        if path in GATEWAY_PATHS or (path in self._routes and not path.endswith(PLACE)):
            return path, None
        for route in self._routes:
            base = route.removesuffix(PLACE) + "/"
            if route.endswith(PLACE) and path.startswith(base) and path != base:
                return route, path.removeprefix(base)
        raise RouteMissing(at="path")

    # --- the memory gateway -------------------------------------------------------------------------------------------

    async def _memories(self, request: Request, path: str) -> Response:
        body = parsed_object(await json_body(request, MEMORIES_BYTES_MAX))
        answer, fingerprint = await anyio.to_thread.run_sync(self._remembered, path, body)
        request.state.client = fingerprint
        return Response(msgspec.json.encode(answer), headers={"Cache-Control": "no-store"}, media_type=JSON)

    def _remembered(self, path: str, body: dict[str, Any]) -> tuple[Struct, str]:
        user, key = (body.pop(name, None) for name in CREDENTIALS)
        runtime, fingerprint = self._user(user, key)
        asked, _, answer, _ = GATEWAY_PATHS[path]
        return answer(runtime, SubjectId(user), bind(body, asked, is_request=True)), fingerprint

    def _user(self, user: object, key: object) -> tuple[Runtime, str]:
        """Return what a user may do; raises one and the same error whatever is wrong with the pair."""
        if isinstance(user, str) and isinstance(key, str):
            try:
                holder = self._callers.holder_of(key)
            except NotAuthenticated:
                raise NotAuthenticated(problem="unknown_user") from None
            subject = holder.runtime.access.subject or ""
            if subject and hmac.compare_digest(_bytes(subject), _bytes(user)):
                return holder.runtime, holder.fingerprint
        raise NotAuthenticated(problem="unknown_user")

    # --- aliases of operations ----------------------------------------------------------------------------------------

    async def _alias(self, request: Request, aliases: list[Alias], place: str | None) -> Response:
        authorization = request.headers.get("authorization")
        caller = await anyio.to_thread.run_sync(self._callers.caller_of, authorization)
        request.state.client = caller.fingerprint
        operations = [self._operations[alias.operation] for alias in aliases]
        if len(operations) == 1:
            await anyio.to_thread.run_sync(partial(_permit, caller.runtime, operations[0]))
        body = parsed_object(await _body(request))
        alias = chosen(aliases, body)
        call = _Call(body, place, _idempotency_key(request))
        speaker = Speaker(subject=caller.runtime.access.subject, client=caller.client)
        answer = await anyio.to_thread.run_sync(partial(self._performed, caller.runtime, alias, call, speaker))
        envelope = {
            "status": "duplicated" if answer.is_repeated else "accepted",
            "report_kind": alias.kind,
            "report": msgspec.Raw(answer.report),
        }
        return Response(msgspec.json.encode(envelope), headers={"Cache-Control": "no-store"}, media_type=JSON)

    def _performed(self, runtime: Runtime, alias: Alias, call: _Call, speaker: Speaker) -> KeyedReport:
        operation = self._operations[alias.operation]
        group = getattr(runtime, operation.group)
        permit(group, operation)
        given = request_of(alias, operation, call.body, speaker, call.place)
        if alias.bound is not None:
            return _fitting(runtime, operation, alias, given, budget_of(alias, call.body))
        asked = bound(operation, given)
        if call.key is not None and operation.takes_key:
            return perform_once(group, operation, asked, call.key)
        return KeyedReport(report=msgspec.json.encode(perform(group, operation, asked)))


def _fitting(
    runtime: Runtime, operation: Operation, alias: Alias, given: dict[str, Any], chars_max: int
) -> KeyedReport:
    """Run an operation whose text is bounded in tokens until the text has few enough characters."""
    assert alias.bound is not None, "its answer is bounded"
    group, budget = getattr(runtime, operation.group), chars_max // CHARS_PER_TOKEN
    for _ in range(FITTING_MAX):
        report = perform(group, operation, bound(operation, given | {alias.bound.budget: budget}))
        chars = getattr(report, alias.bound.measured)
        if chars <= chars_max:
            break
        budget = budget * chars_max // chars
    else:
        report = perform(group, operation, bound(operation, given | {alias.bound.budget: 0}))
    return KeyedReport(report=msgspec.json.encode(report))


async def _body(request: Request) -> bytes:
    """Return the body of a request; a method that has none takes no query either."""
    if request.method in {"POST", "PUT"}:
        return await json_body(request)
    if request.query_params:
        raise InvalidInput(at="query", problem="not_expected")
    return b"{}"


def _permit(runtime: Runtime, operation: Operation) -> None:
    permit(getattr(runtime, operation.group), operation)


def parsed_object(body: bytes) -> dict[str, Any]:
    """Return the members of a body; raises `request.invalid` for anything but an object."""
    found = parsed(body)
    if not isinstance(found, dict):
        raise InvalidInput(at="body", problem="wrong_type")
    return found


def _idempotency_key(request: Request) -> str | None:
    return next((request.headers[name] for name in IDEMPOTENCY_HEADERS if name in request.headers), None)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
