"""The lifecycle of a turn: one table, and the fold over it.

States move towards less content; the only way back is an audited unmask while the content is still there. A transition
that the table does not know for a state changes nothing: a repeat is a no-op, and so is every request about a turn
whose content is destroyed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from heapq import merge
from itertools import pairwise

from msgspec import Struct

from muniment.events.changes import Transition, TurnSpan


class Phase(StrEnum):
    """Where a turn is in its life. `masked_archived` is masked for every view; it remembers what unmask returns to."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    MASKED = "masked"
    MASKED_ARCHIVED = "masked_archived"
    ERASED = "erased"


# The only place that knows what may happen to a turn. guide/lifecycle.md is generated from it.
NEXT: dict[Phase, dict[Transition, Phase]] = {
    Phase.ACTIVE: {
        Transition.ARCHIVE: Phase.ARCHIVED,
        Transition.MASK: Phase.MASKED,
        Transition.ERASE: Phase.ERASED,
    },
    Phase.ARCHIVED: {
        Transition.RESTORE: Phase.ACTIVE,
        Transition.MASK: Phase.MASKED_ARCHIVED,
        Transition.ERASE: Phase.ERASED,
    },
    Phase.MASKED: {
        Transition.ARCHIVE: Phase.MASKED_ARCHIVED,
        Transition.UNMASK: Phase.ACTIVE,
        Transition.ERASE: Phase.ERASED,
    },
    Phase.MASKED_ARCHIVED: {
        Transition.UNMASK: Phase.ARCHIVED,
        Transition.ERASE: Phase.ERASED,
    },
    Phase.ERASED: {},
}

MASKED_PHASES = frozenset({Phase.MASKED, Phase.MASKED_ARCHIVED})


class Step(Struct, frozen=True):
    """A lifecycle event as the fold sees it: which transition, of which turns (`first` to `last`, both included)."""

    transition: Transition
    first: int
    last: int


class Hold(Struct, frozen=True, kw_only=True):
    """A hold that is in force: its turns are not erased, whoever asks. It is named by the position of its event.

    With a subject it is of that subject's turns alone.
    """

    position: int
    span: TurnSpan
    subject: str | None = None


def after(phase: Phase, transition: Transition) -> Phase:
    """Return the phase that a transition leads to; the same phase when it changes nothing."""
    return NEXT[phase].get(transition, phase)


def phase_of(turn: int, steps: Iterable[Step]) -> Phase:
    """Fold the steps, in log order, that concern a turn (by its sequence) into its phase."""
    phase = Phase.ACTIVE
    for step in steps:
        if step.first <= turn <= step.last:
            phase = NEXT[phase].get(step.transition, phase)
    return phase


class PhaseRun(Struct, frozen=True):
    """Consecutive turns in the same phase: `first` to `last`, both included."""

    first: int
    last: int
    phase: Phase


def runs(turns: int, steps: Iterable[Step]) -> list[PhaseRun]:
    """Fold steps over all turns 1..`turns` at once: the phases as runs, in order.

    Works on the borders that the steps draw, so that a conversation of a million turns with ten steps costs ten steps.
    Steps of one turn, of which there may be many, are looked at for that turn alone.
    """
    if turns < 1:
        return []
    borders = {1, turns + 1}
    wide: list[tuple[int, Step]] = []
    narrow: defaultdict[int, list[tuple[int, Step]]] = defaultdict(list)
    for place, step in enumerate(steps):
        borders.update(border for border in (step.first, step.last + 1) if 1 <= border <= turns)
        (narrow[step.first] if step.first == step.last else wide).append((place, step))
    return [
        PhaseRun(first=first, last=beyond - 1, phase=phase_of(first, _in_order(wide, narrow.get(first, []))))
        for first, beyond in pairwise(sorted(borders))
    ]


def _in_order(*parts: list[tuple[int, Step]]) -> Iterator[Step]:
    return (step for _, step in merge(*parts))
