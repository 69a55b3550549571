"""All drills, two at a time, each in a process of its own; in the size of the gate, or in that of a release, kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from replay.drills.governed import CORPUS
from replay.drills.load import REPOSITORY
from replay.drills.outcome import Outcome
from replay.drills.results import Result, Results, facts, said_by
from replay.drills.table import DRILLS
from replay.machine import commit

AT_ONCE = 2
NEEDS = {"governed": CORPUS}  # a drill over data that is no part of the repository
LONG_FIRST = ("soak", "powercut", "bitflip", "hostile", "erase", "kill9", "race", "iofault")


class Order(Struct, frozen=True, kw_only=True):
    """Which drills, how large, and from which seed; and whether to leave out what stands from the last time."""

    release: bool
    seed: int
    share: float = 1.0
    resume: bool = False
    names: tuple[str, ...] = ()


class Ran(Struct, frozen=True, kw_only=True):
    """One drill that ran, or could not; how it ended, and how long it took. One that broke down has no outcome."""

    name: str
    number: int = 0
    said: str
    ending: int | None = None
    seconds: float = 0
    outcome: Outcome | None = None


def run_all(order: Order, results: Results | None) -> bool:
    """Run the drills and print a line for each; put each result at once where told. Return whether all passed."""
    code, began = commit(), time.monotonic()
    stand = results.rows() if results is not None and order.resume else {}
    names = [
        name
        for name in sorted(order.names or DRILLS, key=lambda name: LONG_FIRST.index(name) if name in LONG_FIRST else 99)
        if name not in stand or not stand[name].stands_for(code, order.seed, order.share)
    ]

    def done(name: str) -> Ran:
        ran = _run(name, order)
        print(f"[{ran.seconds:4.0f} s] {ran.said}", flush=True)
        if results is not None and ran.ending is not None:
            results.put(_result(ran, order, code))
        return ran

    with ThreadPoolExecutor(AT_ONCE) as pool:
        all_ran = list(pool.map(done, names))
    print(f"{len(all_ran)} drills in {time.monotonic() - began:.0f} s")
    return not any(one.ending for one in all_ran)


def _run(name: str, order: Order) -> Ran:
    needed = NEEDS.get(name)
    if needed is not None and not needed.exists():
        return Ran(name=name, said=f"{name}: not run, {needed.name} is not there")
    drill, began = DRILLS[name], time.monotonic()
    whole = drill.release if order.release else drill.gate
    number = max(1, int(whole * order.share)) if whole else 0
    given = ["--n", str(number), "--seed", str(order.seed)]
    with tempfile.TemporaryDirectory(prefix="muniment-drills-") as scratch:
        told = Path(scratch) / "outcome.json"
        process = subprocess.run(
            [sys.executable, "-m", "replay", "drill", name, *given, "--json", str(told)],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
            capture_output=True,
            text=True,
            check=False,
        )
        outcome = msgspec.json.decode(told.read_bytes(), type=Outcome) if told.exists() else None
    said = process.stdout.strip() or f"{name}: ended with {process.returncode}: {process.stderr[-500:]}"
    seconds = time.monotonic() - began
    return Ran(name=name, number=number, said=said, ending=process.returncode, seconds=seconds, outcome=outcome)


def _result(ran: Ran, order: Order, code: str) -> Result:
    outcome = ran.outcome
    return Result(
        name=ran.name,
        number=ran.number,
        figure=DRILLS[ran.name].release,
        share=order.share,
        seed=order.seed,
        seconds=round(ran.seconds, 1),
        commit=code,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=facts(),
        said=said_by(outcome) if outcome is not None else f"broke down, ended with {ran.ending}",
        passed=outcome is not None and outcome.passed,
        control=outcome.controlled if outcome is not None else "",
    )
