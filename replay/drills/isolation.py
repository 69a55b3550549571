"""Do the same in one space, with and without others busy in the same store: no answer may differ by a byte.

The actions, and what is asked after each of them, are those of the laws (`tests.laws`): every operation that changes
anything, by chance. The control: one action more in the space itself; then the answers must differ.
"""

from __future__ import annotations

import random

from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory

TWINS = 50
STEPS = 12


def isolation(count: int | None, seed: int) -> Outcome:
    """Run so many twins."""
    from tests.laws.test_walks import beside, told  # noqa: PLC0415 - the laws come with the tests, not with the package

    chance = random.Random(seed)  # noqa: S311 - repeatable
    failures, control, twins = [], False, count or TWINS
    with scratch_directory("isolation") as scratch:
        for number in range(twins):
            own, others = ([_step(chance) for _ in range(STEPS)] for _ in range(2))
            quiet = [told(walk) for walk in beside(scratch, own, [])]
            busy = [told(walk) for walk in beside(scratch, own, others)]
            more = [told(walk) for walk in beside(scratch, [*own, (0, 0, 0)], [])]
            control = control or more[-1] != quiet[-1]
            differing = [place for place, (one, other) in enumerate(zip(quiet, busy, strict=True)) if one != other]
            if differing:
                failures.append(f"twins {number}: {len(differing)} answers differ, the first after step {differing[0]}")
    return Outcome(
        name="isolation",
        tried=f"{twins} pairs of {STEPS} actions, each result compared byte by byte",
        failures=failures,
        control="one action more in the space itself",
        control_failed=control,
        seed=seed,
    )


def _step(chance: random.Random) -> tuple[int, int, int]:
    return chance.randrange(1000), chance.randrange(1000), chance.randrange(1000)
