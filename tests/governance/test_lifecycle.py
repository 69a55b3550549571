"""The life of a turn: the table walked in full, and the fold against it."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.changes import Transition
from muniment.governance.phases import MASKED_PHASES, NEXT, Phase, Step, after, phase_of, runs

# The table once more, as sentences of the catalogue: phase, what is asked, the phase it leads to. All else is a no-op.
SENTENCES = """
active archive archived
active mask masked
active erase erased
archived restore active
archived mask masked_archived
archived erase erased
masked archive masked_archived
masked unmask active
masked erase erased
masked_archived unmask archived
masked_archived erase erased
"""
TABLE = {(phase, asked): to for phase, asked, to in (line.split() for line in SENTENCES.strip().splitlines())}

# How much of the words a phase leaves readable.
CONTENT = {Phase.ACTIVE: 2, Phase.ARCHIVED: 2, Phase.MASKED: 1, Phase.MASKED_ARCHIVED: 1, Phase.ERASED: 0}

transitions = st.sampled_from(Transition)
TURNS = 8


@st.composite
def steps_drawn(draw: st.DrawFn) -> Step:
    first = draw(st.integers(1, TURNS))
    return Step(draw(transitions), first, draw(st.integers(first, TURNS + 2)))


some_steps = st.lists(steps_drawn(), max_size=8)


@pytest.mark.parametrize(("phase", "transition"), list(product(Phase, Transition)))
def test_every_transition_of_every_phase_leads_where_the_catalogue_says(phase: Phase, transition: Transition) -> None:
    """LC-01, LC-02, LC-14: what the table does not know changes nothing."""
    assert after(phase, transition) == TABLE.get((phase, transition), phase)


@pytest.mark.parametrize(("phase", "transition"), list(product(Phase, Transition)))
def test_states_only_move_towards_less_content_except_by_unmasking(phase: Phase, transition: Transition) -> None:
    """DESIGN §6: no way leads back to content, but the audited unmask of what is only masked."""
    gained = CONTENT[after(phase, transition)] - CONTENT[phase]
    assert gained == (1 if transition is Transition.UNMASK and phase in MASKED_PHASES else min(gained, 0))


@pytest.mark.parametrize(("phase", "transition"), list(product(Phase, Transition)))
def test_a_repeat_is_a_no_op(phase: Phase, transition: Transition) -> None:
    """A transition that was just made changes nothing when it is asked for again."""
    once = after(phase, transition)
    assert after(once, transition) == once


@given(some_steps, some_steps, st.integers(1, TURNS))
def test_what_is_erased_stays_erased_whatever_follows(before: list[Step], later: list[Step], turn: int) -> None:
    """ERASED is final, and `mask` after it does not take the state back."""
    erased = Step(Transition.ERASE, turn, turn)
    assert NEXT[Phase.ERASED] == {}
    assert phase_of(turn, [*before, erased, *later]) is Phase.ERASED


@given(st.lists(transitions, max_size=10))
def test_unmasking_returns_to_where_masking_began(asked: list[Transition]) -> None:
    """A turn that was archived before or during the mask is archived after it; its words come back only by unmask."""
    steps = [Step(each, 1, 1) for each in asked]
    phase = phase_of(1, steps)
    archived = masked = erased = False
    for each in asked:
        erased = erased or each is Transition.ERASE
        masked = {Transition.MASK: True, Transition.UNMASK: False}.get(each, masked)
        # An archived turn under a mask is not restored: restoring asks for content that is readable.
        archived = each is Transition.ARCHIVE or (archived and not (each is Transition.RESTORE and not masked))
    words = {
        (False, False): Phase.ACTIVE,
        (False, True): Phase.ARCHIVED,
        (True, False): Phase.MASKED,
        (True, True): Phase.MASKED_ARCHIVED,
    }
    assert phase == (Phase.ERASED if erased else words[masked, archived])


@given(st.integers(0, TURNS), some_steps)
def test_the_runs_of_a_conversation_are_the_phases_of_its_turns(turns: int, steps: list[Step]) -> None:
    """runs(n, steps), spread out, equals phase_of(turn, steps) turn by turn; runs are dense and in order."""
    found = runs(turns, steps)
    assert [run.phase for run in found for _ in range(run.first, run.last + 1)] == [
        phase_of(turn, steps) for turn in range(1, turns + 1)
    ]
    assert all(left.last + 1 == right.first for left, right in pairwise(found))
    assert [run.first for run in found[:1]] == ([1] if turns else [])


def test_steps_of_one_turn_and_of_many_are_folded_in_log_order() -> None:
    """Mask one, unmask all, archive all, mask one again: what came later counts, however many turns it was about."""
    steps = [
        Step(Transition.MASK, 2, 2),
        Step(Transition.UNMASK, 1, 3),
        Step(Transition.ARCHIVE, 1, 3),
        Step(Transition.MASK, 3, 3),
    ]
    assert [(run.first, run.phase) for run in runs(4, steps)] == [
        (1, Phase.ARCHIVED), (2, Phase.ARCHIVED), (3, Phase.MASKED_ARCHIVED), (4, Phase.ACTIVE),
    ]  # fmt: skip


def test_the_cost_of_the_runs_of_a_million_turns_depends_on_the_steps_alone() -> None:
    steps = [Step(Transition.MASK, n * 1000, n * 1000 + 9) for n in range(1, 11)]
    found = runs(1_000_000, steps)
    assert len(found) == 21
    assert sum(run.last - run.first + 1 for run in found if run.phase is Phase.MASKED) == 100


@given(some_steps, st.lists(st.integers(1, TURNS), max_size=4))
def test_the_fold_does_not_depend_on_how_a_conversation_is_paged(steps: list[Step], cuts: list[int]) -> None:
    """A turn's phase is the same whether folded alone, in a page, or with the steps that do not concern it left out."""
    whole = [phase_of(turn, steps) for turn in range(1, TURNS + 1)]
    borders = sorted({0, TURNS, *cuts})
    paged = []
    for low, high in pairwise(borders):
        of_page = [step for step in steps if step.first <= high and step.last > low]
        paged += [phase_of(turn, of_page) for turn in range(low + 1, high + 1)]
    assert paged == whole


@given(some_steps, some_steps, st.integers(1, TURNS))
def test_folding_can_be_continued(before: list[Step], later: list[Step], turn: int) -> None:
    """phase_of(a + b) is b applied to phase_of(a): incremental and whole folds agree."""
    phase = phase_of(turn, before)
    for step in later:
        if step.first <= turn <= step.last:
            phase = after(phase, step.transition)
    assert phase_of(turn, before + later) == phase
