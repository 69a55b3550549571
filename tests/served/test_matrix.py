"""Every operation, for every kind of caller, over every transport: the same answer, and the same kind of refusal.

The requests are those of the laws about canaries, in the same world. Operations that only read are asked for what is
there; of all others only what comes before they run is compared, because an answer would depend on who came first.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import msgspec
import pytest

from muniment.declaration.http_wire import REPORT, path_of
from muniment.declaration.operation import Effect, Operation, bound, perform, permit
from muniment.errors import MunimentError, NotAuthenticated
from muniment.events.identity import SubjectId
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import MountedApp
from muniment.transports.http.openapi import methods_of
from muniment.transports.http.openapi import served as served_of
from muniment.transports.mcp.over_http import PATH, McpOverHttp
from tests.laws.canary_world import full_world
from tests.laws.test_canaries import requests
from tests.served.conftest import EVERYTHING, serving
from tests.turns import TALK
from tests.worlds import World

SERVED = {each.path: each for each in served_of(catalogue())}
READING = [each for each in SERVED.values() if each.effect is Effect.READ and each.upload is None]
CHANGING = [each for each in SERVED.values() if each not in READING]
UPLOAD = b"{}"
ASKED_MAX = 4  # requests of an operation: the laws about canaries ask all
# who calls -> what its key allows; a scope of another space is in that one
SCOPES = {
    "full": EVERYTHING,
    "read-only": ClientScope(effects=[Effect.READ], views=list(View)),
    "wrong view": ClientScope(effects=list(Effect), views=[View.EXPORT]),
    "other subject": ClientScope(effects=list(Effect), views=list(View), subject=SubjectId("somebody")),
    "other space": EVERYTHING,
}
WITHOUT = ["no key", "damaged", "revoked", "expired"]
SIGNING = "evidence"  # signs the head of now, which every refusal on record moves
SEALED = re.compile(r"mc1\.[A-Za-z0-9_-]+")  # cursors and plans hold a nonce
SCORE = re.compile(r"\d+\.\d+(e-?\d+)?")  # grows older with the clock of the world
VOLATILE = re.compile(r'"(\w*_ms|\w*duration\w*|age_s|checkpoint_age_s|free_bytes|took\w*)":[0-9.]+')


class Answer(NamedTuple):
    """What a caller gets: the code of a refusal, or the report."""

    code: str
    report: str = ""


class Matrix:
    """A world, its server, and the keys of all callers."""

    def __init__(self, world: World, url: str, home: Path) -> None:
        self.world, self.url = world, url
        self.requests = requests(home)
        self.keys = {name: self._key(name, scope) for name, scope in SCOPES.items()}
        damaged, gone = self.keys["full"], self._key("revoked", EVERYTHING)
        world.runtime.clients.revoke("revoked")
        self.keys |= {"damaged": damaged[:-1] + ("0" if damaged[-1] != "0" else "1"), "revoked": gone}
        self.keys["expired"] = _expired(world)
        self.http = httpx2.Client(base_url=url, timeout=30)

    def _key(self, name: str, scope: ClientScope) -> str:
        space = self.world.runtime.space("other") if name == "other space" else self.world.runtime
        return space.clients.create(name, scope).key

    def headers(self, caller: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[caller]}"} if caller in self.keys else {}

    # --- transports ---------------------------------------------------------------------------------------------------

    def post(self, caller: str, operation: Operation, given: dict[str, Any]) -> Answer:
        if operation.upload is None:
            return _answer(self.http.post(path_of(operation), json=given, headers=self.headers(caller)))
        query = {name: _queried(value) for name, value in given.items() if value is not None}
        return _answer(self.http.post(path_of(operation), params=query, content=UPLOAD, headers=self.headers(caller)))

    def get(self, caller: str, operation: Operation, given: dict[str, Any]) -> Answer:
        query = {name: _queried(value) for name, value in given.items() if value is not None}
        return _answer(self.http.get(path_of(operation), params=query, headers=self.headers(caller)))

    def mcp(self, caller: str, operation: Operation, given: dict[str, Any]) -> Answer:
        upload = {} if operation.upload is None else {operation.upload: base64.b64encode(UPLOAD).decode()}
        call = {"name": operation.path.replace(".", "_"), "arguments": given | upload}
        answer = self.http.post(
            PATH,
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            headers={"Accept": "application/json, text/event-stream", **self.headers(caller)},
        )
        if answer.status_code != 200:
            return _answer(answer)
        told = answer.json()
        if "error" in told:
            assert told["error"]["message"] == "No such tool", told
            return Answer("access.denied")
        if told["result"].get("isError"):
            return Answer(told["result"]["content"][0]["text"].partition(":")[0])
        return Answer("", _settled(json.dumps(told["result"]["structuredContent"])))

    def python(self, caller: str, operation: Operation, given: dict[str, Any]) -> Answer:
        runtime = self.world.runtime
        try:
            client = runtime.as_client(runtime.client_of(self.keys.get(caller, "")))
            upload = None if operation.upload is None else io.BytesIO(UPLOAD)
            group = getattr(client, operation.group)
            permit(group, operation)  # as a method of the group does before it looks at what it is given
            download = None if operation.download is None else io.BytesIO()
            report = perform(group, operation, bound(operation, given), upload, download)
        except MunimentError as error:
            return Answer(error.code)
        return Answer("", _settled(msgspec.json.encode(report).decode()))

    def everywhere(self, caller: str, operation: Operation, given: dict[str, Any]) -> dict[str, Answer]:
        """Return the answer of each transport."""
        ask: dict[str, Callable[[str, Operation, dict[str, Any]], Answer]] = {
            "post": self.post, "mcp": self.mcp, "python": self.python
        }  # fmt: skip
        if "GET" in methods_of(operation):
            ask["get"] = self.get
        if operation.download is not None:  # comes as a file, which is no result of a tool
            del ask["mcp"]
            given = {name: value for name, value in given.items() if name != operation.download}
        return {transport: call(caller, operation, given) for transport, call in ask.items()}


def _expired(world: World) -> str:
    """Return a key that has just ended; every reading of the clock of the world is a second later."""
    now_ms = max(client.created_ms for client in world.runtime.clients.list_().clients)
    key = world.runtime.clients.create("expired", EVERYTHING, until_ms=now_ms + 60_000).key
    while True:
        try:
            world.runtime.client_of(key)
        except NotAuthenticated:
            return key


def _queried(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _answer(answer: httpx2.Response) -> Answer:
    if answer.status_code in {200, 204}:
        return Answer("", _settled(answer.headers.get(REPORT, answer.text)))
    assert answer.status_code < 500, answer.text
    return Answer(str(answer.json()["code"]))


def _settled(report: str) -> str:
    """Return a report with its members in order, without defaults, what a clock says and what a nonce changes."""
    ordered = json.dumps(json.loads(report), sort_keys=True, separators=(",", ":")).replace('"channel":"default",', "")
    return SCORE.sub("0.0", SEALED.sub("mc1", VOLATILE.sub(r'"\1":0', ordered)))


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    world = full_world()

    def mounts(callers: Callers) -> dict[str, MountedApp]:
        return {PATH: McpOverHttp(catalogue(), callers, every=True)}

    with contextlib.closing(world), serving(world.runtime, mounts=mounts) as url:
        made = Matrix(world, url, tmp_path_factory.mktemp("matrix"))
        yield made
        made.http.close()


def asked(matrix: Matrix, operation: Operation) -> list[dict[str, Any]]:
    """Return some of the requests of an operation, spread over all that there are."""
    every = matrix.requests.get(operation.path, [{}])
    return every[:: max(1, len(every) // ASKED_MAX)]


@pytest.mark.parametrize("caller", WITHOUT)
def test_without_a_valid_key_every_operation_is_the_same_refusal(matrix: Matrix, caller: str) -> None:
    for operation in SERVED.values():
        answers = matrix.everywhere(caller, operation, {})
        assert set(answers.values()) == {Answer("access.not_authenticated")}, (operation.path, answers)


@pytest.mark.slow
@pytest.mark.parametrize("caller", SCOPES)
def test_what_reads_answers_alike_everywhere(matrix: Matrix, caller: str) -> None:
    for operation in READING:
        for given in asked(matrix, operation):
            answers = matrix.everywhere(caller, operation, given)
            alike = {answer.code if operation.group == SIGNING else answer for answer in answers.values()}
            assert len(alike) == 1, (operation.path, given, answers)


@pytest.mark.parametrize("caller", SCOPES)
def test_what_changes_is_opened_by_the_same_rights_everywhere(matrix: Matrix, caller: str) -> None:
    """A request that no operation takes gets as far as the rights of its caller do."""
    before = matrix.world.runtime.spaces.usage().turns
    for operation in CHANGING:
        answers = matrix.everywhere(caller, operation, {"nothing_that_is_taken": 1})
        assert len(set(answers.values())) == 1, (operation.path, answers)
        expected = {"request.invalid", "access.denied"} if caller != "full" else {"request.invalid"}
        assert answers["post"].code in expected, (operation.path, answers)
        if caller == "read-only" and operation.effect is not Effect.READ:
            assert answers["post"].code == "access.denied", operation.path
    assert matrix.world.runtime.spaces.usage().turns == before


@pytest.mark.parametrize("caller", ["other space", "other subject"])
def test_the_foreign_and_the_absent_answer_byte_for_byte_alike(matrix: Matrix, caller: str) -> None:
    """Names of what is there for others are exchanged for names of nothing: nobody sees a difference."""
    absent = {TALK: "z" * len(TALK), "harbour": "zarbour", '"ada"': '"zda"', "turn-": "zurn-", '"i-': '"z-'}

    def renamed(text: str) -> str:
        for there, nowhere in absent.items():
            text = text.replace(there, nowhere)
        return text

    for operation in READING:
        for given in asked(matrix, operation):
            foreign = matrix.post(caller, operation, given)
            nothing = matrix.post(caller, operation, json.loads(renamed(json.dumps(given))))
            assert renamed(foreign.report) == nothing.report, (operation.path, given)
            assert foreign.code == nothing.code, (operation.path, given)
