"""Which turns a report shows, so that a read can be recorded (`space.outgoing`, decision 0135)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, runtime_checkable


class CoveredTurns(NamedTuple):
    """The turns that a report shows: sequences of the conversation that was asked for, positions of any others.

    With `through`, it may be about any turn before that position. `views` are those that it shows them under, where
    the request names none. `recorded` is the position of an event
    that records all of it already.
    """

    sequences: Iterable[int] = ()
    positions: Iterable[int] = ()
    through: int | None = None
    views: Iterable[str] = ()
    recorded: int | None = None


@runtime_checkable
class CoveringReport(Protocol):
    """A report that tells which turns it shows; every operation of the family `replay` returns one."""

    def covered(self) -> CoveredTurns:
        """Return the turns that this shows."""
        ...


def runs_of(sequences: Iterable[int]) -> list[tuple[int, int]]:
    """Return sequences as runs of consecutive ones, both ends included."""
    found: list[tuple[int, int]] = []
    for sequence in sorted(set(sequences)):
        if found and found[-1][1] == sequence - 1:
            found[-1] = (found[-1][0], sequence)
        else:
            found.append((sequence, sequence))
    return found
