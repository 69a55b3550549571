"""One request: who calls, what is asked, the answer.

The key of the client comes first: without one that opens the operation nothing else is looked at, and no body is read.
Space, rights and principal follow from the key. No header changes them.
"""

from __future__ import annotations

import io
from functools import partial
from typing import BinaryIO, Protocol

import anyio.to_thread
import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from muniment.crypto.client_key import PREFIX
from muniment.declaration.http_wire import JSON
from muniment.declaration.idempotency import KeyedReport, perform_once
from muniment.declaration.operation import Effect, Operation, bound, perform, permit
from muniment.errors import InvalidInput, MunimentError, NotAuthenticated
from muniment.kernel.canonical import BLANKS
from muniment.kernel.digest import b64url, sha256
from muniment.kernel.sources import Clock
from muniment.runtime.runtime import Runtime
from muniment.space.clients import Client
from muniment.transports.http.body import UploadStream, whole_body
from muniment.transports.http.downloads import Downloads, as_document
from muniment.transports.http.query_string import json_of, parsed
from muniment.transports.http.rates import Rates
from muniment.transports.http.request_runtimes import got, used_up

BODY_BYTES_MAX = 8 * 1024 * 1024
ETAG_BYTES = 16


class KeyHolder(Struct, frozen=True, kw_only=True):
    """Whoever shows a key: what it opens, its name, and the fingerprint by which logs know it."""

    runtime: Runtime
    client: str
    fingerprint: str


class TokenNames(Protocol):
    """What verifies the tokens of an issuer for an audience."""

    issuer: str
    audience: str

    def client_name(self, token: str) -> str:
        """Return the client that a token names; raises `access.not_authenticated`."""
        ...


class Callers:
    """Finds out who calls: by a client key or, where tokens are taken, by one of these."""

    def __init__(self, runtime: Runtime, clock: Clock, rates: Rates, tokens: TokenNames | None = None) -> None:
        self._runtime = runtime
        self._clock = clock
        self._tokens = tokens
        self._rates = rates

    def caller_of(self, authorization: str | None, operation: Operation | None = None) -> KeyHolder:
        """Return who shows this key or token, and may call an operation where one is given.

        Raises `access.not_authenticated`, `access.denied`, `capability.hidden`, and `request.rate_exceeded`.
        """
        return self._counted(self._client_of(authorization), operation)

    def at_once(self, authorization: str | None, operation: Operation) -> KeyHolder | None:
        """Return what `caller_of` would, where nothing has to be waited for: an event loop may call this.

        None says nothing of the key, and takes nothing from its rate.
        """
        client = self._runtime.client_at_once(_shown(authorization))
        if client is None or (self._rates.is_shared and client.scope.requests_per_minute is not None):
            return None
        holder = self._holder(client, None)
        try:
            getattr(holder.runtime, operation.group).gate.pass_through(operation.path, operation.terms)
        except MunimentError:  # `caller_of` raises it again, and puts a refusal on record
            return None
        self._count(client)
        return holder

    def holder_of(self, key: str, operation: Operation | None = None) -> KeyHolder:
        """Return who has a client key, wherever a request shows it; otherwise as `caller_of`."""
        return self._counted(self._runtime.client_of(key), operation)

    def known(self, authorization: str | None, operation: Operation) -> KeyHolder:
        """Return who goes on with a request that was begun; as `caller_of`, but it is no further request."""
        return self._holder(self._client_of(authorization), operation)

    def _client_of(self, authorization: str | None) -> Client:
        key = _shown(authorization)
        if self._tokens is None or key.startswith(PREFIX):
            return self._runtime.client_of(key)
        return self._runtime.client_named(self._tokens.client_name(key))

    def _counted(self, client: Client, operation: Operation | None) -> KeyHolder:
        """Return the client as who calls, and take this request from its rate."""
        self._count(client)
        return self._holder(client, operation)

    def _count(self, client: Client) -> None:
        rate = client.scope.requests_per_minute
        if rate is not None:
            self._rates.take(client.name, rate, self._clock.now_ms())

    def _holder(self, client: Client, operation: Operation | None) -> KeyHolder:
        runtime = self._runtime.as_client(client)
        got(runtime)
        if operation is not None:
            permit(getattr(runtime, operation.group), operation)
        return KeyHolder(runtime=runtime, client=client.name, fingerprint=client.keys[-1].fingerprint)


def _shown(authorization: str | None) -> str:
    """Return the key or token that a request shows."""
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise NotAuthenticated(problem="no_key")
    return key.strip()


async def answered(request: Request, operation: Operation, callers: Callers, downloads: Downloads) -> Response:
    """Return the answer to a request for an operation; raises what is wrong with it."""
    shown = request.headers.get("authorization")
    caller = callers.at_once(shown, operation)
    if caller is None:
        caller = await anyio.to_thread.run_sync(callers.caller_of, shown, operation)
    request.state.client = caller.fingerprint
    upload = io.BufferedReader(UploadStream(request)) if operation.upload is not None else None
    if request.method == "POST" and upload is None:
        given = await json_body(request)
    else:
        given = json_of(operation, request.query_params.multi_items())
    if operation.download is not None:
        return await downloads.answered(caller.runtime, operation, given)
    key = request.headers.get("idempotency-key")
    answer = await anyio.to_thread.run_sync(partial(_performed, caller.runtime, operation, given, key, upload))
    return _response(request, operation, answer)


async def json_body(request: Request, limit: int = BODY_BYTES_MAX) -> bytes:
    """Return a body that is JSON, or an empty object for none; raises `request.invalid`, `request.limit_exceeded`."""
    if request.scope["query_string"]:
        raise InvalidInput(at="query", problem="not_expected")
    body = await whole_body(request, limit)
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON:
        raise InvalidInput(at="content-type", problem="not_json")
    if not body.strip(BLANKS):
        return b"{}"
    parsed(body)  # refuses what the parser behind it takes: a name that is there twice
    return body


def _performed(
    runtime: Runtime, operation: Operation, given: bytes, key: str | None, upload: BinaryIO | None
) -> KeyedReport:
    with used_up(runtime):
        request, group = bound(operation, given), getattr(runtime, operation.group)
        if key is not None and operation.takes_key:
            return perform_once(group, operation, request, key, upload)
        return KeyedReport(report=msgspec.json.encode(perform(group, operation, request, upload)))


def _response(request: Request, operation: Operation, answer: KeyedReport) -> Response:
    response = as_document(request, operation, answer.report)
    headers = {"Cache-Control": "no-store"}
    if operation.effect is Effect.READ and request.method == "GET":
        body = answer.report if response is None else bytes(response.body)
        tag = f'"{b64url(sha256(body)[:ETAG_BYTES])}"'
        headers = {"Cache-Control": "private, no-cache", "ETag": tag, "Vary": "Authorization, Accept"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
    if answer.is_repeated:
        headers["Idempotent-Replayed"] = "true"
    if response is None:
        return Response(answer.report, headers=headers, media_type=JSON)
    response.headers.update(headers)
    return response
