"""All drills, two at a time, each in a process of its own; in the size of the gate, or of a release with a report."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from replay.drills.governed import CORPUS
from replay.drills.load import REPOSITORY
from replay.drills.table import DRILLS
from replay.machine import machine

AT_ONCE = 2
NEEDS = {"governed": CORPUS}  # a drill over data that is no part of the repository
LONG_FIRST = ("soak", "powercut", "bitflip", "hostile", "erase", "kill9", "race", "iofault")


class Order(Struct, frozen=True, kw_only=True):
    """Which drills, how large, and from which seed."""

    release: bool
    seed: int
    share: float = 1.0
    names: tuple[str, ...] = ()


class Ran(Struct, frozen=True, kw_only=True):
    """One drill that ran: what it said, how it ended, and how long it took. One that could not run has no ending."""

    name: str
    said: str
    ending: int | None
    seconds: float


def run_all(order: Order, report: Path | None) -> bool:
    """Run the drills and print a line for each; write a report when told where. Return whether all passed."""
    names = sorted(order.names or DRILLS, key=lambda name: LONG_FIRST.index(name) if name in LONG_FIRST else 99)
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(lambda name: _told(_run(name, order)), names))
    print(f"{len(done)} drills in {time.monotonic() - began:.0f} s")
    if report is not None:
        report.write_text(_markdown(order, done))
    return not any(one.ending for one in done)


def _run(name: str, order: Order) -> Ran:
    needed = NEEDS.get(name)
    if needed is not None and not needed.exists():
        return Ran(name=name, said=f"{name}: not run, {needed.name} is not there", ending=None, seconds=0)
    drill, began = DRILLS[name], time.monotonic()
    whole = drill.release if order.release else drill.gate
    number = max(1, int(whole * order.share)) if whole else 0
    process = subprocess.run(
        [sys.executable, "-m", "replay", "drill", name, "--n", str(number), "--seed", str(order.seed)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )
    said = process.stdout.strip() or f"{name}: ended with {process.returncode}: {process.stderr[-500:]}"
    return Ran(name=name, said=said, ending=process.returncode, seconds=time.monotonic() - began)


def _told(ran: Ran) -> Ran:
    print(f"[{ran.seconds:4.0f} s] {ran.said}", flush=True)
    return ran


def _markdown(order: Order, done: list[Ran]) -> str:
    facts = [f"- {name}: {value}" for name, value in machine(Path("/tmp")).items()]  # noqa: S108 - where scratch lies
    share = "" if order.share == 1.0 else f", {order.share:.0%} of the figures of a release"
    lines = [
        "# Drills",
        "",
        f"Written by `python -m replay drills --release`, seed {order.seed}{share}. What each drill does and what must",
        "hold is said in [README.md](README.md). Cuts, flips and faults are made on copies in memory: what a real disk",
        "does when its power goes is modelled after what SQLite assumes of disks, not measured.",
        "",
        *facts,
        "",
        "| drill | s | what was tried, and what was found |",
        "|---|---|---|",
        *(f"| `{one.name}` | {one.seconds:.0f} | {one.said.partition(': ')[2].replace('|', '/')} |" for one in done),
    ]
    return "\n".join(lines) + "\n"
