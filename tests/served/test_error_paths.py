"""What is refused says nothing of what was sent: a canary in every place of a request, for every operation.

The key of the client, and a turn that is stored, are canaries, too. Looked at are answers over HTTP and MCP, and the
log.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from muniment.declaration.http_wire import path_of
from muniment.declaration.operation import Operation
from muniment.runtime.catalogue import catalogue
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import MountedApp
from muniment.transports.http.openapi import methods_of, openapi
from muniment.transports.http.openapi import served as served_of
from muniment.transports.mcp.over_http import PATH, McpOverHttp
from tests.served.conftest import Served, serving
from tests.turns import answer as spoken
from tests.turns import plain_turn, question
from tests.worlds import memory_world

CANARY = "zanzibar-4711"
STORED = (question(1), spoken(1))
SERVED = served_of(catalogue())
DOCUMENT = openapi(SERVED)


@pytest.fixture
def told() -> Iterator[Served]:
    """Return a server with MCP and every operation as a tool, and a turn with a canary in it."""

    def mounts(callers: Callers) -> dict[str, MountedApp]:
        return {PATH: McpOverHttp(catalogue(), callers, every=True)}

    with contextlib.closing(memory_world()) as world, serving(world.runtime, mounts=mounts) as url:
        world.runtime.transcripts.commit(plain_turn(1))
        made = Served(world, url)
        yield made
        made.http.close()


def parameters(operation: Operation) -> dict[str, Any]:
    """Return the parameters of an operation with their schemas."""
    _, components = msgspec.json.schema_components([operation.request])
    schema: dict[str, Any] = components[operation.request.__name__]["properties"]
    return schema


def wrong(operation: Operation) -> Iterator[dict[str, Any]]:
    """Yield requests that no operation takes, with a canary in each place."""
    yield {name: {CANARY: CANARY} for name in parameters(operation)}
    yield {**dict.fromkeys(parameters(operation), CANARY), CANARY: 1}
    yield dict.fromkeys(parameters(operation), f" {CANARY}\x00")


def answers(served: Served, operation: Operation) -> Iterator[httpx2.Response]:
    """Yield what is answered to requests that are wrong."""
    http, path = served.http, path_of(operation)
    for given in wrong(operation):
        query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
        for method in methods_of(operation):
            if method == "GET" or operation.upload is not None:
                yield http.request(method, path, params=query, content=None if method == "GET" else CANARY)
            else:
                yield http.post(path, json=given)
        arguments = given | ({} if operation.upload is None else {operation.upload: f"~{CANARY}"})
        call = {"name": operation.path.replace(".", "_"), "arguments": arguments}
        yield http.post(
            PATH,
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            headers={"Accept": "application/json, text/event-stream"},
        )
    yield http.post(path, content=f'{{"{CANARY}": {CANARY}', headers={"Content-Type": "application/json"})
    yield http.post(path, json={}, headers={"Idempotency-Key": f"{CANARY} {CANARY}"})
    yield http.post(path, json={}, headers={"Authorization": f"Bearer {CANARY}"})


@pytest.mark.slow
def test_no_refusal_and_no_line_of_log_shows_what_was_sent(told: Served, caplog: pytest.LogCaptureFixture) -> None:
    refused = 0
    with caplog.at_level(logging.INFO):
        for operation in SERVED:
            for answer in answers(told, operation):
                assert answer.status_code < 500, (operation.path, answer.text)
                assert told.key not in answer.text, operation.path
                is_refused = answer.status_code >= 400 or '"isError":true' in answer.text
                refused += is_refused
                shown = [words for words in (CANARY, *STORED) if is_refused and words in answer.text]
                assert not shown, (operation.path, answer.text)
    assert refused > 8 * len(SERVED)
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    assert logged
    assert not [words for words in (CANARY, told.key, *STORED) if words in logged]


def test_what_is_no_operation_says_nothing_either(told: Served) -> None:
    for path in (f"/v1/{CANARY}", f"/{CANARY}", f"/v1/transcripts/{CANARY}?{CANARY}={CANARY}", "/mcp"):
        for method in ("GET", "POST", "DELETE", "OPTIONS", CANARY.partition("-")[0].upper()):
            answer = told.http.request(method, path, content=CANARY, headers={"X-Request-Id": f"{CANARY} {CANARY}"})
            assert 400 <= answer.status_code < 500, (method, path)
            assert CANARY not in answer.text + str(answer.headers), (method, path)
