"""The operations over HTTP: the same reports as embedded, and nothing that the key does not open."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from muniment.declaration.http_wire import path_of
from muniment.declaration.operation import Effect, Operation
from muniment.events.identity import Channel, SubjectId
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.transports.http.openapi import methods_of, openapi
from muniment.transports.http.openapi import served as served_of
from tests.served.conftest import EVERYTHING, Served
from tests.turns import TALK, plain_turn
from tests.worlds import key_of

TURN = msgspec.to_builtins(plain_turn(1))
SERVED = served_of(catalogue())
TALKING = {"conversation": {"conversation": TALK}}


def test_a_turn_is_committed_and_replayed(served: Served) -> None:
    receipt = served.post("transcripts/commit", {"turn": TURN})
    assert (receipt.status_code, receipt.json()["turn"]) == (200, "turn-1")
    page = served.post("transcripts/replay", TALKING)
    embedded = served.world.runtime.transcripts.replay(key_of())
    assert page.json()["turns"] == msgspec.to_builtins(embedded)["turns"]


def test_reading_is_a_get_too_with_a_tag(served: Served) -> None:
    served.world.with_turns(1)
    query = {"conversation": '{"conversation": "talk"}'.replace("talk", TALK), "view": "host_ui", "limit": "5"}
    page = served.http.get("/v1/transcripts/replay", params=query)
    assert page.json() == served.post("transcripts/replay", TALKING | {"view": "host_ui", "limit": 5}).json()
    tag = {"If-None-Match": page.headers["etag"]}
    assert served.http.get("/v1/transcripts/replay", params=query, headers=tag).status_code == 304
    served.world.with_turns(1)
    assert served.http.get("/v1/transcripts/replay", params=query, headers=tag).status_code == 200


def test_an_upload_is_read_while_it_comes(served: Served) -> None:
    content = bytes(range(256)) * 4096  # a mebibyte: several pieces
    pieces = (content[at : at + 70_000] for at in range(0, len(content), 70_000))
    added = served.http.post("/v1/attachments/add", content=pieces)
    part = added.json()["part"]
    turn = TURN | {"messages": [{"role": "user", "content": [part]}]}
    assert served.post("transcripts/commit", {"turn": turn}).status_code == 200
    place = {"turn": "turn-1", "message": 0, "part": 0}
    read = served.post("attachments/read", TALKING | {"attachment": place, "start": 0, "length": 300})
    assert base64.b64decode(read.json()["data"]) == content[:300]


def test_a_retry_with_its_key_gets_the_first_answer(served: Served) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first = served.post("transcripts/commit", {"turn": TURN}, headers=headers)
    again = served.post("transcripts/commit", {"turn": TURN}, headers=headers)
    assert again.content == first.content
    assert (first.headers.get("idempotent-replayed"), again.headers["idempotent-replayed"]) == (None, "true")
    other = served.post("transcripts/commit", {"turn": TURN | {"turn": "turn-2"}}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "request.key_reused")


# --- who may what -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": ""}, {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer mun_" + "0" * 49}],
)
def test_without_a_key_there_is_nothing(served: Served, headers: dict[str, str]) -> None:
    served.http.headers.pop("Authorization")
    for one in SERVED:
        answer = served.http.post(path_of(one), headers=headers, json={})
        assert (answer.status_code, answer.json()["code"]) == (401, "access.not_authenticated"), one.path
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert served.world.runtime.spaces.usage().events == 1


def is_open(effect: Effect, each: Operation) -> bool:
    """Tell whether a client with one effect may call an operation, as far as the declaration says."""
    return each.effect is effect and all(right.effect in {None, effect} or right.when for right in each.terms.also)


@pytest.mark.parametrize("effect", Effect)
def test_a_key_opens_the_operations_of_its_effects(served: Served, effect: Effect) -> None:
    """Every operation for a client of each effect: what the scope does not open is 403, whatever is in the request."""
    headers = served.key_for("one", ClientScope(effects=[effect], views=list(View)))
    closing = {"system.close"}  # ends the store; the tests of the front door have it
    for one in (each for each in SERVED if each.path not in closing and not is_open(effect, each)):
        answer = served.http.post(path_of(one), headers=headers, json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "access.denied"), one.path


def test_no_path_of_the_server_is_anybodys(served: Served, tmp_path: Path) -> None:
    """An operation that reads or writes a file beside the store is not there, whatever the key opens.

    One that writes a download is there without its path.
    """
    kept = [each for each in catalogue() if each.server_paths]
    assert {each.path for each in kept if each.download is None} >= {"spaces.backup", "spaces.restore"}
    document = served.http.get("/openapi.json").json()
    for one in kept:
        answer = served.http.post(path_of(one), json=dict.fromkeys(one.server_paths, str(tmp_path / "stolen")))
        refusal = (404, "request.route_missing") if one.download is None else (400, "request.invalid")
        assert (answer.status_code, answer.json()["code"]) == refusal
        assert (path_of(one) in document["paths"]) == (one.download is not None)
    assert not (tmp_path / "stolen").exists()


def test_a_revoked_key_stops_at_once(served: Served) -> None:
    headers = served.key_for("brief", EVERYTHING)
    assert served.post("spaces/usage", headers=headers).status_code == 200
    served.post("clients/revoke", {"client": "brief"})
    assert served.post("spaces/usage", headers=headers).status_code == 401


def test_the_space_follows_from_the_key_and_from_nothing_else(served: Served) -> None:
    other = served.world.runtime.space("other").clients.create("elsewhere", EVERYTHING).key
    served.world.with_turns(1)
    headers = {"Authorization": f"Bearer {other}", "X-Space": "default", "X-Muniment-Space": "default"}
    assert served.post("spaces/usage", headers=headers).json()["space"] == "other"
    foreign = served.post("transcripts/replay", TALKING, headers=headers)
    absent = served.post("transcripts/replay", {"conversation": {"conversation": "no-such"}}, headers=headers)
    assert foreign.content == absent.content
    named = served.post(
        "transcripts/replay", {"conversation": {"conversation": TALK, "space": "default"}}, headers=headers
    )
    assert (named.status_code, named.json()["code"]) == (403, "request.foreign_space")


def test_a_client_sees_its_subject_its_channels_and_its_operations(served: Served) -> None:
    served.world.with_turns(1)
    scope = ClientScope(
        subject=SubjectId("somebody"), channels=[Channel("default")], operations=["transcripts.*"], views=list(View)
    )
    headers = served.key_for("narrow", scope)
    foreign = served.post("transcripts/replay", TALKING, headers=headers)
    absent = served.post("transcripts/replay", {"conversation": {"conversation": "no-such"}}, headers=headers)
    assert foreign.content == absent.content
    assert served.post("conversations/list", headers=headers).status_code == 403


def test_a_client_is_held_to_its_rate(served: Served) -> None:
    headers = served.key_for("busy", ClientScope(requests_per_minute=3))
    answers = [served.post("system/capabilities", headers=headers) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].headers["retry-after"] == "20", "three a minute"
    assert served.post("system/capabilities").status_code == 200, "nobody else is held up"


# --- described --------------------------------------------------------------------------------------------------------


def test_what_is_served_is_described(served: Served) -> None:
    served.http.headers.pop("Authorization")
    document = served.http.get("/openapi.json").json()
    assert document == msgspec.json.decode(msgspec.json.encode(openapi(SERVED)))
    for one in SERVED:
        assert sorted(document["paths"][path_of(one)]) == sorted(method.lower() for method in methods_of(one))


def test_health_needs_no_key_and_tells_nothing(served: Served) -> None:
    served.http.headers.pop("Authorization")
    assert served.http.get("/health/live").json() == {"alive": True}
    assert served.http.get("/health/ready").json() == {"ready": True}
