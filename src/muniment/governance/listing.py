"""Which turns are listed, and when they were observed.

| lifecycle filter | turns that are listed |
|---|---|
| active | active |
| active_and_archived | active, archived |

What is masked or erased is never listed. A conversation is a sequence of turns in phases (`lifecycle.runs`); what is
listed of it are the runs whose phase the filter shows. `before` and `onward` walk over these runs and never over turns,
so that a gap of a million masked turns costs nothing.

The observed time of a turn is that of its latest message; a message that names none was observed when it was committed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from muniment.events.records import TurnMeta
from muniment.governance.phases import Phase, PhaseRun


class LifecycleFilter(StrEnum):
    """Which turns count: the active ones alone, or the archived ones too."""

    ACTIVE = "active"
    ACTIVE_AND_ARCHIVED = "active_and_archived"


# The only place that knows what is listed.
LISTED: dict[LifecycleFilter, tuple[Phase, ...]] = {
    LifecycleFilter.ACTIVE: (Phase.ACTIVE,),
    LifecycleFilter.ACTIVE_AND_ARCHIVED: (Phase.ACTIVE, Phase.ARCHIVED),
}

LISTABLE = LISTED[LifecycleFilter.ACTIVE_AND_ARCHIVED]


class Move(Struct, frozen=True, kw_only=True):
    """Consecutive turns that went from one phase to another: `first` to `last`, both included."""

    first: int
    last: int
    was: Phase
    now: Phase


def observed_ms(meta: TurnMeta, committed_ms: int) -> int:
    """Return the observed time of a turn: that of its latest message."""
    return max(head.observed_ms or committed_ms for head in meta.messages)


def listed(phases: Sequence[PhaseRun], lifecycle: LifecycleFilter) -> list[PhaseRun]:
    """Return the runs of turns that a filter lists, in order."""
    return [run for run in phases if run.phase in LISTED[lifecycle]]


def before(runs: Sequence[PhaseRun], sequence: int, count: int) -> list[PhaseRun]:
    """Return the last `count` turns of these runs before a sequence, as runs in order."""
    taken: list[PhaseRun] = []
    at = bisect_left(runs, sequence, key=_first)
    while at and count:
        at -= 1
        last = min(runs[at].last, sequence - 1)
        first = max(runs[at].first, last - count + 1)
        taken.append(PhaseRun(first=first, last=last, phase=runs[at].phase))
        count -= last - first + 1
    return taken[::-1]


def onward(runs: Sequence[PhaseRun], sequence: int, count: int) -> list[PhaseRun]:
    """Return the first `count` turns of these runs from a sequence on, as runs in order."""
    taken: list[PhaseRun] = []
    at = bisect_left(runs, sequence, key=_last)
    while at < len(runs) and count:
        first = max(runs[at].first, sequence)
        last = min(runs[at].last, first + count - 1)
        taken.append(PhaseRun(first=first, last=last, phase=runs[at].phase))
        count -= last - first + 1
        at += 1
    return taken


def only(runs: Sequence[PhaseRun], sequences: Sequence[int]) -> Iterator[PhaseRun]:
    """Yield what of these runs are turns of ascending sequences, as runs in order."""
    for run in runs:
        inside = sequences[bisect_left(sequences, run.first) : bisect_right(sequences, run.last)]
        for first, last in spans(inside):
            yield PhaseRun(first=first, last=last, phase=run.phase)


def has_any(sequences: Sequence[int], first: int, last: int) -> bool:
    """Return whether any of ascending sequences is from `first` to `last`."""
    at = bisect_left(sequences, first)
    return at < len(sequences) and sequences[at] <= last


def spans(sequences: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending sequences as spans without gaps, each its first and last."""
    if isinstance(sequences, range):  # as of most conversations
        return [(sequences[0], sequences[-1])] if sequences else []
    found, start = list[tuple[int, int]](), 0
    for at in range(1, len(sequences) + 1):
        if at == len(sequences) or sequences[at] != sequences[at - 1] + 1:
            found.append((sequences[start], sequences[at - 1]))
            start = at
    return found


def moves(was: Sequence[PhaseRun], now: Sequence[PhaseRun]) -> Iterator[Move]:
    """Yield which turns changed their phase between two lists of runs over the same turns, in order."""
    old, new = iter(was), iter(now)
    here, there = next(old, None), next(new, None)
    first = 1
    while here is not None and there is not None:
        last = min(here.last, there.last)
        if here.phase is not there.phase:
            yield Move(first=first, last=last, was=here.phase, now=there.phase)
        first = last + 1
        if here.last < first:
            here = next(old, None)
        if there.last < first:
            there = next(new, None)


def _first(run: PhaseRun) -> int:
    return run.first


def _last(run: PhaseRun) -> int:
    return run.last
