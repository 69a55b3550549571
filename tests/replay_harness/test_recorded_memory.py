"""Memory in a recording: whatever was done to it, the recording does it again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.replay_harness.histories import TALK, Line, commit, history
from tests.replay_harness.recordings import recorded

ASKED = {"reason": "asked for", "requester": "ada"}
TURNS, SOMETIMES = (1, 2, 3), st.sampled_from([None, "night-1", "night-2"])
texts = st.sampled_from(["Lives in Oslo", "Lives in Rome", "Walks to work, mostly", "a"])
topics, names = st.sampled_from(["home city", "Home_City", "commute"]), st.sampled_from(["lift", "door"])
turns = st.sampled_from(TURNS)


def does(do: str, **given: Any) -> Line:
    """Return a command without what is None."""
    return {"do": do, "with": {name: value for name, value in given.items() if value is not None}}


def evidence(turn: int | None) -> list[dict[str, Any]]:
    return [] if turn is None else [{"conversation": TALK, "turn": f"turn-{turn}"}]


def remembered(item: int, topic: str, text: str, turn: int | None, run: str | None, **more: Any) -> Line:
    """Return the command that remembers something."""
    candidate = {
        "id": f"i-{item}",
        "subject": "ada",
        "kind": "profile",
        "topic": topic,
        "text": text,
        "evidence": evidence(turn),
        "attested": turn is None,
        "judgement": {"decision": "accept"},
    }
    return does("memory.remember", candidates=[candidate | more], requester="host", run=run)


def amended(item: int, amendment: dict[str, Any], run: str | None) -> Line:
    return does("memory.amend", item=f"i-{item}", amendment=amendment, run=run, **ASKED)


def skill(name: str, item: int, turn: int) -> Line:
    said = {"kind": "procedure", "plane": "runtime_skill", "name": f"runtime_skill__{name}"}
    return remembered(item, "moving", f"Go to the {name}. Press it twice. Wait.", turn, None, **said)


def observed(turn: int, outcome: str, times: int) -> Line:
    seen = {"tool": "search", "outcome": outcome, "summary": "found by number"}
    told = {"registry": {"registry": "desk", "fingerprint": "f1"}, "observations": [seen] * times}
    return does("tools.feedback", subject="ada", feedback={**told, "evidence": evidence(turn)}, requester="host")


def registered(owner: str, scope: str, note: str | None) -> Line:
    tools = [{"tool": "search", "schema_fingerprint": "s1", "permissions": ["read"]}]
    snapshot = {"registry": "desk", "namespace": "shop", "owner": owner, "scope": scope, "fingerprint": "f1"}
    more = {"tools": tools} | ({} if note is None else {"note": note})
    return does("tools.register", snapshot=snapshot | more, requester="host")


items = st.integers(1, 4)
amendments = st.one_of(
    st.builds(lambda text: {"type": "correct", "text": text}, texts),
    st.builds(lambda text, to: {"type": "supersede", "text": text, "id": f"i-{to}"}, texts, items),
    st.builds(lambda turn: {"type": "invalidate", "ground": "integrity_violation", "evidence": evidence(turn)}, turns),
    st.sampled_from([{"type": "refresh"}, {"type": "restore"}, {"type": "pin"}, {"type": "mark_stale"}]),
    st.sampled_from([{"type": "change_scope", "scope": "chat"}, {"type": "pin", "pinned": False}]),
    st.just({"type": "change_privacy", "privacy": "operator_diagnostic"}),
)
steps = st.one_of(
    st.builds(remembered, items, topics, texts, st.none() | turns, SOMETIMES),
    st.builds(amended, items, amendments, SOMETIMES),
    st.builds(lambda item: does("memory.forget", subject="ada", target={"item": f"i-{item}"}, **ASKED), items),
    st.builds(
        lambda topic: does("memory.forget", subject="ada", target={"topic": topic, "kind": "profile"}, **ASKED), topics
    ),
    st.builds(lambda run: does("notebook.undo", run=run, **ASKED), st.sampled_from(["night-1", "night-2"])),
    st.builds(
        lambda action, topic: does(
            "notebook.set_policy", action=action, selector={"subject": "ada", "topic": topic}, **ASKED
        ),
        st.sampled_from(["pause", "resume", "suppress", "lift"]),
        topics,
    ),
    st.builds(skill, names, items, turns),
    st.builds(
        lambda verb, name: does(f"skills.{verb}", subject="ada", name=f"runtime_skill__{name}", **ASKED),
        st.sampled_from(["disable", "enable", "retire", "restore"]),
        names,
    ),
    st.builds(registered, st.sampled_from(["ada", "host"]), st.sampled_from(["owner", "global"]), st.none() | texts),
    st.just(does("tools.remove", registry="desk", **ASKED)),
    st.builds(observed, turns, st.sampled_from(["succeeded", "failed"]), st.integers(1, 2)),
    st.builds(
        lambda turn, along: does(
            "lifecycle.erase", scope={"conversation": "talk", "turn": f"turn-{turn}"}, with_memory=along, **ASKED
        ),
        turns,
        st.booleans(),
    ),
    st.builds(
        lambda what, turn: does("lifecycle.request", conversation=TALK, transition=what, turn=f"turn-{turn}", **ASKED),
        st.sampled_from(["mask", "unmask"]),
        turns,
    ),
    st.just(does("lifecycle.erase", scope={"subject": "ada"}, **ASKED)),
)


def policy(action: str, **selector: Any) -> Line:
    return does("notebook.set_policy", action=action, selector=selector, **ASKED)


WITHIN = "night-1"
# what was asked for -> the commands, behind three turns
EXAMPLES: dict[str, list[Line]] = {
    "what was undone is remembered again": [
        remembered(1, "home city", "Lives in Oslo", 1, None),
        remembered(2, "home city", "Lives in Rome", 2, WITHIN),
        does("notebook.undo", run=WITHIN, **ASKED),
        remembered(2, "home city", "Lives in Rome", 2, None),
    ],
    "what was said in a run is unsaid": [
        remembered(1, "home city", "Lives in Oslo", 1, None),
        amended(1, {"type": "correct", "text": "Lives in Rome"}, WITHIN),
        amended(1, {"type": "supersede", "text": "Walks", "id": "i-2"}, WITHIN),
        does("notebook.undo", run=WITHIN, **ASKED),
    ],
    "somebody put another statement in place": [
        remembered(1, "home city", "Lives in Oslo", 1, None),
        amended(1, {"type": "supersede", "text": "Lives in Rome", "id": "i-2", "confidence": 0.2}, None),
    ],
    "a run that decided nothing and one that refused": [
        remembered(1, "home city", "Lives in Oslo", 1, WITHIN, judgement={"decision": "refuse"}),
        remembered(1, "home city", "Lives in Oslo", 1, "night-2", judgement={"decision": "defer"}),
    ],
    "a skill in other words": [
        skill("lift", 1, 1),
        does("skills.edit", subject="ada", name="runtime_skill__lift", edit={"topic": "lifts", "title": "Up"}, **ASKED),
        does("skills.edit", subject="ada", name="runtime_skill__lift", edit={"procedure": "Go.\nPress it."}, **ASKED),
        does("skills.edit", subject="ada", name="runtime_skill__lift", edit={"procedure": "x" * 9 + ".\n" + "y" * 20},
             **ASKED),
    ],
    "policies of everything, of a topic, a conversation and a pattern": [
        remembered(1, "home city", "Lives in Oslo", 1, None),
        *(policy(action, everything=True) for action in ("pause", "resume")),
        *(policy(action, topic=topic) for topic in ("home city", "other") for action in ("suppress", "lift")),
        *(policy(action, conversation="talk", kind="task") for action in ("pause", "resume")),
        *(policy(action, subject="ada", topic="walk*") for action in ("suppress", "lift")),
        policy("follow", subject="ada"),
        policy("keep", subject="ada"),
    ],
    "whom a fact is known to": [
        remembered(1, "home city", "Lives in Oslo", 1, None, plane="shared_fact", audience={"only": ["ada", "bob"]}),
        amended(1, {"type": "change_audience", "audience": {"hidden_from": ["eve"]}}, None),
    ],
    "words that are gone before anybody records": [
        remembered(1, "home city", "Lives in Oslo", 1, None),
        remembered(2, "home city", "Lives in Rome", 2, None),
        does("memory.forget", subject="ada", target={"topic": "home city", "kind": "profile"}, **ASKED),
        remembered(3, "home city", "Lives in Turin", 3, None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", EXAMPLES)
def test_what_was_asked_for_is_asked_for_again(what: str) -> None:
    fixture, told, shape = recorded(history(*map(commit, TURNS), *EXAMPLES[what]))
    assert (told.errors, told.left_out, recorded(fixture)[2]) == ({}, {}, shape)


def test_what_an_archive_replaced_is_left_out_and_counted() -> None:
    """What came in is restated like anything else, and what had to go for it stays: nobody asked for that."""
    part = {"file": {"$file": "x"}, "scope": {"kind": "subject", "subject": "ada"}, "private": "include"}
    lines = [
        remembered(1, "home city", "Lives in Oslo", 1, None),
        registered("ada", "owner", "hers"),
        does("archives.export", **part),
        does("archives.import", **part, mode="restore"),
    ]
    _, told, _ = recorded(history(commit(1), *lines))
    assert (told.left_out["item.retired"], told.left_out["tools.removed"]) == (1, 1)


def test_what_an_erasure_registers_again_is_not_asked_for_again() -> None:
    """Somebody else has the registry by now: the erasure of its former owner does that by itself."""
    erased = does("lifecycle.erase", scope={"subject": "ada"}, **ASKED)
    lines = [registered("ada", "owner", "hers"), registered("host", "global", "ours"), erased]
    fixture, told, shape = recorded(history(commit(1), *lines))
    assert [kind for kind, _ in shape.events].count("tools.registered") == 3
    assert (told.errors, told.left_out, recorded(fixture)[2]) == ({}, {}, shape)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, max_size=10))
def test_a_recording_of_memory_has_its_shape(lines: list[Line]) -> None:
    """The same events in the same order, and all items as they are, but for words and names; nothing of these."""
    fixture, told, shape = recorded(history(*map(commit, TURNS), *lines))
    assert (told.errors, told.left_out) == ({}, {})
    written = msgspec.json.encode(fixture.commands)
    assert not [word for word in (b"Lives", b"mostly", b"found by", b"night-1", b"desk", b"lift") if word in written]
    assert recorded(fixture)[2] == shape
