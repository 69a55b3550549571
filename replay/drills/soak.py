"""Commit for long: memory and open files must not grow with the log, and the whole of it must be sound in the end.

Memory is looked at after a tenth of the turns and at the end (a tenth is time enough for caches to fill); a growth of
more than a tenth has failed. The control is a host that keeps every turn it delivers.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

from muniment.errors import MunimentError
from muniment.governance.views import View
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.stores import opened
from replay.words import Words, key_of

TURNS = 20_000
CHARACTERS = 100
CONVERSATION_TURNS = 200
READ_EVERY = 50
GROWTH_MAX = 0.10
KEPT_CHARACTERS = 20_000  # of a turn that the control keeps


def soak(count: int | None, seed: int) -> Outcome:
    """Commit so many turns."""
    turns = count or TURNS
    early = max(1, turns // 10)
    failures: list[str] = []
    words = Words(small=True)
    with scratch_directory("soak") as home:
        try:
            with opened(home) as runtime:
                memory = files = 0
                for number in range(1, turns + 1):
                    name = f"talk {number // CONVERSATION_TURNS}"
                    runtime.transcripts.commit(words.turn(name, number, characters=CHARACTERS))
                    if number % READ_EVERY == 0:
                        runtime.transcripts.replay(key_of(name), View.MODEL_CONTEXT)
                    if number == early:
                        memory, files = memory_bytes(), open_files()
                grown, more = memory_bytes() / memory - 1, open_files() - files
                found = runtime.evidence.audit().spaces[0].turns
        except MunimentError as refused:
            failures.append(str(refused))
            grown, more, found = 0.0, 0, turns
    if grown > GROWTH_MAX:
        failures.append(f"memory grew by {grown:.0%} after turn {early:,}")
    if more > 0:
        failures.append(f"{more} more files are open")
    if found != turns:
        failures.append(f"the audit found {found:,} turns")
    before = memory_bytes()
    kept = [words.take(KEPT_CHARACTERS) for _ in range(max(2000, early))]
    control = memory_bytes() / before - 1
    del kept
    return Outcome(
        name="soak",
        tried=f"{turns:,} turns, memory {grown:+.1%} and {more:+d} open files after the first {early:,}",
        failures=failures,
        control=f"a program that keeps what it delivers, {control:+.0%}",
        control_failed=control > GROWTH_MAX,
        seed=seed,
    )


def memory_bytes() -> int:
    """Return how much memory this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
