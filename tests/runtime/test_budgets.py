"""Budgets through the front door: shorter answers that say so, and never another word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.declaration.session import Session
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, TurnId
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.budgets import BudgetApplied
from muniment.governance.listing import LifecycleFilter
from muniment.governance.policy import Policy
from muniment.governance.profiles import Ceiling, Pressure, PressureLevel, Profile, budget_of
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import Reason, View
from muniment.kernel.sources import seeded_sources
from muniment.operations.transcripts.replay import Slice
from muniment.operations.transcripts.timeline import Anchor, AnchorKind, Timeline
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import five_references, plain_turn, rich_turn
from tests.worlds import key_of, open_store, root_key

TURNS = 40
ALL = LifecycleFilter.ACTIVE_AND_ARCHIVED
CRITICAL = Pressure(level=PressureLevel.CRITICAL, memory_free_bytes=2**40, storage_free_bytes=2**40)


def filled(runtime: Runtime) -> Runtime:
    """Commit turns with five references each, some of them masked, and twelve other conversations."""
    for number in range(1, TURNS + 1):
        runtime.transcripts.commit(replace(plain_turn(number), host_refs=five_references() * 2))
    for number in (3, 17):
        runtime.lifecycle.request(key_of(), Transition.MASK, "why", "who", TurnId(f"turn-{number}"))
    for number in range(12):
        runtime.transcripts.commit(plain_turn(1, f"other-{number:02d}"))
    return runtime


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of a store that was filled without a profile."""
    place = tmp_path_factory.mktemp("budgets")
    filled(open_store(place, "filled")).close()
    return place


@pytest.fixture(scope="module")
def free(home: Path) -> Iterator[Runtime]:
    """Return the store without a budget."""
    with open_store(home, "free") as runtime:
        yield runtime


@pytest.fixture(scope="module")
def small(home: Path) -> Iterator[Callable[[Pressure | None], Runtime]]:
    """Return the same store under the smallest profile, without what else that brings, and under a pressure."""
    with open_store(home, "small") as runtime:
        session: Session = runtime._session
        yield lambda pressure: Runtime(replace(session, profile=Profile.EMBEDDED, pressure=lambda: pressure))


def items_of(whole: Slice, turns: list[SliceTurn]) -> list[RedactionItem]:
    """Return the items that are about these turns."""
    names = {turn.turn for turn in turns}
    return [item for item in whole.items if item.turn in names]


def check_page(page: Slice | Timeline, whole: Slice, pressure: Pressure | None) -> None:
    """Hold a page under a budget against what is shown without one."""
    budget = budget_of(Profile.EMBEDDED, pressure)
    freely = {turn.turn: turn for turn in whole.turns}
    for turn in page.turns:
        assert turn == replace(freely[turn.turn], host_refs=freely[turn.turn].host_refs[: budget.host_refs_per_turn])
    beyond = sum(len(freely[turn.turn].host_refs) - len(turn.host_refs) for turn in page.turns)
    hidden = sum(item.reason is Reason.HOST_REF_VISIBILITY for item in items_of(whole, page.turns))
    assert page.audit.host_refs_redacted == hidden + beyond
    assert (Reason.PROFILE_BUDGET in page.audit.reasons) == (beyond > 0)
    assert page.audit.messages_redacted == sum(message.redacted for turn in page.turns for message in turn.messages)
    assert len(page.items) <= (budget.redaction_items or 0)
    over = {each.ceiling: each for each in page.budget_applied}
    assert (Ceiling.HOST_REFS_PER_TURN in over) == (beyond > 0)
    if beyond:
        assert over[Ceiling.HOST_REFS_PER_TURN].found == max(len(freely[turn.turn].host_refs) for turn in page.turns)
    if Ceiling.REDACTION_ITEMS in over:
        assert len(page.items) == over[Ceiling.REDACTION_ITEMS].limit < over[Ceiling.REDACTION_ITEMS].found
    assert all((each.percent, each.limited_by) == (budget.percent, budget.limited_by) for each in page.budget_applied)


pressures = st.sampled_from([None, CRITICAL, Pressure(), Pressure(memory_free_bytes=1, storage_free_bytes=1)])


