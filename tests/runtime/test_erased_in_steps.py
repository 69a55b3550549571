"""A large erasure goes in steps: others write between them, and what interrupts it is completed by the next opening."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from muniment.events.changes import Action, Transition
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.turn import Attribution
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger, Writer
from muniment.memory.candidate import ItemSource
from muniment.operations.lifecycle import erasure
from muniment.operations.lifecycle.scope import Scope
from muniment.space.space import Space
from tests.memory.asking import remember
from tests.turns import TALK, plain_turn
from tests.worlds import OPERATOR, FileWorld, key_of, sqlite_world

ADA, BOB = SubjectId("ada"), SubjectId("bob")
TALKS = ("talk", "second", "third")
EACH = 6  # turns of a conversation; every other one is Ada's
OF_ADA = Scope(subject=ADA)


class Crashed(Exception):
    """The process ended here."""


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "STEP_TURNS", 2)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    """Return a store in which Ada and Bob take turns in three conversations."""
    made = sqlite_world(tmp_path)
    for talk in TALKS:
        for number in range(EACH):
            commit(made, talk, number)
    yield made
    made.close()


def commit(world: FileWorld, talk: str, number: int) -> None:
    turn = plain_turn(number, talk)
    world.runtime.transcripts.commit(replace(turn, subject=BOB if number % 2 else ADA))


def space_of(world: FileWorld) -> Space:
    return world.runtime._session.space


def phases(world: FileWorld, talk: str) -> list[str]:
    """Return the phase of each turn as the owner sees it."""
    return [turn.phase for turn in world.runtime.transcripts.replay(key_of(talk), View.RAW_OWNER).turns]


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> list[int]:
    """Let something happen behind each transaction that erases; return their numbers, which grow."""
    transact, steps = Ledger.transact, list[int]()

    def watched(self: Ledger, plan: Callable[[Writer], Any]) -> Any:
        with self.reader() as reader:
            before = reader.frontier().size
        outcome = transact(self, plan)
        with self.reader() as reader:
            rows = reader.sealed_events(before, reader.frontier().size - 1)
            is_step = any(self.header(row)[0].reason == Transition.ERASE for row in rows)
        if is_step:
            steps.append(len(steps))
            act(steps[-1])
        return outcome

    monkeypatch.setattr(Ledger, "transact", watched)
    return steps


def stop_behind(monkeypatch: pytest.MonkeyPatch, step: int) -> list[int]:
    """Interrupt an erasure behind one of its steps."""

    def stopping(number: int) -> None:
        if number == step:
            raise Crashed

    return between(monkeypatch, stopping)


def test_all_steps_are_one_erasure_with_one_receipt(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every turn of the subject goes, nothing else does, and the receipt counts all of them."""
    steps = between(monkeypatch, lambda _: None)
    report = world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    assert len(steps) == 5  # nine turns, two at a time
    assert report.receipt is not None
    assert (report.receipt.turns_erased, len(report.receipt.positions)) == (9, 9)
    assert report.receipt.positions == sorted(report.receipt.positions)
    for talk in TALKS:
        assert phases(world, talk) == ["erased", "active"] * (EACH // 2)
    with space_of(world).ledger.reader() as reader:
        assert not any(space_of(world).ledger.segments.owed.of(reader))
    assert world.runtime.evidence.inspect().findings == []


def test_what_is_committed_between_two_steps_is_erased_too(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write between the steps; the last step takes what they wrote of the subject."""

    def said(number: int) -> None:
        for talk in (*TALKS, "fourth"):
            commit(world, talk, EACH + number)

    between(monkeypatch, said)
    world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    for talk in TALKS:
        told = phases(world, talk)
        assert told[: EACH + 4 : 2] == ["erased"] * ((EACH + 4) // 2)
        assert told[EACH + 4 :] == ["active"]  # behind the last step
        assert told[1:EACH:2] == ["active"] * (EACH // 2)
    assert world.runtime.evidence.inspect().findings == []


def test_a_hold_between_two_steps_keeps_what_is_not_erased_yet(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is judged when it is taken; what was kept is on record once."""

    def hold(number: int) -> None:
        if number == 1:
            world.runtime.lifecycle.hold(Scope(conversation=ConversationId("third")), "a dispute", OPERATOR)

    between(monkeypatch, hold)
    report = world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    assert report.receipt is not None
    assert report.receipt.turns_erased == 6
    assert phases(world, "third") == ["active"] * EACH
    refused = world.runtime.lifecycle.review(Action.ERASE, OF_ADA).refused
    assert [each.kept_turns for each in refused] == [3]


def test_what_all_steps_have_kept_is_on_record_once(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what was committed under the hold while the steps ran."""
    world.runtime.lifecycle.hold(Scope(conversation=ConversationId("third")), "a dispute", OPERATOR)
    between(monkeypatch, lambda number: commit(world, "third", EACH + 2 * number))
    world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    monkeypatch.undo()
    refused = world.runtime.lifecycle.review(Action.ERASE, OF_ADA).refused
    assert [each.kept_turns for each in refused] == [3 + phases(world, "third").count("active") - EACH]


@pytest.mark.parametrize("step", range(4))
def test_what_is_interrupted_between_two_steps_is_completed_by_the_next_opening(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """What was to be erased is gone; what the subject said after the crash is not part of the request."""
    with monkeypatch.context() as patch:
        stop_behind(patch, step)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    assert [phase for talk in TALKS for phase in phases(world, talk)].count("erased") == 2 * (step + 1)
    commit(world, "talk", EACH)
    world.crashed().reopened()
    assert phases(world, "talk") == [*["erased", "active"] * (EACH // 2), "active"]
    for talk in TALKS[1:]:
        assert phases(world, talk) == ["erased", "active"] * (EACH // 2)
    space = space_of(world)
    with space.ledger.reader() as reader:
        assert not any(space.ledger.segments.owed.of(reader))
    assert len(space.keys.versions) == 1
    assert not space.is_rotation_due
    assert world.runtime.evidence.inspect().findings == []


def test_a_conversation_is_completed_too(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a subject the first event says by its stream which conversation was meant."""
    with monkeypatch.context() as patch:
        stop_behind(patch, 0)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(Scope(conversation=TALK), "asked for", OPERATOR)
    commit(world, "talk", EACH)
    world.crashed().reopened()
    assert phases(world, "talk") == [*["erased"] * EACH, "active"]
    assert phases(world, "second") == ["active"] * EACH


def test_a_hold_after_the_crash_keeps_what_is_left(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The opening judges again: a hold beats an erasure that was begun."""
    with monkeypatch.context() as patch:
        stop_behind(patch, 0)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    world.runtime.lifecycle.hold(OF_ADA, "a dispute", OPERATOR)
    world.crashed().reopened()
    assert [phase for talk in TALKS for phase in phases(world, talk)].count("erased") == 2
    assert not space_of(world).is_rotation_due


def test_asking_again_completes_it_without_an_opening(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeat erases what is left; the opening after it finds nothing to do."""
    with monkeypatch.context() as patch:
        stop_behind(patch, 1)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    report = world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    assert report.receipt is not None
    assert report.receipt.turns_erased == 5
    before = [phases(world, talk) for talk in TALKS]
    world.crashed().reopened()
    assert [phases(world, talk) for talk in TALKS] == before
    assert not space_of(world).is_rotation_due


def test_retention_that_is_interrupted_is_not_taken_up_by_itself(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs by itself: an opening replaces the keys, and leaves the rest to whoever applies the policies."""
    world.runtime.lifecycle.retain("house rules", OPERATOR, erase_after_ms=1)
    with monkeypatch.context() as patch:
        stop_behind(patch, 0)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.apply_retention(OPERATOR)
    world.crashed().reopened()
    assert [phase for talk in TALKS for phase in phases(world, talk)].count("erased") == 2
    assert not space_of(world).is_rotation_due


def test_who_puts_the_former_note_back_does_not_hide_an_erasure(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key: the value from before the erasure is authentic, and not what the log is sealed with."""
    read = "SELECT value FROM meta WHERE name = 'erasing'"
    with world.edited() as raw:
        (before,) = raw.execute(read).fetchone()
    with monkeypatch.context() as patch:
        stop_behind(patch, 0)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    world.crashed()
    with world.edited() as raw:
        raw.execute("UPDATE meta SET value = ? WHERE name = 'erasing'", (before,))
    assert not world.runtime.system.health().sound


# --- with what was remembered -----------------------------------------------------------------------------------------

CLERK = SubjectId("clerk")  # acts in every turn of the second conversation, and remembers things of it


def with_items(world: FileWorld) -> FileWorld:
    """Let the clerk remember something of the first turn, of the last one of Ada, of two, of one of Bob and of none."""
    for number in range(4):
        turn = plain_turn(number, "office")
        subject = BOB if number == 1 else ADA
        world.runtime.transcripts.commit(replace(turn, subject=subject, actor=Attribution(acting_subject=CLERK)))
    rests = {"first": [0], "last": [3], "both": [0, 3], "mixed": [0, 1], "bob": [1], "none": []}
    for name, numbers in rests.items():
        sources = [ItemSource(conversation=key_of("office"), turn=TurnId(f"turn-{number}")) for number in numbers]
        remember(
            world, f"said {name}", None, subject=CLERK, topic=name, id=name, evidence=sources, attested=not sources
        )
    return world


def known(world: FileWorld) -> dict[str, str]:
    """Return the items of the clerk, and how far a reader may rely on them."""
    return {item.id: item.state.value for item in world.runtime.memory.list_(CLERK, View.RAW_OWNER).items}


@pytest.mark.parametrize("scope", [OF_ADA, Scope(conversation=ConversationId("office"))], ids=["subject", "talk"])
@pytest.mark.parametrize("step", range(6))
def test_what_was_remembered_goes_along_wherever_the_erasure_was_interrupted(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch, step: int, scope: Scope
) -> None:
    """The next opening leaves the same turns, items and keys as a request that nothing interrupts."""
    with_items(world)
    with monkeypatch.context() as patch:
        steps = stop_behind(patch, step)
        with contextlib.suppress(Crashed):
            world.runtime.lifecycle.erase(scope, "asked for", OPERATOR, with_memory=True)
        assert steps
    world.crashed().reopened()
    left = {"mixed", "bob", "none"} if scope == OF_ADA else {"none"}
    assert set(known(world)) == left
    space = space_of(world)
    with space.ledger.reader() as reader:
        assert not any(space.ledger.segments.owed.of(reader))
    assert not space.is_rotation_due
    assert world.runtime.evidence.inspect().findings == []
    again = world.runtime.lifecycle.erase(scope, "asked for", OPERATOR, with_memory=True)
    assert (again.changed, again.memory_items) == (False, [])
    told = world.runtime.lifecycle.receipts(key_of("office")).entries
    assert told
    assert all(entry.with_memory for entry in told)


def test_what_was_not_to_go_along_stays_after_an_interruption(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `with_memory` the opening completes the turns alone."""
    with_items(world)
    with monkeypatch.context() as patch:
        stop_behind(patch, 0)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR)
    world.crashed().reopened()
    gone = dict.fromkeys(("first", "last", "both", "mixed"), "needs_review")
    assert known(world) == gone | dict.fromkeys(("bob", "none"), "stable_fact")
    assert not any(entry.with_memory for entry in world.runtime.lifecycle.receipts(key_of("office")).entries)


def test_a_hold_after_the_crash_keeps_items_too(world: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The items of somebody who is under a hold stay, whoever asked for the turns that they rest on."""
    with_items(world)
    with monkeypatch.context() as patch:
        stop_behind(patch, 0)
        with pytest.raises(Crashed):
            world.runtime.lifecycle.erase(OF_ADA, "asked for", OPERATOR, with_memory=True)
    world.runtime.lifecycle.hold(Scope(subject=CLERK), "a dispute", OPERATOR)
    world.crashed().reopened()
    assert set(known(world)) == {"first", "last", "both", "mixed", "bob", "none"}
    assert phases(world, "talk") == ["erased", "active"] * (EACH // 2)
