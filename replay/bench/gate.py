"""The gate of speed: what ours costs for what the floor costs, compared with the budgets of `gate.toml`.

A time says what a machine is; a ratio of two times, taken in turns on the same machine, says what the code is.

1. Both sides of a ratio are CPU time and do the same for the same turns, in short rounds in turns. What else a machine
   does meets both sides of a round; the lower quartile of the rounds' ratios is the figure.
2. Words are invented, so that every machine has the same ones. Stores are in memory where the system has a place for
   that, so that no disk is part of a ratio. Flushes are counted.
3. A ratio of more than its budget and a quarter is measured once more, with more rounds. What is above that again is a
   regression. The disk space does not depend on the machine: more than a twentieth is one.
4. Counts do not depend on the machine either, and are taken once. Flushes are exactly their budget. Python frames
   (`frames.py`) may be 2 % above theirs: another version of Python or of a library that calls back may add a few, one
   more call for each turn of a page is above that.
5. A budget is what was measured when it was written, never what is wished for. It is written by hand.
"""

from __future__ import annotations

import gc
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from math import floor
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from replay.bench.gated import EXACT, FRAMES, RATIOS, Count, Ground, Ratio
from replay.measure import percentile

BUDGETS = Path(__file__).parents[1] / "gate.toml"
ABOVE_BUDGET_MAX, ABOVE_CERTAIN_MAX, ABOVE_FRAMES_MAX = 1.25, 1.05, 1.02
ROUNDS, ROUNDS_QUICK = 75, 25
AGAIN = 3  # times the rounds, for what is above its budget
MEMORY = Path("/dev/shm")  # noqa: S108 - stores of benchmarks are nobody's secret, and go away
MEMORY_BYTES_MIN = 128 * 2**20


class Budgets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `gate.toml` says; `measured` names the day, the commit and the machine."""

    measured: str
    ratios: dict[str, float]
    exactly: dict[str, int]
    frames: dict[str, int]


class Verdict(Struct, frozen=True, kw_only=True):
    """What one row came to. `again` is what the second measuring gave, where there was one; a count has no rounds."""

    name: str
    what: str
    budget: float
    most: float
    found: list[float]
    again: list[float] | None = None
    least: float = 0.0
    is_count: bool = False

    @property
    def holds(self) -> bool:
        """Whether it is within its budget."""
        return self.least <= _figure(self.again or self.found) <= self.most

    def told(self) -> str:
        """Return it as one line."""
        word = "holds" if self.holds else "REGRESSION"
        if self.is_count:
            is_exact = self.least == self.most
            allowed = f"must be {self.most:,}" if is_exact else f"budget {self.budget:,}, at most {self.most:,}"
            return f"{self.name}: {self.what}: {_figure(self.found):,}, {allowed}: {word}"
        again = "" if self.again is None else f", once more {_told(self.again)}"
        allowed = f"budget {self.budget:.2f} x, at most {self.most:.2f} x"
        return f"{self.name}: {self.what}: {_told(self.found)}{again}, {allowed}: {word}"


def _figure(rounds: list[float]) -> float:
    """Return the lower quartile: what disturbs a round of ours makes it dearer, never cheaper."""
    return percentile(rounds, 0.25)


def _told(rounds: list[float]) -> str:
    return f"{_figure(rounds):.2f} x ({min(rounds):.2f}-{max(rounds):.2f})"


def budgets(path: Path = BUDGETS) -> Budgets:
    """Read the budgets; every row has one and every budget has a row."""
    read = msgspec.convert(tomllib.loads(path.read_text()), Budgets)
    for have, want in ((read.ratios, RATIOS), (read.exactly, EXACT), (read.frames, FRAMES)):
        odd = have.keys() ^ want.keys()
        assert not odd, f"rows without a budget, or budgets without a row: {', '.join(sorted(odd))}"
    return read


def gate(
    names: tuple[str, ...], *, quick: bool, scratch: Path | None, tell: Callable[[Verdict], None]
) -> list[Verdict]:
    """Measure the rows of these names, all when there is none; tell each as it comes."""
    allowed = budgets()
    rounds = ROUNDS_QUICK if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="muniment-gate-", dir=scratch or memory()) as directory:
        ground = Ground(Path(directory))
        verdicts = []
        for verdict in _verdicts(ground, allowed, names, rounds):
            verdicts.append(verdict)
            tell(verdict)
        ground.close()
    return verdicts


def _verdicts(ground: Ground, allowed: Budgets, names: tuple[str, ...], rounds: int) -> Iterator[Verdict]:
    for name, row in EXACT.items():
        if not names or name in names:
            budget = allowed.exactly[name]
            yield _counted(ground, name, row, budget, least=budget, most=budget)
    for name, row in FRAMES.items():
        if not names or name in names:
            budget = allowed.frames[name]
            yield _counted(ground, name, row, budget, least=0, most=floor(budget * ABOVE_FRAMES_MAX))
    for name, ratio in RATIOS.items():
        if not names or name in names:
            yield _verdict(ground, name, ratio, allowed.ratios[name], rounds)


def _counted(ground: Ground, name: str, row: Count, budget: int, *, least: int, most: int) -> Verdict:
    return Verdict(
        name=name, what=row.what, budget=budget, least=least, most=most, found=[row.count(ground)], is_count=True
    )


def _verdict(ground: Ground, name: str, ratio: Ratio, budget: float, rounds: int) -> Verdict:
    most = budget * (ABOVE_CERTAIN_MAX if ratio.is_certain else ABOVE_BUDGET_MAX)
    found = _settled(ratio, ground, rounds)
    first = Verdict(name=name, what=ratio.what, budget=budget, most=most, found=found)
    if first.holds or ratio.is_certain:
        return first
    return replace(first, again=_settled(ratio, ground, AGAIN * rounds))


def _settled(ratio: Ratio, ground: Ground, rounds: int) -> list[float]:
    """Measure without what was made before: it is not walked by the garbage collector meanwhile."""
    gc.collect()
    gc.freeze()
    try:
        return ratio.measure(ground, rounds)
    finally:
        gc.unfreeze()


def memory() -> Path | None:
    """Return a file system in memory, if there is one with enough room."""
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return None
    room = os.statvfs(MEMORY)
    return MEMORY if room.f_bavail * room.f_frsize >= MEMORY_BYTES_MIN else None
