"""What is listed, turn by turn: the walks over runs are checked against the same walks over plain lists of turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.changes import Transition
from muniment.events.message import Role
from muniment.events.records import DeliveryRecord, MessageHead, TurnMeta
from muniment.events.turn import Attribution, Delivery
from muniment.governance.listing import LISTABLE, LISTED, LifecycleFilter, before, listed, moves, observed_ms, onward
from muniment.governance.phases import Phase, PhaseRun, Step, phase_of, runs

TURNS = 12
lifecycles = st.sampled_from(LifecycleFilter)
some_steps = st.lists(
    st.builds(
        lambda transition, first, last: Step(transition, min(first, last), max(first, last)),
        st.sampled_from(Transition),
        st.integers(1, TURNS),
        st.integers(1, TURNS),
    ),
    max_size=8,
)


def spread(found: list[PhaseRun]) -> list[int]:
    return [turn for run in found for turn in range(run.first, run.last + 1)]


@pytest.mark.parametrize("phase", Phase)
def test_a_turn_is_listed_by_its_phase(phase: Phase) -> None:
    """CT-06: active ones always, archived ones when asked for, masked and erased ones never."""
    run = [PhaseRun(first=1, last=1, phase=phase)]
    assert bool(listed(run, LifecycleFilter.ACTIVE)) is (phase is Phase.ACTIVE)
    assert bool(listed(run, LifecycleFilter.ACTIVE_AND_ARCHIVED)) is (phase in {Phase.ACTIVE, Phase.ARCHIVED})


def test_what_may_be_listed_is_what_the_widest_filter_lists() -> None:
    assert all(set(phases) <= set(LISTABLE) for phases in LISTED.values())
    assert set(LISTED) == set(LifecycleFilter)


@given(st.integers(0, TURNS), some_steps, lifecycles, st.integers(0, TURNS + 2), st.integers(0, TURNS))
def test_walking_over_runs_is_walking_over_turns(
    turns: int, steps: list[Step], lifecycle: LifecycleFilter, sequence: int, count: int
) -> None:
    """CT-04, CT-05: before and onward take the listed turns next to a sequence, as many as asked for, in order."""
    shown = listed(runs(turns, steps), lifecycle)
    plain = [turn for turn in range(1, turns + 1) if phase_of(turn, steps) in LISTED[lifecycle]]
    older = [turn for turn in plain if turn < sequence]
    newer = [turn for turn in plain if turn >= sequence]
    assert spread(before(shown, sequence, count)) == (older[-count:] if count else [])
    assert spread(onward(shown, sequence, count)) == newer[:count]


@given(st.integers(0, TURNS), some_steps, some_steps)
def test_the_moves_between_two_folds_are_the_turns_whose_phase_differs(
    turns: int, steps: list[Step], later: list[Step]
) -> None:
    """moves(a, b), spread out, is every turn that has another phase in b, with both phases."""
    was, now = runs(turns, steps), runs(turns, steps + later)
    found = [(turn, move.was, move.now) for move in moves(was, now) for turn in range(move.first, move.last + 1)]
    plain = [(turn, phase_of(turn, steps), phase_of(turn, steps + later)) for turn in range(1, turns + 1)]
    assert found == [(turn, old, new) for turn, old, new in plain if old is not new]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(10, 20))
def test_a_turn_was_observed_when_its_latest_message_was(times: list[int], committed_ms: int) -> None:
    """CT-08, TR-22: a message that names no time was observed when it was committed."""
    meta = TurnMeta(
        actor=Attribution(subject="ada"),
        delivery=DeliveryRecord(turn="turn-1", status=Delivery.DELIVERED),
        messages=[MessageHead(role=Role.USER, observed_ms=time) for time in times],
    )
    assert observed_ms(meta, committed_ms) == (committed_ms if 0 in times else max(times))
