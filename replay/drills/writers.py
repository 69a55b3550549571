"""Many processes append to one store at once, turns and memory: nobody is turned away, nothing is lost."""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
from pathlib import Path

from muniment.errors import MunimentError
from replay.drills import load
from replay.drills.outcome import Outcome
from replay.drills.remembering import FORGOTTEN_EVERY, REMEMBERED_EVERY, items_of, wrong_with
from replay.stores import opened, turns_of

WRITERS = 8
TURNS = 200
IMPATIENT_ROWS = 300


def writers(count: int | None, seed: int) -> Outcome:
    """Let eight processes commit so many turns each."""
    turns = count or TURNS
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="muniment-writers-") as scratch:
        directory = Path(scratch)
        opened(directory).close()
        processes = [load.start(directory, f"writer {place}", turns=turns) for place in range(WRITERS)]
        for process in processes:
            acknowledged, said = process.communicate()
            if process.returncode:
                failures.append(f"a writer ended with {process.returncode}: {said[-900:]!r}")
            lines = sum(load.acknowledged(line)[0] is load.Step.TURN for line in acknowledged.splitlines())
            if lines != turns:
                failures.append(f"a writer acknowledged {lines} turns")
        failures += _missing(directory, turns)
        refused = _impatient(directory / "control.db")
    return Outcome(
        name="writers",
        tried=f"{WRITERS} processes committed {turns} turns each to one store",
        failures=failures,
        control=f"sqlite3 that does not wait, locked {refused} times",
        control_failed=refused > 0,
        seed=seed,
    )


def _missing(directory: Path, turns: int) -> list[str]:
    failures: list[str] = []
    try:
        with opened(directory) as runtime:
            items = items_of(runtime)
            for place in range(WRITERS):
                remembered, forgotten = (turns - turns % every for every in (REMEMBERED_EVERY, FORGOTTEN_EVERY))
                failures += wrong_with(items, f"writer {place}.0", remembered, forgotten)
                present = turns_of(runtime, f"writer {place}.0")
                if present != [f"turn-{number}" for number in range(1, turns + 1)]:
                    failures.append(f"{turns - len(present)} turns are gone, or their order")
            runtime.evidence.audit()
    except MunimentError as error:
        failures.append(str(error))
    return failures


def _impatient(path: Path) -> int:
    """Return how often processes that do not wait are locked out of a database."""
    sqlite3.connect(path).execute("CREATE TABLE turns (id INTEGER PRIMARY KEY, turn TEXT)").connection.close()
    context = multiprocessing.get_context("spawn")
    with context.Pool(WRITERS) as pool:
        refused = sum(pool.map(_insert, [path] * WRITERS, chunksize=1))
        pool.close()  # and not terminated: under coverage, a worker that goes to sleep misses the signal
        pool.join()
    return refused


def _insert(path: Path) -> int:
    refused = 0
    database = sqlite3.connect(path, isolation_level=None, timeout=0)
    for _ in range(IMPATIENT_ROWS):
        try:
            database.execute("INSERT INTO turns (turn) VALUES ('x')")
        except sqlite3.OperationalError:
            refused += 1
    database.close()
    return refused