@settings(max_examples=25, deadline=None)
@given(limits=st.lists(st.integers(0, 60), min_size=1, max_size=4), view=st.sampled_from(View), pressure=pressures)
def test_pages_under_a_budget_are_the_whole_replay_once_and_never_more(
    free: Runtime,
    small: Callable[[Pressure | None], Runtime],
    limits: list[int],
    view: View,
    pressure: Pressure | None,
) -> None:
    """BG-02, PG-10, RP-09: a smaller page is the beginning of the larger one; the cursor leads to what is left."""
    whole = free.transcripts.replay(key_of(), view, 500)
    runtime, ceiling = small(pressure), budget_of(Profile.EMBEDDED, pressure).page_turns or 0
    shown: list[str] = []
    cursor, more, number = None, True, 0
    while more:
        asked = max(limits[number % len(limits)], 1)
        page = runtime.transcripts.replay(key_of(), view, limits[number % len(limits)], cursor)
        check_page(page, whole, pressure)
        assert len(page.turns) == min(asked, ceiling, TURNS - len(shown))
        without = min(asked, TURNS - len(shown))
        cut = [(each.limit, each.found) for each in page.budget_applied if each.ceiling is Ceiling.PAGE_TURNS]
        assert cut == ([(ceiling, without)] if without > ceiling else [])
        shown += [turn.turn for turn in page.turns]
        cursor, more, number = page.next_cursor, page.has_more, number + 1
        assert more == (cursor is not None) == (len(shown) < TURNS)
    assert shown == [turn.turn for turn in whole.turns]


ANCHORS = [
    Anchor(),
    Anchor(at=AnchorKind.BEFORE, sequence=30),
    Anchor(at=AnchorKind.AFTER, sequence=5),
    Anchor(at=AnchorKind.AROUND, sequence=20),
    Anchor(at=AnchorKind.AROUND, sequence=2),
    Anchor(at=AnchorKind.FIRST_IN_RANGE, from_ms=0, until_ms=10**14),
]


@settings(max_examples=25, deadline=None)
@given(anchor=st.sampled_from(ANCHORS), limit=st.integers(1, 60), pressure=pressures)
@example(anchor=ANCHORS[4], limit=14, pressure=None)  # as many turns as the budget lets through
def test_a_timeline_under_a_budget_leads_through_the_same_turns(
    free: Runtime,
    small: Callable[[Pressure | None], Runtime],
    anchor: Anchor,
    limit: int,
    pressure: Pressure | None,
) -> None:
    """PG-10, CT-05: in both directions each turn once; a page that the budget does not cut is the one asked for."""
    runtime, ceiling = small(pressure).transcripts, budget_of(Profile.EMBEDDED, pressure).page_turns or 0
    whole = free.transcripts.replay(key_of(), View.HOST_UI, 500)
    asked = free.transcripts.timeline(key_of(), anchor, View.HOST_UI, limit, ALL)
    first = runtime.timeline(key_of(), anchor, View.HOST_UI, limit, ALL)
    cut = [(each.limit, each.found) for each in first.budget_applied if each.ceiling is Ceiling.PAGE_TURNS]
    assert cut == ([(ceiling, len(asked.turns))] if len(asked.turns) > ceiling else [])
    assert {turn.turn for turn in first.turns} <= {turn.turn for turn in asked.turns}
    if not cut:
        assert [turn.turn for turn in first.turns] == [turn.turn for turn in asked.turns]
    seen = [turn.sequence for turn in first.turns]
    check_page(first, whole, pressure)
    page = first
    while page.older_cursor is not None:
        page = runtime.timeline(key_of(), anchor, View.HOST_UI, limit, ALL, page.older_cursor)
        check_page(page, whole, pressure)
        assert len(page.turns) <= ceiling
        seen = [turn.sequence for turn in page.turns] + seen
    page = first
    while page.newer_cursor is not None:
        page = runtime.timeline(key_of(), anchor, View.HOST_UI, limit, ALL, page.newer_cursor)
        seen += [turn.sequence for turn in page.turns]
    assert seen == [number for number in range(1, TURNS + 1) if number not in {3, 17}]


def test_conversations_are_listed_once_each_in_smaller_pages(
    free: Runtime, small: Callable[[Pressure | None], Runtime]
) -> None:
    """BG-01, PG-10: the ceiling of a page holds for every page."""
    whole = free.conversations.list_(limit=50).conversations
    runtime = small(None).conversations
    first = runtime.list_(limit=50)
    assert [(each.ceiling, each.limit, each.found) for each in first.budget_applied] == [("page_turns", 8, 13)]
    second = runtime.list_(limit=50, cursor=first.next_cursor)
    assert (first.has_more, second.has_more, second.budget_applied) == (True, False, [])
    assert first.conversations + second.conversations == whole
    assert runtime.list_(limit=8).budget_applied == []


