"""The memory gateway: what a client of /memories/* gets, and what nobody gets."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.events.identity import Channel, ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Role, TextPart, UriPart
from muniment.events.references import HostReference, Visibility
from muniment.events.turn import Turn
from muniment.governance.access import Effect
from muniment.governance.client_scope import GATEWAY_OPERATIONS, ClientScope
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.transports.gateway.aliases import ALIASES
from muniment.transports.gateway.gateway_app import GatewayApp
from muniment.transports.gateway.memory_gateway import GATEWAY_PATHS
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import MountedApp
from tests.memory.items import candidate
from tests.served.conftest import serving
from tests.served.documented import DOCUMENT, check_documented
from tests.worlds import FileWorld, key_of, sqlite_world

ADA, BOB = SubjectId("ada"), SubjectId("bob")


def gateway(callers: Callers) -> Mapping[str, MountedApp]:
    """Mount the gateway as `muniment serve` does."""
    return GatewayApp(catalogue(), callers).mounts


class User:
    """A user of a served gateway."""

    def __init__(self, world: FileWorld, url: str, user: SubjectId) -> None:
        self.world = world
        self.http = httpx2.Client(base_url=url, timeout=30, event_hooks={"response": [check_documented]})
        self.issued = world.runtime.clients.create(gateway_user=user)
        self.credentials = {"user_id": user, "user_key": self.issued.key}

    def ask(self, path: str, **more: Any) -> httpx2.Response:
        """Ask for something with the credentials of the user, unless others are given."""
        return self.http.post(f"/memories/{path}", json={**self.credentials, **more})

    def add(self, question: str, answer: str, session: str = "s-1", at_ms: int = 1000, **more: Any) -> Any:
        """Add an exchange and return what was answered."""
        answered = self.ask("add", session_id=f"chat:{session}", messages=said(question, answer, at_ms), **more)
        assert answered.status_code == 200, answered.text
        return answered.json()

    def search(self, query: str, *scope: str, session: str = "s-1", **more: Any) -> list[Any]:
        """Search and return the results."""
        asked = {"conversation_id": session, "query": query, "scope": scope or ["all_user_memory"], **more}
        answered = self.ask("search", **asked)
        assert answered.status_code == 200, answered.text
        results: list[Any] = answered.json()["results"]
        return results


def said(question: str, answer: str, at_ms: int = 1000) -> list[dict[str, Any]]:
    """Return the messages of an exchange."""
    return [
        {"sender_id": "ada", "role": "user", "timestamp": at_ms, "content": question},
        {"sender_id": "desk", "role": "assistant", "timestamp": at_ms + 5, "content": answer},
    ]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    with contextlib.closing(sqlite_world(tmp_path)) as made:
        yield made


@pytest.fixture
def ada(world: FileWorld) -> Iterator[User]:
    with serving(world.runtime, mounts=gateway) as url:
        user = User(world, url, ADA)
        yield user
        user.http.close()


# --- described --------------------------------------------------------------------------------------------------------


def test_the_document_of_the_server_has_every_foreign_route(ada: User) -> None:
    """Each exchange of these tests fits it, too (`check_documented`)."""
    document = httpx2.get(f"{ada.http.base_url}/openapi.json").json()
    assert document == DOCUMENT
    described = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert {(alias.method.lower(), alias.path) for alias in ALIASES} <= described
    assert {("post", path) for path in GATEWAY_PATHS} <= described
    assert {path for _, path in described if not path.startswith("/v1/")} == {
        *GATEWAY_PATHS,
        *(one.path for one in ALIASES),
    }


# --- add --------------------------------------------------------------------------------------------------------------


def test_an_exchange_becomes_one_delivered_turn_of_the_session(ada: User) -> None:
    answered = ada.add("Where is my parcel?", "At the depot in Lyon.")
    assert answered == {
        "status": "accepted", "session_id": "chat:s-1", "turn": "1000-1005", "sequence": 1, "messages": 2,
    }  # fmt: skip
    (turn,) = ada.world.runtime.transcripts.replay(key_of("chat:s-1"), View.RAW_OWNER).turns
    assert (turn.delivery, turn.actor.subject) == ("delivered", ADA)
    assert [(each.role, each.speaker_id, each.observed_ms) for each in turn.messages] == [
        ("user", "ada", 1000), ("assistant", "desk", 1005),
    ]  # fmt: skip


def test_a_repeat_after_a_lost_answer_is_the_same_turn(ada: User) -> None:
    first = ada.add("Where is my parcel?", "At the depot.")
    again = ada.add("Where is my parcel?", "At the depot.")
    assert again == {**first, "status": "duplicated", "reason": "turn_already_committed"}
    other = ada.add("Where is my parcel?", "In the van.")
    assert (other["status"], other["turn"], other["sequence"]) == ("accepted", "1000-1005-2", 2)
    assert ada.add("Where is my parcel?", "In the van.")["status"] == "duplicated"
    assert ada.world.runtime.spaces.usage().turns == 2


def test_of_many_repeats_at_once_one_is_stored(ada: User) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ada.add("Where is my parcel?", "At the depot."), range(16)))
    assert sorted(each["status"] for each in answers) == ["accepted", *["duplicated"] * 15]
    assert ada.world.runtime.spaces.usage().turns == 1


def test_a_repeat_does_not_bring_back_what_was_erased(ada: User) -> None:
    ada.add("Where is my parcel?", "At the depot.")
    ada.world.runtime.lifecycle.request(
        key_of("chat:s-1"), "erase", "asked for", "operator", TurnId("1000-1005")  # type: ignore[arg-type]  # as over a wire
    )  # fmt: skip
    again = ada.add("Where is my parcel?", "At the depot.")
    assert (again["status"], again["reason"]) == ("duplicated", "turn_already_committed_and_erased")
    assert ada.search("parcel") == []


QUESTION, ANSWER = said("q", "a")
WRONG_EXCHANGES: list[Any] = [
    [], [QUESTION], [ANSWER, QUESTION], [QUESTION, QUESTION], [QUESTION, ANSWER, QUESTION], "text", {}, [1, 2],
    [{**QUESTION, "timestamp": 0}, ANSWER], [{**QUESTION, "timestamp": -1}, ANSWER],
    [{**QUESTION, "timestamp": 2000}, ANSWER], [{**QUESTION, "timestamp": "1"}, ANSWER],
    [{**QUESTION, "timestamp": 2**63}, {**ANSWER, "timestamp": 2**63}],
    [{**QUESTION, "timestamp": 2**62}, {**ANSWER, "timestamp": 2**62}],
    [{**QUESTION, "content": " "}, ANSWER], [{**QUESTION, "content": None}, ANSWER],
    [{**QUESTION, "content": [{"type": "text", "content": "x"}]}, ANSWER], [{**QUESTION, "sender_id": ""}, ANSWER],
    [{**QUESTION, "tool_calls": []}, ANSWER], [{**QUESTION, "role": "system"}, ANSWER],
    [QUESTION, {**ANSWER, "role": "tool"}],
]  # fmt: skip


@pytest.mark.parametrize("messages", WRONG_EXCHANGES, ids=range(len(WRONG_EXCHANGES)))
def test_anything_else_is_refused_and_nothing_is_written(ada: User, messages: Any) -> None:
    before = ada.world.runtime.spaces.usage().events
    answered = ada.ask("add", session_id="chat:s-1", messages=messages)
    assert (answered.status_code, answered.json()["code"]) == (400, "request.invalid")
    assert ada.world.runtime.spaces.usage().events == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(exchanges=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.sampled_from("xy")), max_size=8))
def test_however_often_it_is_sent_an_exchange_is_there_once(ada: User, exchanges: list[tuple[str, int, str]]) -> None:
    """The turns of a session are the different exchanges that were added to it, whatever the order and the repeats."""
    session = f"s-{ada.world.runtime.spaces.usage().events}"
    for question, at_ms, answer in exchanges:
        ada.add(question, answer, session, at_ms)
    if exchanges:
        answered = ada.ask("flush", session_id=f"chat:{session}").json()
        assert answered["durable"] == len(set(exchanges))


# --- search -----------------------------------------------------------------------------------------------------------


def test_a_result_says_what_it_is_where_it_is_from_and_no_more(ada: User) -> None:
    ada.add("Where is my parcel?", "At the depot in Lyon.")
    found = ada.search("parcel", "current_chat", "resources", "all_user_memory")
    assert found[0].keys() == {"id", "text", "score", "source_scope", "session_id"}
    assert (found[0]["text"], found[0]["source_scope"]) == ("Where is my parcel?", "current_chat")
    elsewhere = ada.search("parcel", "current_chat", "all_user_memory", session="s-2")
    assert {each["source_scope"] for each in elsewhere} == {"all_user_memory"}
    assert elsewhere[0]["session_id"] == "chat:s-1"


def test_nothing_is_an_empty_list(ada: User) -> None:
    for query in ("parcel", "?", "", "-parcel from:nobody"):
        for scope in ("current_chat", "resources", "all_user_memory"):
            assert ada.search(query, scope) == []


def test_the_chat_is_searched_by_itself_and_a_query_is_words(ada: User) -> None:
    for number in range(30):
        ada.add(f"parcel {number} parcel parcel", "depot", "other", 1000 + number * 10)
    ada.add("One parcel of many", "In the van.", "s-1")
    found = ada.search("parcel -many", "current_chat", top_k=3)
    assert [each["text"] for each in found][:1] == ["One parcel of many"]
    assert {each["session_id"] for each in found} == {"chat:s-1"}
    assert len(ada.search("parcel", top_k=3)) == 3


def test_resources_have_an_address(ada: User) -> None:
    """Of a link in a message, of a reference that models may see, and of an item that rests on such a turn."""
    commit = ada.world.runtime.transcripts.commit
    link = [TextPart(content="The lease of the harbour flat"), UriPart(uri="https://files.example/lease.pdf")]

    def turn(name: str, content: Any, visibility: Visibility | None = None) -> Turn:
        refs = [] if visibility is None else [HostReference(host="crm", type="doc", id="77", visibility=visibility)]
        messages = [Message(role=Role.USER, content=content), Message(role=Role.ASSISTANT, content="Noted.")]
        return Turn(
            turn=TurnId(name), subject=ADA, conversation=ConversationId("talk"), messages=messages, host_refs=refs
        )

    commit(turn("turn-1", link))
    commit(turn("turn-2", "The harbour ferry plan", Visibility.MODEL_CONTEXT))
    commit(turn("turn-3", "The harbour secret plan", Visibility.INTERNAL))
    ada.world.runtime.memory.remember([candidate("The harbour flat costs 900", topic="harbour flat")], "host")
    found = {each["text"]: each.get("resource_uri") for each in ada.search("harbour", "resources")}
    assert found == {
        "The lease of the harbour flat": "https://files.example/lease.pdf",
        "The harbour ferry plan": "crm:doc/77",
        "The harbour flat costs 900": "https://files.example/lease.pdf",
    }
    every = ada.search("harbour", "resources", "all_user_memory")
    scopes = {each["text"]: each["source_scope"] for each in every}
    assert scopes["The harbour secret plan"] == "all_user_memory"
    assert scopes["The harbour ferry plan"] == "resources"


def test_projects_have_their_own_sessions_and_one_memory(ada: User) -> None:
    ada.add("Where is my parcel?", "At the depot.", app_id="shop", project_id="de")
    assert ada.ask("flush", session_id="chat:s-1").status_code == 404
    assert ada.ask("flush", session_id="chat:s-1", app_id="shop", project_id="de").json()["durable"] == 1
    assert ada.search("parcel", "current_chat") == []
    assert ada.search("parcel", "current_chat", app_id="shop", project_id="de")
    assert ada.search("parcel", "all_user_memory")
    channels = {each.channel for each in ada.world.runtime.conversations.list_().conversations}
    assert channels == {Channel("shop/de")}


def test_a_user_sees_nothing_of_another_user_of_the_same_space(ada: User) -> None:
    bob = User(ada.world, str(ada.http.base_url), BOB)
    ada.add("My secret parcel", "At the depot.")
    alone = bob.ask("search", conversation_id="s-1", query="secret parcel", scope=["all_user_memory", "current_chat"])
    bob.add("Nothing of note", "Fine.", "s-9")
    for scope in ("current_chat", "resources", "all_user_memory"):
        assert bob.search("secret parcel", scope) == []
    assert alone.json() == {"results": []}
    with contextlib.closing(bob.http):
        foreign, absent = (bob.ask("flush", session_id=f"chat:{name}") for name in ("s-1", "no-such"))
        assert (foreign.status_code, foreign.content) == (404, absent.content)
        shared = bob.add("Hello from bob", "Hello.", "s-1")
    assert shared["status"] == "accepted"
    assert [each["text"] for each in ada.search("hello bob", "current_chat", "all_user_memory")] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"scope": []}, {"scope": ["everything"]}, {"scope": "current_chat"}, {"scope": None}, {"top_k": 0},
        {"top_k": 101}, {"top_k": "8"}, {"query": None}, {"conversation_id": ""},
        {"conversation_id": "chat:"}, {"app_id": ""}, {"project_id": 7}, {"more": 1}, {"query": "x" * 2_200_000},
    ],
)  # fmt: skip
def test_a_malformed_search_is_refused(ada: User, wrong: dict[str, Any]) -> None:
    asked = {"conversation_id": "s-1", "query": "parcel", "scope": ["all_user_memory"], **wrong}
    answered = ada.ask("search", **asked)
    assert answered.status_code in {400, 413}
    assert answered.json()["code"] in {"request.invalid", "request.limit_exceeded"}


# --- flush ------------------------------------------------------------------------------------------------------------


def test_a_flush_counts_what_is_durable_indexed_and_due(ada: User) -> None:
    ada.add("Where is my parcel?", "At the depot.")
    ada.add("And now?", "In the van.", at_ms=2000)
    assert ada.ask("flush", session_id="chat:s-1").json() == {
        "session_id": "chat:s-1", "durable": 2, "indexed": 2, "meaning": "absent", "due": [],
    }  # fmt: skip
    proposed = candidate("Likes vans", None, topic="vans")
    ada.world.runtime.notebook.propose([proposed], "said so", "host")
    due = ada.ask("flush", session_id="chat:s-1").json()["due"]
    assert due == [{"work": "decision", "proposals": 1}]


# --- credentials ------------------------------------------------------------------------------------------------------


def test_a_wrong_pair_is_refused_without_saying_which_part_was_wrong(ada: User) -> None:
    bob = ada.world.runtime.clients.create(gateway_user=BOB).key
    whole = ada.world.runtime.clients.create("whole", ClientScope(effects=list(Effect), views=list(View))).key
    gone = ada.world.runtime.clients.create("brief", gateway_user=ADA).key
    ada.world.runtime.clients.revoke("brief")
    key = ada.issued.key
    pairs: list[tuple[Any, Any]] = [
        ("bob", key), ("ada", bob), ("ada", whole), ("", whole), ("ada", gone), ("ada", key[:-1] + "?"), ("Ada", key),
        ("nobody", key), ("ada", ""), ("", key), (None, key), ("ada", None), (7, key), ("ada", 7), ("ada\ud800", key),
        ("ada", "\ud800"), (["ada"], key), ("ada", {"key": key}),
    ]  # fmt: skip
    answers = [
        ada.http.post(
            "/memories/flush", content=json.dumps({"user_id": user, "user_key": shown, "session_id": "chat:s-1"}),
            headers={"Content-Type": "application/json"},
        )
        for user, shown in pairs
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].headers["content-type"] == "application/problem+json"


def test_no_header_speaks_for_anybody(ada: User) -> None:
    """AD-08: a key in a header is no user key, and whatever claims a subject or the loopback is ignored."""
    headers = {
        "Authorization": f"Bearer {ada.issued.key}", "X-Loopback": "1", "X-Subject": "ada", "X-Owner": "ada",
        "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1",
    }  # fmt: skip
    answered = ada.http.post("/memories/flush", json={"session_id": "chat:s-1"}, headers=headers)
    assert answered.status_code == 401


def test_a_user_key_opens_what_the_gateway_needs_and_no_more(ada: User) -> None:
    scope = ada.issued.scope
    assert (scope.subject, scope.operations) == (ADA, list(GATEWAY_OPERATIONS))
    known = {each.path: each for each in catalogue()}
    for name in GATEWAY_OPERATIONS:
        assert known[name].effect in scope.effects
    headers = {"Authorization": f"Bearer {ada.issued.key}"}
    for each in ("memory.forget", "transcripts.replay", "subjects.export", "clients.list", "memory.remember"):
        answered = ada.http.post(f"/v1/{each.replace('.', '/')}", json={}, headers=headers)
        assert answered.status_code == 403, each


def test_the_key_is_in_no_answer_and_no_line_of_log(ada: User, caplog: pytest.LogCaptureFixture) -> None:
    """GW-03, on every path that ends in a refusal, with the key in every place of a body."""
    key, session = ada.issued.key, {"session_id": "chat:s-1"}
    whole = ada.credentials | session
    bodies: list[Any] = [
        whole | {"more": 1}, whole | {key: key}, whole | {"session_id": key}, whole | {"session_id": 7},
        whole | {"messages": [key]}, whole | {"messages": said(key, key)[:1]}, whole | {"user_id": key},
        whole | {"user_key": key + "x"}, whole | {"user_key": [key]}, whole | {"app_id": f"\0{key}"}, [key], key,
        whole | {"scope": [key], "query": key, "conversation_id": key}, whole | {"top_k": key},
        whole | {"query": key, "scope": ["current_chat"], "conversation_id": "\0"},
    ]  # fmt: skip
    with caplog.at_level(logging.DEBUG):
        answers = [
            ada.http.post(f"/memories/{path}", json=body) for path in ("search", "add", "flush") for body in bodies
        ]
        broken = json.dumps(whole).encode()
        answers += [
            ada.http.post("/memories/add", content=content, headers={"Content-Type": "application/json"})
            for content in (broken[:-1], broken + b"}", b"\xff" + broken, broken.replace(b"{", b'{"user_key": 1, ', 1))
        ]
        answers += [
            ada.http.post(f"/memories/{key}", json=whole),
            ada.http.get("/memories/add", params={"user_key": key}),
            ada.http.post("/memories/add", json=whole, params={"user_key": key}),
            ada.http.post("/memories/add", json=whole, headers={"Content-Type": key}),
            ada.http.get(f"/agent-tool-registries/{key}"),
        ]
    assert {answer.status_code for answer in answers} <= {400, 401, 404, 405}
    assert not [answer.text for answer in answers if key in answer.text or key in str(answer.headers)]
    lines = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert lines
    assert not [line for line in lines if key in line]
    kept = [path.read_bytes() for path in Path(ada.world.store).rglob("*") if path.is_file()]
    assert kept
    assert not [1 for data in kept if key.encode() in data]


def test_a_user_is_issued_by_name_over_every_transport(ada: User) -> None:
    created = ada.world.runtime.clients.create("phone of ada", gateway_user=ADA)
    assert (created.client, created.scope) == ("phone of ada", ada.issued.scope)
    assert ada.issued.client == "ada"
    runtime = ada.world.runtime
    for wrong in ({"client": "x", "gateway_user": "\0"}, {"gateway_user": "ada"}, {}):
        with pytest.raises(Exception, match=r"client.exists|request.invalid"):
            runtime.clients.create(**wrong)  # type: ignore[arg-type]  # as over a wire
    with pytest.raises(Exception, match="gateway_user"):
        runtime.clients.create("y", ClientScope(views=[View.EXPORT]), gateway_user=ADA)
    assert msgspec.to_builtins(created)["key"].startswith("mun_")
