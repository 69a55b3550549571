"""Erasures that a hold or a legal minimum kept from happening are on record, without what was said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec import to_builtins

from muniment.events.changes import Action, Transition
from muniment.events.identity import TurnId
from muniment.events.records import EventKind
from muniment.governance.access import Access, Effect
from muniment.operations.lifecycle.report import RefusedErasure
from muniment.operations.lifecycle.scope import Scope
from tests.runtime.custody import (
    EVERYTHING,
    START_MS,
    TALKING,
    Hands,
    by_hand,
    erase,
    hold,
    message,
    of,
    said,
    talk,
    turn,
)
from tests.turns import TALK
from tests.worlds import OPERATOR, World, key_of


@pytest.fixture
def timed() -> Iterator[tuple[World, Hands]]:
    """Yield a world in memory with three turns and its clock."""
    world, hands = by_hand()
    yield world.with_turns(3), hands
    world.close()


@pytest.fixture
def world(timed: tuple[World, Hands]) -> World:
    return timed[0]


def events(world: World) -> int:
    return world.runtime.spaces.usage().events


def on_record(world: World) -> list[RefusedErasure]:
    return world.runtime.lifecycle.receipts(key_of()).refused


def test_an_erasure_that_a_hold_refuses_is_on_record(world: World) -> None:
    """Receipts have it with its proof, a later look mentions it, and the disclosures list it; never what was said."""
    held = hold(world, turn(2)).position
    before = events(world)
    assert not erase(world, turn(2)).changed
    assert events(world) == before + 1
    (entry,) = on_record(world)
    assert (entry.requester, entry.reason, entry.kept_turns, entry.kept_by) == (OPERATOR, "asked for", 1, [held])
    assert (entry.conversation, entry.first, entry.last, entry.message) == (key_of(), 2, 2, None)
    assert entry.proof is not None
    for scope in (turn(2), TALKING, EVERYTHING):
        seen = world.runtime.lifecycle.review(Action.ERASE, scope).refused
        assert [each.position for each in seen] == [entry.position]
    for scope in (turn(1), of("ada")):
        assert world.runtime.lifecycle.review(Action.ERASE, scope).refused == []
    (told,) = world.runtime.evidence.disclosures().disclosures
    assert (told.kind, told.position, told.requester) == (EventKind.ERASURE_REFUSED, entry.position, OPERATOR)
    assert (told.conversation, told.first, told.last, told.kept_by) == (key_of(), 2, 2, [held])
    assert "question" not in str(to_builtins([entry, told]))


def test_what_is_kept_of_an_erasure_is_on_record_and_what_goes_has_its_receipt(world: World) -> None:
    hold(world, turn(2))
    report = world.request(Transition.ERASE)
    assert (report.affected_turns, report.kept_turns) == (2, 1)
    (entry,) = on_record(world)
    assert (entry.first, entry.last, entry.kept_turns) == (2, 2, 1)
    assert entry.position not in (report.receipt.positions if report.receipt else [])


def test_a_repeat_for_the_same_reasons_is_the_same_request(world: World) -> None:
    """Another person, reason, scope or hold is another one."""
    hold(world, TALKING)
    erase(world, TALKING)
    before = events(world)
    erase(world, TALKING)
    assert events(world) == before
    world.runtime.lifecycle.erase(TALKING, "asked for", "somebody else")
    world.runtime.lifecycle.erase(TALKING, "another reason", OPERATOR)
    erase(world, message(1, 0))
    assert [entry.message for entry in on_record(world)] == [None, None, None, 0]
    hold(world, TALKING, "an audit")
    erase(world, TALKING)
    assert len(on_record(world)) == 5


def test_a_legal_minimum_refuses_on_record_too(timed: tuple[World, Hands]) -> None:
    world, hands = timed
    policy = world.runtime.lifecycle.retain("the law", OPERATOR, keep_at_least_ms=1000).position
    hands.ms = START_MS + 1
    erase(world, turn(1))
    (entry,) = on_record(world)
    assert (entry.kept_by, entry.requested_ms) == ([policy], START_MS + 1)


def test_a_refused_erasure_of_a_subject_or_the_space_is_on_record(world: World) -> None:
    """Once for each conversation that kept something, or once for the space."""
    world.with_turn(said(1, "bob", "other"))
    hold(world, of("ada"))
    erase(world, of("ada"))
    assert [(entry.subject, entry.kept_turns) for entry in on_record(world)] == [("ada", 3)]
    assert world.runtime.lifecycle.receipts(key_of("other")).refused == []
    assert not erase(world, EVERYTHING).changed
    assert not erase(world, EVERYTHING).changed
    for key in (key_of(), key_of("other")):
        entry = world.runtime.lifecycle.receipts(key).refused[-1]
        assert (entry.conversation, entry.first, entry.subject) == (None, None, None)
    reviewed = world.runtime.lifecycle.review(Action.ERASE, of("ada")).refused
    assert [entry.subject for entry in reviewed] == ["ada"]
    assert len(world.runtime.lifecycle.review(Action.ERASE, EVERYTHING).refused) == 2
    assert len(world.runtime.lifecycle.review(Action.MASK, talk("other")).refused) == 1


def test_who_may_read_refused_attempts_may_read_refused_erasures(world: World) -> None:
    hold(world, TALKING)
    erase(world, TALKING)
    narrow = world.runtime.restricted(Access(effects=frozenset({Effect.READ})))
    assert len(narrow.lifecycle.receipts(key_of()).refused) == 1
    assert len(narrow.evidence.disclosures().disclosures) == 1


def test_what_nothing_keeps_leaves_no_such_record(world: World) -> None:
    """An erasure that runs, a repeat, an erasure of nothing, and retention that finds held turns due."""
    erase(world, turn(1))
    erase(world, turn(1))
    erase(world, Scope(conversation=TALK, turn=TurnId("turn-9")))
    assert on_record(world) == []
