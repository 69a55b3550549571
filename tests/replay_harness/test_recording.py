"""A recording has the shape of a live space, holds on every store, and has not a word of what was said."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied
from muniment.events.message import Message, Part, Role, TextPart
from muniment.events.turn import Turn
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.kernel.sources import SeededEntropy
from muniment.replay.fixture import Command, DerivationMode, Fixture, HarnessCommand, parse_fixture
from muniment.replay.recording import record
from muniment.replay.replay_report import CheckOutcome, RecordingReport
from muniment.replay.running import FixtureRunning, run_fixture
from muniment.replay.store_under_test import StoreUnderTest
from muniment.replay.synthetic import Synthetic
from muniment.space.options import StoreKind
from tests.replay_harness.histories import HISTORIES, TALK, commit, erase, history
from tests.turns import parts, rich_turn
from tests.worlds import World, memory_world

# histories whose events can all be asked for again, and so give as many events again
WHOLE = [
    "alias-and-conflict", "attributes", "erase-a-message", "erase-a-turn", "erase-then-rebuild", "export-and-verify",
    "mask-what-is-archived", "provenance", "redact-a-field", "redact-a-range", "redact-for-everybody",
    "rotate-the-key", "transitions-of-a-conversation", "views",
]  # fmt: skip


def recorded(fixture: Fixture) -> tuple[Fixture, RecordingReport, int]:
    """Play a history and record the space that it leaves; return the recording, and how many events the space has."""
    with tempfile.TemporaryDirectory() as directory:
        stage = StoreUnderTest(Path(directory), fixture.header, StoreKind.MEMORY)
        running = FixtureRunning(stage, DerivationMode.INCREMENTAL, {}, None)
        running.begin()
        for line, command in enumerate(fixture.commands, start=2):
            running.step(line, command)
        session = replace(stage.session(), access=Access(), profile=None)
        with session.space.ledger.reader() as reader:
            size = reader.frontier().size
        data, told = record(session, "it", "seed")
        running.end()
    return parse_fixture(data), told, size


def of_world(world: World) -> tuple[bytes, RecordingReport]:
    """Record the space of a world."""
    return record(world.runtime._session, "it", "seed")


@pytest.mark.parametrize("name", WHOLE)
def test_a_recording_has_as_many_events_and_holds_on_every_store(name: str) -> None:
    fixture, told, size = recorded(parse_fixture((HISTORIES / f"{name}.jsonl").read_bytes()))
    assert (told.left_out, told.errors) == ({}, {})
    for store in StoreKind:
        ran = run_fixture(fixture, store, DerivationMode.REBUILT)
        assert ran.passed
        assert ran.measured[-1].size == size == told.events


def test_what_cannot_be_asked_for_again_is_left_out_and_counted() -> None:
    _, told, _ = recorded(parse_fixture((HISTORIES / "policies.jsonl").read_bytes()))
    assert told.left_out == {"access.denied": 5}
    _, told, _ = recorded(parse_fixture((HISTORIES / "import-fences.jsonl").read_bytes()))
    assert told.left_out == {"archive.exported": 1, "archive.imported": 2}
    _, told, _ = recorded(parse_fixture((HISTORIES / "retention.jsonl").read_bytes()))
    assert told.left_out == {"erasure.refused": 1}
    _, told, _ = recorded(parse_fixture((HISTORIES / "backup-and-restore.jsonl").read_bytes()))
    assert told.left_out == {"content.exported": 1, "signer.announced": 1, "space.restored": 1}


def test_holds_and_releases_are_recorded_by_name() -> None:
    fixture, told, _ = recorded(parse_fixture((HISTORIES / "holds.jsonl").read_bytes()))
    assert not told.errors
    held = [command.kept_as for command in fixture.commands if command.do == "lifecycle.hold"]
    freed = [command.given["hold"]["$from"] for command in fixture.commands if command.do == "lifecycle.release"]
    assert sorted(f"{name}.position" for name in held) == sorted(freed)


def test_all_that_may_be_said_of_a_turn_is_said_again() -> None:
    """Holds of a turn, a subject and the space, policies of a channel, redactions of what is gone."""
    asked = {"reason": "so", "requester": "ada"}
    message = {"turn": "turn-1", "scope": "message", "message": "turn-1#0"}
    attribute = {
        "id": "a", "target": message, "key": "host.desk.note", "kind": "number", "value": 12.5, "schema": "note/1",
        "source": {"writer": "host", "kind": "host_reported", "reason": "counted"},
        "links": [{"relation": "of", "kind": "case", "id": "7"}],
    }  # fmt: skip
    derivation = {
        "plane": "long_term", "key": "k", "subject": "ada", "conversation": {"conversation": "talk"}, "turn": "turn-1",
        "message": "turn-1#0", "authority": "user_asserted",
    }  # fmt: skip
    passage = {"turn": "turn-2", "message": 0, "part": 0, "start": 1, "end": 3}
    hidden = {"passage": passage, "views": ["export"], "reason": "legal", "requester": "ada"}
    whole = {"keep_at_least_ms": 5}
    lines = [
        commit(1), commit(2),
        {"do": "transcripts.annotate", "with": {"conversation": TALK, "attributes": [attribute]}},
        {"do": "provenance.record", "with": {"derivations": [derivation]}},
        {"do": "transcripts.redact", "with": {"conversation": TALK, **hidden}},
        {"do": "disclosure.reveal", "with": {"conversation": TALK, "turn": "turn-1", "message": 1, **asked}},
        erase(2),
        *({"do": "lifecycle.hold", "with": {"scope": scope, **asked}}
          for scope in ({"conversation": "talk", "turn": "turn-1"}, {"subject": "ada"}, {"whole_space": "default"})),
        *({"do": "lifecycle.retain", "with": {**scope, **whole, **asked}}
          for scope in ({}, {"channel": "mail"}, {"channel": "mail", "conversation": "not yet"})),
    ]  # fmt: skip
    fixture, told, size = recorded(history(*lines))
    assert (told.left_out, told.errors, told.events) == ({}, {}, size)
    assert run_fixture(fixture, StoreKind.SQLITE).measured[-1].size == size


def test_a_long_history_is_measured_on_the_way() -> None:
    fixture, _, _ = recorded(history(*(commit(number) for number in range(1, 121))))
    assert [command.do for command in fixture.commands].count(HarnessCommand.EXPECT) == 2


def test_words_that_are_gone_are_stood_in_for() -> None:
    fixture, _, _ = recorded(history(commit(1, "x" * 300), erase(1)))
    assert len(_messages(fixture.commands[0])[0]["content"][0]["content"]) == 16


def test_a_recording_takes_every_right() -> None:
    world = memory_world().with_turns(1)
    session = world.runtime._session
    for access in (Access(effects=frozenset({Effect.READ})), Access(views=frozenset(View) - {View.RAW_OWNER})):
        with pytest.raises(AccessDenied):
            record(replace(session, access=access), "it", "seed")
    world.close()


# --- the law ----------------------------------------------------------------------------------------------------------


def test_nothing_of_a_full_turn_is_in_a_recording() -> None:
    """Every word of five letters and every name of the fullest turn there is."""
    turn = rich_turn()
    world = memory_world().with_turn(turn)
    data, told = of_world(world)
    world.close()
    words, found = _words_of(msgspec.json.encode(turn).decode()), _words_of(data.decode())
    assert len(words - OURS) > 5
    assert words & found <= OURS
    assert not told.errors


def _words_of(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{5,}", text))


SCHEMAS = HISTORIES.parents[1] / "schemas" / "operations"

# names of members, members of enumerations, and the kinds of pseudonyms
OURS = {
    word
    for name in re.findall(r'"([a-z_]+)"', "".join(path.read_text() for path in SCHEMAS.glob("*.json")))
    for word in name.split("_")
} | {"candidate", "https", "example"}

letters = st.text(st.characters(categories=["Lu", "Lo"]), min_size=8, max_size=20)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(letters, min_size=2, max_size=4), st.lists(parts, max_size=3))
def test_lengths_are_kept_and_letters_are_not(said: list[str], more: list[Part]) -> None:
    """Eight letters in a row are never the same eight, and always eight; small ones may be words of ours."""
    content: list[Part] = [*(TextPart(content=each) for each in said), *more]
    turn = Turn(turn="t", subject=said[0], conversation=said[1], messages=[Message(role=Role.USER, content=content)])
    world = memory_world().with_turn(turn)
    data, _ = of_world(world)
    world.close()
    told = _messages(parse_fixture(data).commands[0])[0]["content"]
    assert [len(each["content"]) for each in told[: len(said)]] == [len(each) for each in said]
    assert [each["type"] for each in told] == [json.loads(msgspec.json.encode(each))["type"] for each in content]
    assert not [each for each in said if each in data.decode()]


@given(st.text(max_size=40))
def test_a_text_keeps_its_shape(text: str) -> None:
    """As long, blank where it was blank, and as many bytes in UTF-8 but for blanks that are spelt as one byte."""
    found = Synthetic(SeededEntropy(b"x")).text(text)
    assert len(found) == len(text)
    assert [char.isspace() for char in found] == [char.isspace() for char in text]
    sizes = [(len(one.encode()), len(other.encode())) for one, other in zip(text, found, strict=True)]
    assert all(one == other for (one, other), char in zip(sizes, text, strict=True) if not char.isspace())


def test_the_same_name_is_the_same_pseudonym_and_another_is_another() -> None:
    words = Synthetic(SeededEntropy(b"x"))
    assert [words.name("subject", name) for name in ("ada", "bob", "ada")] == ["subject-1", "subject-2", "subject-1"]
    assert words.name("tool", "ada") == "tool-1"
    assert words.maybe("tool", None) is None


@given(st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none())
def test_a_value_keeps_its_sort(value: Any) -> None:
    found = Synthetic(SeededEntropy(b"x")).value(value)
    assert type(found) is type(value)
    if value is not None and not isinstance(value, bool):
        assert (found < 0) == (value < 0)


def _messages(command: Command) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = command.given["turn"]["messages"]
    return messages


def test_a_recording_checks_all_that_it_measures() -> None:
    fixture, _, _ = recorded(history(commit(1), commit(2)))
    ran = run_fixture(fixture, StoreKind.MEMORY)
    assert {check.what for check in ran.checks if check.verdict is CheckOutcome.UNCHECKED} == {"report"}