def test_a_cursor_goes_on_when_the_pressure_changes(small: Callable[[Pressure | None], Runtime]) -> None:
    """PG-10: the size of a page is no part of what a cursor is bound to."""
    first = small(None).transcripts.replay(key_of())
    second = small(CRITICAL).transcripts.replay(key_of(), cursor=first.next_cursor)
    assert [turn.sequence for turn in [*first.turns, *second.turns]] == list(range(1, 11))


# --- what belongs to whom ---------------------------------------------------------------------------------------------


def test_the_budget_is_of_the_profile_and_not_of_the_store(home: Path) -> None:
    """BG-01, ST-07: the same store, opened under one profile after another, and then without."""
    found = []
    for profile in (*Profile, None):
        with open_store(home, f"as-{profile}", profile=profile) as runtime:
            page = runtime.transcripts.replay(key_of(), View.HOST_UI, 500)
            found.append((len(page.turns), [each.ceiling.value for each in page.budget_applied]))
    assert found == [
        (8, ["page_turns", "redaction_items"]),
        (32, ["page_turns", "redaction_items"]),
        (32, ["page_turns", "redaction_items"]),
        (TURNS, ["redaction_items"]),
        (TURNS, []),
    ]


def test_a_runtime_that_is_handed_on_is_under_the_same_budget(home: Path) -> None:
    with open_store(home, "handed", profile=Profile.EMBEDDED) as runtime:
        window = runtime.restricted(muniment.Access())
        assert len(window.transcripts.replay(key_of()).turns) == 8


def test_documents_are_whole_under_every_profile(free: Runtime, small: Callable[[Pressure | None], Runtime]) -> None:
    """Decision 0080: what leaves as a document or a proof is what the view shows, every turn and reference of it."""
    runtime = small(CRITICAL)
    for form in ExportFormat:
        assert runtime.spaces.export(key_of(), form) == free.spaces.export(key_of(), form)
    shown = runtime.evidence.prove(key_of(), TurnId("turn-1")).summary["disclosed"]
    assert shown == free.evidence.prove(key_of(), TurnId("turn-1")).summary["disclosed"]


# --- reports ----------------------------------------------------------------------------------------------------------


def test_the_lists_of_a_lifecycle_report_are_clipped_and_its_counts_are_whole() -> None:
    """LC-12, BG-01, BG-03: the flag is set, the number of turns and of redacted references is that of the whole."""
    pressure: list[Pressure | None] = [None]
    options = Options(
        sources=seeded_sources("reports"), profile=Profile.EMBEDDED, policies=frozenset(), pressure=lambda: pressure[0]
    )
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        runtime.transcripts.commit(rich_turn())
        one = runtime.lifecycle.request(key_of(), Transition.ARCHIVE, "why", "who")
        # shown as to the interface: the profile hides the views of operators
        assert (one.clipped, one.budget_applied, len(one.host_refs), one.host_refs_redacted) == (False, [], 2, 3)
        runtime.lifecycle.request(key_of(), Transition.RESTORE, "why", "who")
        for number in range(1, 10):
            runtime.transcripts.commit(replace(plain_turn(number), host_refs=five_references()))
        pressure[0] = CRITICAL
        report = runtime.lifecycle.request(key_of(), Transition.ARCHIVE, "why", "who")
    assert (report.affected_turns, len(report.turns), report.clipped) == (10, 10, True)
    assert len(report.host_refs) == 10  # one of each turn
    assert report.host_refs_redacted == 40
    assert len(report.items) == 5
    assert report.budget_applied == [
        BudgetApplied(ceiling=each, limit=limit, found=found, profile=Profile.EMBEDDED, percent=35, limited_by=why)
        for why in [budget_of(Profile.EMBEDDED, CRITICAL).limited_by]
        for each, limit, found in [(Ceiling.HOST_REFS_PER_TURN, 1, 2), (Ceiling.REDACTION_ITEMS, 5, 40)]
    ]


def test_a_budget_of_one_shows_one_reference_of_three_and_counts_two() -> None:
    """BG-03: through the front door, with the reason in the audit."""
    options = Options(
        sources=seeded_sources("three"), profile=Profile.EMBEDDED, policies=frozenset({Policy.NO_EXPORT}),
        pressure=lambda: CRITICAL,
    )  # fmt: skip
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        visible = [each for each in five_references() * 2 if each.visibility == "export"]
        turn = replace(plain_turn(1), conversation=ConversationId("three"), host_refs=[*visible, visible[0]])
        runtime.transcripts.commit(turn)
        page = runtime.transcripts.replay(key_of("three"), View.EXPORT)
    assert (len(page.turns[0].host_refs), page.audit.host_refs_redacted) == (1, 2)
    assert Reason.PROFILE_BUDGET in page.audit.reasons
