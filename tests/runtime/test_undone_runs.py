"""Undoing what a run of a writer did to memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.changes import Transition
from muniment.events.identity import SubjectId
from muniment.events.memory_items import InvalidityGround, ItemPrivacy, MemoryPlane, Retirement, StaleHint
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.memory.amendment import (
    Amendment,
    ChangeItemPrivacy,
    CorrectItem,
    InvalidateItem,
    MarkItemStale,
    PinItem,
    RefreshItem,
    RestoreItem,
    SupersedeItem,
)
from muniment.memory.candidate import ItemSource
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter
from muniment.operations.notebook.undo import UndoReport
from tests.memory.asking import amend, forget, listed, remember, size, texts
from tests.memory.items import candidate
from tests.turns import plain_turn
from tests.worlds import OPERATOR, World, key_of, memory_world

RUN = "night-1"
EVIDENCE = [ItemSource(conversation=key_of(), turn=plain_turn(1).turn)]
AMENDMENTS: list[Amendment] = [
    CorrectItem(text="Corrected"),
    CorrectItem(confidence=0.5),
    RefreshItem(),
    MarkItemStale(),
    MarkItemStale(hint=StaleHint.NONE),
    ChangeItemPrivacy(privacy=ItemPrivacy.PUBLIC_RUNTIME),
    PinItem(),
    SupersedeItem(text="Superseded"),
    InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=EVIDENCE),
    RestoreItem(),
]
writes = st.tuples(st.just("remember"), st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from([0.5, 0.9]))
changes = st.tuples(st.just("amend"), st.integers(0, 9), st.integers(0, len(AMENDMENTS) - 1), st.just(0.0))
steps = st.lists(writes | changes, max_size=7)


def run(world: World, text: str = "Lives in Rome", name: str = RUN, turn: int = 1, **more: Any) -> str:
    report = world.runtime.memory.remember([candidate(text, turn, **more)], "host", name)
    return report.candidates[0].item or ""


def undo(world: World, name: str = RUN, **more: Any) -> UndoReport:
    return world.runtime.notebook.undo(name, "wrong", OPERATOR, **more)


def done(world: World, step: tuple[str, Any, Any, float], name: str | None) -> None:
    """Do one step in a run, or in none."""
    what, one, other, confidence = step
    if what == "remember":
        given_candidate = candidate(f"says {other}", topic=one, confidence=confidence)
        world.runtime.memory.remember([given_candidate], "host", name)
        return
    items = listed(world, state=ItemFilter.ALL)
    if items:
        amend(world, items[one % len(items)].id, AMENDMENTS[other], run=name)


def state(world: World) -> list[tuple[Any, ...]]:
    """Return what is in use and what it says, without positions and history."""
    told = [
        (item.id, item.topic, item.text, item.confidence, item.privacy, item.stale, item.pinned, item.confirmed_ms)
        for item in listed(world)
    ]
    return sorted(told, key=str)


@settings(max_examples=60)
@given(steps, steps, st.sampled_from([None, 2]))
def test_a_run_and_its_undoing_leave_memory_as_it_was(
    before: list[Any], in_the_run: list[Any], items_max: int | None
) -> None:
    """What is in use after a run and its undoing is what was in use before, says the same, and stays so."""
    world = memory_world(limits=Limits(items_max=items_max)).with_turns(1)
    for step in before:
        done(world, step, None)
    was = state(world)
    for step in in_the_run:
        done(world, step, RUN)
    planned = undo(world, dry_run=True)
    report = undo(world)
    assert (planned.retired, planned.restored, planned.reverted) == (report.retired, report.restored, report.reverted)
    assert (state(world), report.conflicts) == (was, [])
    ended = size(world)
    again = undo(world)
    assert (again.changed, again.conflicts, size(world), state(world)) == (False, [], ended, was)
    world.close()


def test_what_a_run_replaced_is_in_use_again_and_may_be_replaced_later(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    assert run(world, turn=2, id="i-2") == "i-2"
    report = undo(world)
    assert (report.changed, report.requests, report.retired, report.restored) == (True, 1, ["i-2"], ["i-1"])
    assert texts(world) == ["Lives in Oslo"]
    detail = world.runtime.memory.show("i-2", View.RAW_OWNER)
    assert detail.item is not None
    assert detail.item.retired is Retirement.UNDONE
    again = remember(world, "Lives in Rome", 2)
    assert (again.changed, again.reason) == (True, "newer_statement")


def test_the_same_id_is_used_again_after_its_run_was_undone(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    run(world, turn=2, id="i-2")
    undo(world)
    again = remember(world, "Lives in Rome", 2, id="i-2")
    assert (again.changed, again.item, again.replaces, texts(world)) == (True, "i-2", "i-1", ["Lives in Rome"])
    assert undo(world).changed is False
    assert remember(world, "Lives in Rome", 2, id="i-2").reason == "same_text"


def test_what_somebody_changed_or_forgot_since_is_left_and_said(world: World) -> None:
    world.with_turns(2)
    remember(world, id="i-1")
    run(world, turn=2, id="i-2")
    run(world, "Walks", topic="commute", id="i-3")
    run(world, "Gone", topic="gone", id="i-4")
    amend(world, "i-2", PinItem())
    forget(world, ForgetTarget(item="i-4"))
    report = undo(world)
    assert [(each.item, each.reason.value) for each in report.conflicts] == [
        ("i-2", "changed_since"),
        ("i-4", "forgotten"),
        ("i-1", "slot_taken"),
    ]
    assert (report.retired, texts(world)) == (["i-3"], ["Lives in Rome"])


def test_of_two_that_would_come_back_to_one_slot_the_later_one_does(world: World) -> None:
    world.with_turns(2)
    wrong = InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=EVIDENCE)
    remember(world, id="i-1")
    amend(world, "i-1", wrong, run=RUN)
    remember(world, "Lives in Rome", 2, id="i-2")
    amend(world, "i-2", wrong, run=RUN)
    report = undo(world)
    assert report.restored == ["i-2"]
    assert [(each.item, each.reason.value) for each in report.conflicts] == [("i-1", "slot_taken")]
    assert texts(world) == ["Lives in Rome"]


@pytest.mark.parametrize("plane", [MemoryPlane.SUMMARY, MemoryPlane.DIARY])
def test_what_retells_a_masked_turn_is_not_brought_back_by_undoing(plane: MemoryPlane, world: World) -> None:
    world.with_turns(2)
    retelling: dict[str, Any] = {"plane": plane, "kind": plane.value}
    remember(world, "RETOLD", id="s-1", **retelling)
    assert run(world, "newer", turn=2, id="s-2", **retelling) == "s-2"
    world.masked(1)
    report = undo(world)
    assert (report.retired, report.restored) == (["s-2"], [])
    assert [(each.item, each.reason.value) for each in report.conflicts] == [("s-1", "source_hidden")]
    world.request(Transition.UNMASK, 1)
    assert texts(world) == []


def test_an_unknown_run_is_told_and_changes_nothing(world: World) -> None:
    world.with_turns(1)
    run(world, id="i-1")
    before = size(world)
    report = undo(world, "night-9")
    assert (report.requests, report.changed, size(world)) == (0, False, before)


def test_a_request_of_a_run_is_on_record_once(world: World) -> None:
    world.with_turns(1)
    before = size(world)
    refused = candidate(judgement=None)
    world.runtime.memory.remember([refused], "host", RUN)
    assert size(world) == before + 1
    world.runtime.memory.remember([refused], "host", RUN)
    assert size(world) == before + 1
    world.runtime.memory.remember([candidate(id="i-1")], "host", RUN)
    ended = size(world)
    world.runtime.memory.remember([candidate(id="i-1")], "host", RUN)
    assert (size(world), undo(world, dry_run=True).requests) == (ended, 2)


def test_a_caller_for_one_subject_undoes_what_is_its_own(world: World) -> None:
    world.with_turns(1)
    run(world, id="i-1")
    world.runtime.memory.remember([candidate("x", None, subject="bob", id="i-2")], "host", RUN)
    bob = world.runtime.restricted(Access(subject="bob"))
    report = bob.notebook.undo(RUN, "wrong", "bob")
    assert (report.retired, report.conflicts) == (["i-2"], [])
    assert texts(world) == ["Lives in Rome"]
    assert world.runtime.memory.list_(SubjectId("bob"), View.RAW_OWNER).total == 0


def test_the_same_that_is_told_again_after_an_undone_run_is_no_revision(world: World) -> None:
    world.with_turns(1)
    run(world, id="i-1")
    undo(world)
    assert remember(world, "Lives in Rome", id="i-1").changed
    assert [(item.text, item.revision) for item in listed(world)] == [("Lives in Rome", 0)]


def test_what_is_told_again_after_an_undone_run_is_what_is_told(world: World) -> None:
    """Whatever the run, or its turn, made of it; and undoing that leads back."""
    world.with_turns(2)
    run(world, id="i-1")
    amend(world, "i-1", CorrectItem(text="Lives in Bergen"), run=RUN)
    amend(world, "i-1", PinItem(), run=RUN)
    undo(world)
    before = listed(world, state=ItemFilter.ALL)
    run(world, id="i-1", name="night-2", turn=2, confidence=0.7)
    (item,) = listed(world)
    assert (item.text, item.pinned, item.confidence) == ("Lives in Rome", False, 0.7)
    assert [each.citation for each in item.evidence] == ["transcript:default/default/talk#turn=turn-2"]
    world.masked(2)
    assert [each.state for each in listed(world)] == ["needs_review"]
    world.request(Transition.UNMASK, 2)
    assert undo(world, "night-2").retired == ["i-1"]
    assert listed(world, state=ItemFilter.ALL) == [replace(before[0], revision=4)]


def test_a_caller_for_one_subject_does_not_learn_what_a_run_did_to_others(world: World) -> None:
    world.with_turns(1)
    run(world, id="i-1")
    run(world, id="i-2", subject="bob", evidence=[], attested=True)
    bob, zed = (world.runtime.restricted(Access(subject=SubjectId(name))).notebook for name in ("bob", "zed"))
    unknown = zed.undo("never", "wrong", "zed")
    assert zed.undo(RUN, "wrong", "zed") == replace(unknown, run=RUN)
    assert (bob.undo(RUN, "wrong", "bob", dry_run=True).requests, undo(world, dry_run=True).requests) == (1, 2)
