"""Measuring: CPU time beside wall time, contestants in turns, medians with their spread.

CPU time is the process's own (user and system, all threads), so that what other programs do on the machine shows in
wall time alone. Contestants take turns round by round (A B A B), so that what the machine does meanwhile meets all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")

Work = Callable[[], int]  # does a round and returns how many pieces it did


class Spread(Struct, frozen=True, kw_only=True):
    """A median between the lowest and the highest."""

    median: float
    low: float
    high: float

    def told(self, unit: str, digits: int = 3) -> str:
        """Return the median with its spread as a person reads it."""
        return f"{self.median:.{digits}f} {unit} ({self.low:.{digits}f}-{self.high:.{digits}f})"


class Round(Struct, frozen=True, kw_only=True):
    """What one round cost, for each piece of it."""

    cpu_ms: float
    wall_ms: float
    pieces: int


class Rounds(Struct, frozen=True, kw_only=True):
    """All rounds of one contestant."""

    rounds: list[Round]

    @property
    def cpu(self) -> Spread:
        """CPU milliseconds of a piece."""
        return spread([one.cpu_ms for one in self.rounds])

    @property
    def wall(self) -> Spread:
        """Wall milliseconds of a piece."""
        return spread([one.wall_ms for one in self.rounds])


def spread(values: list[float]) -> Spread:
    """Return median, lowest and highest."""
    return Spread(median=statistics.median(values), low=min(values), high=max(values))


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def timed(work: Work) -> Round:
    """Run one round."""
    cpu, wall = time.process_time(), time.perf_counter()
    pieces = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Round(cpu_ms=cpu * 1000 / pieces, wall_ms=wall * 1000 / pieces, pieces=pieces)


def in_turns(contestants: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Have every contestant do its rounds in turns, after one each that does not count; return what came of them."""
    done: dict[str, list[T]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, contestant in contestants.items():
            one = contestant()
            if number:
                done[name].append(one)
    return done


def timed_in_turns(contestants: Mapping[str, Work], rounds: int) -> dict[str, Rounds]:
    """Time the rounds of contestants that take turns."""
    done = in_turns({name: partial(timed, work) for name, work in contestants.items()}, rounds)
    return {name: Rounds(rounds=each) for name, each in done.items()}
