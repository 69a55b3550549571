"""Kill hosts between the answer of a model and the acknowledgement of its commit, and let them repeat the exchange.

Hosts of every adapter that can run here (`adapters`) go through lives that end at many points of the commit
(`host_lives`). After each, the store is opened: every acknowledged exchange is there, each is there once, in order, and
at most the one that was under way is there without an acknowledgement. Then the next life repeats that one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import msgspec

from replay.drills.adapters import ADAPTERS
from replay.drills.host_lives import HostLives
from replay.drills.load import REPOSITORY
from replay.drills.outcome import Outcome

KILLS = 40  # of each adapter
CONTROL_KILLS_MAX = 25
SAID_CHARS_MAX = 4000


def host_kill9(count: int | None, seed: int) -> Outcome:
    """Kill so many hosts of each adapter."""
    here = [name for name, adapter in ADAPTERS.items() if adapter.missing is None]
    left_out = [f"{name} (no {adapter.missing})" for name, adapter in ADAPTERS.items() if adapter.missing]
    total, failures = HostLives(), list[str]()
    for name in here:
        done = _lives(name, count or KILLS, seed)
        failures += [f"{name}: {wrong}" for wrong in done.wrong]
        total.kills += done.kills
        total.committed += done.committed
        total.exchanges += done.exchanges
    control = _lives(here[0], CONTROL_KILLS_MAX, seed, hasty=True) if here else HostLives()
    return Outcome(
        name="host_kill9",
        tried=f"{total.kills} hosts killed with {', '.join(here)}, {total.exchanges:,} exchanges acknowledged, "
        f"{total.committed} committed and not acknowledged when their host died; "
        f"not installed: {', '.join(left_out) or 'none'}",
        failures=failures,
        control=f"hosts that acknowledge before they commit, {control.kills} killed",
        control_failed=bool(control.wrong),
        seed=seed,
    )


def _lives(adapter: str, kills: int, seed: int, *, hasty: bool = False) -> HostLives:
    """Kill hosts in a process of its own, which forks them."""
    with tempfile.TemporaryDirectory(prefix="muniment-hosts-") as scratch:
        kind = "hasty" if hasty else "honest"
        ended = subprocess.run(
            [sys.executable, "-m", "replay.drills.host_lives", scratch, adapter, str(kills), str(seed), kind],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
            capture_output=True,
            check=False,
        )
        if ended.returncode:
            return HostLives(wrong=[f"ended with {ended.returncode}: {ended.stderr[-SAID_CHARS_MAX:].decode()}"])
        return msgspec.json.decode(ended.stdout, type=HostLives)
