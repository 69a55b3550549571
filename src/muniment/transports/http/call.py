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
from muniment.declaration.idempotency import KeyedReport, perform_once
from muniment.declaration.operation import Effect, Operation, bound, perform, permit
from muniment.errors import InvalidInput, NotAuthenticated
from muniment.kernel.digest import b64url, sha256
from muniment.kernel.sources import Clock
from muniment.runtime.runtime import Runtime
from muniment.space.clients import Client
from muniment.transports.http.body import UploadStream, whole_body
from muniment.transports.http.openapi import JSON
from muniment.transports.http.query_string import json_of, parsed
from muniment.transports.http.rates import Rates

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

    def __init__(self, runtime: Runtime, clock: Clock, tokens: TokenNames | None = None) -> None:
        self._runtime = runtime
        self._clock = clock
        self._tokens = tokens
        self._rates = Rates()

    def caller_of(self, authorization: str | None, operation: Operation | None = None) -> KeyHolder:
        """Return who shows this key or token, and may call an operation where one is given.

        Raises `access.not_authenticated`, `access.denied`, `capability.hidden`, and `request.rate_exceeded`.
        """
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise NotAuthenticated(problem="no_key")
        key = key.strip()
        if self._tokens is None or key.startswith(PREFIX):
            return self.holder_of(key, operation)
        return self._holder(self._runtime.client_named(self._tokens.client_name(key)), operation)

    def holder_of(self, key: str, operation: Operation | None = None) -> KeyHolder:
        """Return who has a client key, wherever a request shows it; otherwise as `caller_of`."""
        return self._holder(self._runtime.client_of(key), operation)

    def _holder(self, client: Client, operation: Operation | None) -> KeyHolder:
        rate = client.scope.requests_per_minute
        if rate is not None:
            self._rates.take(client.name, rate, self._clock.now_ms())
        runtime = self._runtime.as_client(client)
        if operation is not None:
            permit(getattr(runtime, operation.group), operation)
        return KeyHolder(runtime=runtime, client=client.name, fingerprint=client.keys[-1].fingerprint)


async def answered(request: Request, operation: Operation, callers: Callers) -> Response:
    """Return the answer to a request for an operation; raises what is wrong with it."""
    caller = await anyio.to_thread.run_sync(callers.caller_of, request.headers.get("authorization"), operation)
    request.state.client = caller.fingerprint
    upload = io.BufferedReader(UploadStream(request)) if operation.upload is not None else None
    if request.method == "POST" and upload is None:
        given = await json_body(request)
    else:
        given = json_of(operation, request.query_params.multi_items())
    key = request.headers.get("idempotency-key")
    answer = await anyio.to_thread.run_sync(partial(_performed, caller.runtime, operation, given, key, upload))
    return _response(request, operation, answer)


async def json_body(request: Request, limit: int = BODY_BYTES_MAX) -> bytes:
    """Return a body that is JSON, or an empty object for none; raises `request.invalid`, `request.limit_exceeded`."""
    if request.query_params:
        raise InvalidInput(at="query", problem="not_expected")
    body = await whole_body(request, limit)
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON:
        raise InvalidInput(at="content-type", problem="not_json")
    if not body.strip():
        return b"{}"
    parsed(body)  # refuses what the parser behind it takes: a name that is there twice
    return body


def _performed(
    runtime: Runtime, operation: Operation, given: bytes, key: str | None, upload: BinaryIO | None
) -> KeyedReport:
    request, group = bound(operation, given), getattr(runtime, operation.group)
    if key is not None and operation.takes_key:
        return perform_once(group, operation, request, key, upload)
    return KeyedReport(report=msgspec.json.encode(perform(group, operation, request, upload)))


def _response(request: Request, operation: Operation, answer: KeyedReport) -> Response:
    headers = {"Cache-Control": "no-store"}
    if operation.effect is Effect.READ and request.method == "GET":
        tag = f'"{b64url(sha256(answer.report)[:ETAG_BYTES])}"'
        headers = {"Cache-Control": "private, no-cache", "ETag": tag, "Vary": "Authorization"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
    if answer.is_repeated:
        headers["Idempotent-Replayed"] = "true"
    return Response(answer.report, headers=headers, media_type=JSON)
