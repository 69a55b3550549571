"""Foreign routes: each means an operation, under the names of another program, for the owner of a client key."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

import muniment
from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId
from muniment.evidence.pin import FilePin
from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.space.options import Options
from muniment.transports.gateway.aliases import ALIASES, PLACE, Alias, Within
from muniment.transports.gateway.translation import Speaker, request_of
from muniment.transports.http.openapi import served as served_of
from tests.memory.items import candidate
from tests.memory.tools import registry
from tests.served.conftest import serving
from tests.served.documented import check_documented
from tests.served.test_gateway import gateway
from tests.turns import TALK, plain_turn
from tests.worlds import FileWorld, sqlite_world

SERVED = {each.path: each for each in served_of(catalogue())}
SPEAKER = Speaker(subject="ada", client="desk")
EVERYTHING = ClientScope(effects=list(Effect), views=list(View), subject=SubjectId("ada"))
CANDIDATE = {"kind": "preference", "topic": "tea", "text": "Likes green tea.", "judgement": {"decision": "accept"}}
EVIDENCE = [{"conversation": {"conversation": TALK}, "turn": "turn-1"}]
REF = {"registry_id": "desk", "fingerprint": "f1"}
OBSERVED = {"tool_id": "search", "registry_id": "desk", "outcome": "succeeded", "summary": "found it", "call_id": "c"}


class ForeignProgram:
    """A client of the foreign routes, and the world behind them."""

    def __init__(self, world: FileWorld, url: str) -> None:
        self.world = world
        self.http = httpx2.Client(
            base_url=url,
            headers=self.headers("desk", EVERYTHING),
            timeout=30,
            event_hooks={"response": [check_documented]},
        )

    def headers(self, name: str, scope: ClientScope) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.world.runtime.clients.create(name, scope).key}"}

    def post(self, path: str, **body: Any) -> Any:
        """Call a route that must answer, and return the report."""
        answered = self.http.post(path, json=body)
        assert answered.status_code == 200, answered.text
        assert answered.json()["status"] == "accepted"
        return answered.json()["report"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[ForeignProgram]:
    with (
        contextlib.closing(sqlite_world(tmp_path)) as world,
        serving(world.with_turns(1).runtime, mounts=gateway) as url,
    ):
        made = ForeignProgram(world, url)
        yield made
        made.http.close()


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alias", ALIASES, ids=lambda alias: f"{alias.method} {alias.path} {alias.when or ''}")
def test_an_alias_means_a_served_operation_and_members_that_it_has(alias: Alias) -> None:
    operation = SERVED[alias.operation]
    assert operation.upload is None
    members = {each.name if isinstance(each, Within) else each for each in alias.members.named.values()}
    members |= {*alias.members.fixed} | ({alias.place} if alias.place else set())
    members |= {alias.bound.budget} if alias.bound else set()
    assert {each.partition(".")[0] for each in members} <= set(operation.request.__struct_fields__)
    assert (alias.place is not None) == alias.path.endswith(PLACE)
    reads = operation.effect is Effect.READ
    assert reads or alias.method != "GET"


def test_routes_with_several_meanings_tell_them_apart() -> None:
    for alias in ALIASES:
        others = [each for each in ALIASES if (each.method, each.path) == (alias.method, alias.path)]
        assert len(others) == 1 or len({each.when for each in others}) == len(others)


def test_a_member_that_is_not_known_is_refused_by_its_name_where_that_looks_like_one() -> None:
    alias = next(each for each in ALIASES if each.path == "/memory/recall")
    for name, at in (("querry", "querry"), ("Not A Name", "body")):
        with pytest.raises(InvalidInput) as refused:
            request_of(alias, SERVED[alias.operation], {name: 1}, SPEAKER)
        assert (refused.value.at, refused.value.problem) == (at, "unknown_field")
    project = next(each for each in ALIASES if each.path == "/memory/project")
    with pytest.raises(InvalidInput) as twice:
        request_of(project, SERVED[project.operation], {"query": "a", "user_query": "b"}, SPEAKER)
    assert twice.value.problem == "given_twice"


# --- over the wire ----------------------------------------------------------------------------------------------------


def test_what_was_written_is_recalled_projected_inspected_and_listed(program: ForeignProgram) -> None:
    """The subject and the requester follow from the key."""
    written = program.post(
        "/memory/write", candidates=[{**CANDIDATE, "evidence": EVIDENCE, "id": "tea"}], mode_input={}
    )
    assert written["recorded"] == 1
    recalled = program.post("/memory/recall", query="green tea", limit=2, pressure="nominal")
    assert recalled["hits"][0]["text"] == "Likes green tea."
    projected = program.post("/memory/project", user_query="tea", system_max_len=600, recent_messages_limit=2)
    assert "green tea" in projected["text"]
    assert projected["chars"] <= 600
    assert "green tea" in program.post("/memory/inspect", query="tea", system_max_len=4096)["text"]
    assert program.post("/memory/long-term/list")["items"][0]["id"] == "tea"
    assert program.post("/memory/long-term/detail", target="tea")["item"]["id"] == "tea"
    amended = program.post("/memory/long-term/mutate", target="tea", operation={"type": "pin"}, reason="asked for")
    assert amended["accepted"]
    paused = program.post(
        "/memory/long-term/policy", operation="pause", selector={"subject": "ada"}, reason="asked for"
    )
    assert program.world.runtime.notebook.policies(SubjectId("ada")).policies, paused


@pytest.mark.parametrize("length", [0, 1, 2, 50, 200, 1000, 100_000])
def test_a_projection_has_no_more_characters_than_allowed(program: ForeignProgram, length: int) -> None:
    program.post("/memory/write", candidates=[{**CANDIDATE, "text": "tea " * 100, "evidence": EVIDENCE}])
    projected = program.post("/memory/project", query="tea", system_max_len=length)
    assert len(projected["text"]) == projected["chars"] <= length


@pytest.mark.parametrize("length", [50, 300, 1000])
def test_a_projection_fits_whatever_a_token_is(tmp_path: Path, length: int) -> None:
    """With a counter whose tokens are long, a budget of tokens allows far more characters than were asked for."""
    options = Options(pin=FilePin(tmp_path / "pins"), token_counter=lambda text: len(text) // 40)
    with (
        muniment.open(str(tmp_path / "store"), keys=f"file:{tmp_path}/root.key", options=options) as runtime,
        serving(runtime, mounts=gateway) as url,
    ):
        for number in range(20):
            runtime.memory.remember([candidate("tea " * 30, None, topic=f"tea {number}")], "host")
        headers = {"Authorization": f"Bearer {runtime.clients.create('desk', EVERYTHING).key}"}
        asked = {"query": "tea", "system_max_len": length}
        report = httpx2.post(f"{url}/memory/project", json=asked, headers=headers).json()["report"]
        assert len(report["text"]) <= length
        assert length < 1000 or report["text"]


def test_procedures_and_feedback_are_written(program: ForeignProgram) -> None:
    skill = {"name": "runtime_skill__lift", "topic": "stairs", "title": "Lift", "summary": "Use the lift"}
    program.post("/memory/write", writes=[{**skill, "content": "Go to the lift.\nPress the button."}], source="host")
    assert program.world.runtime.skills.list_(SubjectId("ada")).skills[0].name == "runtime_skill__lift"
    program.world.runtime.tools.register(registry(), "host")
    observed = {"registry_ref": REF, "observations": [OBSERVED, OBSERVED], "evidence": EVIDENCE}
    fed = program.post("/memory/write", tool_usage_feedback=observed)
    assert fed["changed"] == 1


def test_turns_are_committed_replayed_exported_and_annotated(program: ForeignProgram) -> None:
    turn = msgspec.to_builtins(plain_turn(2))
    given = {name: turn[name] for name in ("messages",)} | {"turn_id": "turn-2", "conversation_id": TALK}
    assert program.post("/memory/finalize-turn", turn=given)["sequence"] == 2
    replayed = program.post("/memory/replay", chat_id=TALK, limit=1)
    assert [each["turn"] for each in replayed["turns"]] == ["turn-1"]
    assert "turn-2" in json.dumps(program.post("/memory/replay", chat_id=TALK, channel_id="default"))
    assert program.post("/memory/export", chat_id=TALK, format="openai")["text"]
    attribute = {
        "id": "a", "target": {"turn": "turn-1"}, "key": "host.desk.tokens", "kind": "number", "value": 1,
        "source": {"writer": "desk", "kind": "host_reported", "reason": "monthly bill"},
    }  # fmt: skip
    assert program.post("/memory/transcript/attrs", chat_id=TALK, attrs=[attribute])["accepted"] == 1


def test_registries_are_put_shown_listed_and_deleted(program: ForeignProgram) -> None:
    tool = {"tool_id": "search", "schema_fingerprint": "s1", "permission_tags": ["orders:read"], "risk_tags": []}
    snapshot = {
        "registry_id": "desk", "namespace": "acme", "owner_id": "ada", "fingerprint": "f1", "tools": [tool],
        "updated_at": 1,
    }  # fmt: skip
    path = "/agent-tool-registries/desk"
    put = program.http.put(path, json=snapshot)
    assert (put.status_code, put.json()["report"]["tools"]) == (200, 1)
    assert program.http.put(path, json={k: v for k, v in snapshot.items() if k != "registry_id"}).status_code == 200
    differs = program.http.put("/agent-tool-registries/other", json=snapshot)
    assert (differs.status_code, differs.json()["at"], differs.json()["problem"]) == (400, "registry_id", "differs")
    assert program.http.get("/agent-tool-registries").json()["report"]["total"] == 1
    assert program.http.get(path).json()["report"]["registry"]["fingerprint"] == "f1"
    assert program.http.delete(path).status_code == 200
    assert program.http.get(path).status_code == 404
    assert program.http.put(path, json=[]).status_code == 400
    assert program.http.get("/agent-tool-registries", params={"limit": 1}).status_code == 400


def test_the_id_of_a_registry_may_have_slashes(program: ForeignProgram) -> None:
    snapshot = {"registry_id": "acme/desk", "namespace": "acme", "owner_id": "ada", "fingerprint": "f1", "tools": []}
    for path in ("/agent-tool-registries/acme/desk", "/agent-tool-registries/acme%2Fdesk"):
        assert program.http.put(path, json=snapshot).status_code == 200
        assert program.http.get(path).json()["report"]["registry"]["registry"] == "acme/desk"


def test_what_has_no_counterpart_is_not_there(program: ForeignProgram) -> None:
    for path in ("/memory/maintain", "/memory/import", "/memory/close", "/memory/recall/", "/memory/", "/memories/get",
                 "/memories/", "/agent-tool-registries/", "/agent-tool-registries/a/b/c", "/memory"):  # fmt: skip
        answered = program.http.post(path, json={})
        assert answered.status_code in {404, 405}, path
        assert answered.status_code == 404 or answered.headers["allow"]
    assert program.http.get("/memory/recall").headers["allow"] == "POST"
    assert program.http.get("/memory/profile/capabilities").json()["report"]["subject"] == "ada"


def test_the_key_decides_and_no_header_does(program: ForeignProgram) -> None:
    reader = program.headers("reader", ClientScope())
    forged = {"X-Subject": "ada", "X-Owner": "ada", "X-Loopback": "true", "X-Audit-Id": "a-1"}
    refused = program.http.post("/memory/write", json={"candidates": []}, headers=reader | forged)
    assert (refused.status_code, refused.json()["code"]) == (403, "access.denied")
    foreign = program.http.post("/memory/recall", json={"query": "tea", "subject": "bob"}, headers=forged)
    assert (foreign.status_code, foreign.json()["code"]) == (403, "access.denied")
    program.http.headers.pop("Authorization")
    for alias in ALIASES:
        answered = program.http.request(alias.method, alias.path.replace("{id}", "x"), headers=forged)
        assert (answered.status_code, answered.json()["code"]) == (401, "access.not_authenticated")


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Idempotency-Key"])
def test_a_repeat_under_a_key_is_the_first_answer(program: ForeignProgram, header: str) -> None:
    body = {"turn": {"turn_id": "turn-9", "conversation_id": TALK, "messages": [{"role": "user", "content": "Hi"}]}}
    first, again = (
        program.http.post("/memory/finalize-turn", json=body, headers={header: "k"}).json() for _ in range(2)
    )
    assert (first["status"], again["status"]) == ("accepted", "duplicated")
    assert again["report"] == first["report"]
    other = program.http.post(
        "/memory/finalize-turn", json={"turn": {**body["turn"], "turn_id": "x"}}, headers={header: "k"}
    )
    assert other.json()["code"] == "request.key_reused"


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b"null", b'{"candidates": []}, {}', b'{"candidates": [], "writes": []}', b'{"x": 1}',
     b'{"candidates": 7}', b'{"candidates": [7]}', b'{"candidates": [[[]]]}', b'{"writes": [{"more": 1}]}',
     b'{"candidates": [{"subject": "ada", "subject": "bob"}]}', b'{"tool_usage_feedback": null}',
     b'{"writes": [{"name": "\\ud800"}]}'],
)  # fmt: skip
def test_a_malformed_request_is_refused_and_nothing_is_written(program: ForeignProgram, body: bytes) -> None:
    before = program.world.runtime.spaces.usage().events
    answered = program.http.post("/memory/write", content=body, headers={"Content-Type": "application/json"})
    assert answered.status_code == 400, answered.text
    assert program.world.runtime.spaces.usage().events == before


@pytest.mark.parametrize("length", [None, -1, "7", 1.5, True, 2**80])
def test_a_bound_is_a_number(program: ForeignProgram, length: Any) -> None:
    answered = program.http.post("/memory/project", json={"query": "tea", "system_max_len": length})
    assert (answered.status_code, answered.json()["code"]) == (400, "request.invalid")
