"""Many processes of many threads append to the same conversations, repeat themselves, and read.

Every answer is taken down with its beginning and end, on a clock that all processes share; the history of each
conversation must be linearizable (`history`). Two controls, which must not be: a store that answers reads from what it
saw before, and one that tells the place of a turn before it has committed it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from muniment.errors import MunimentError
from muniment.events.turn import Turn
from muniment.runtime.runtime import Runtime
from replay.drills import racer
from replay.drills.history import Call, Read, faults
from replay.drills.load import REPOSITORY
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.drills.racer import NamedCall, Racer, raced
from replay.stores import opened

PROCESSES = 8
THREADS = 16
CALLS = 40  # of each thread
SMALL = 5  # fewer calls than this: a race of two processes with four threads
CONTROL_THREADS, CONTROL_CALLS = 8, 60


def race(count: int | None, seed: int) -> Outcome:
    """Let eight processes of sixteen threads do so many calls each."""
    calls = count or CALLS
    processes, threads = (2, 4) if calls <= SMALL else (PROCESSES, THREADS)
    failures: list[str] = []
    told: list[NamedCall] = []
    with scratch_directory("race") as home:
        opened(home).close()
        for process in [_start(home, f"{seed}.{number}", threads, calls) for number in range(processes)]:
            said, complaint = process.communicate()
            if process.returncode:
                failures.append(f"a process ended with {process.returncode}: {complaint[-300:]!r}")
            else:
                told += msgspec.json.decode(said, type=list[tuple[str, Call]])
        failures += _faults(told)
        with opened(home) as runtime:
            try:
                runtime.evidence.audit()
            except MunimentError as refused:
                failures.append(str(refused))
    controls = {name: _control(kind) for name, kind in BROKEN.items()}
    return Outcome(
        name="race",
        tried=f"{processes} processes of {threads} threads, {len(told):,} calls answered",
        failures=failures,
        control=", ".join(f"{name} ({'caught' if caught else 'NOT caught'})" for name, caught in controls.items()),
        control_failed=all(controls.values()),
        seed=seed,
    )


def _start(home: Path, name: str, threads: int, calls: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", racer.__name__, str(home), name, str(threads), str(calls)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _faults(told: list[NamedCall]) -> list[str]:
    conversations: dict[str, list[Call]] = {}
    for conversation, call in told:
        conversations.setdefault(conversation, []).append(call)
    return [fault for calls in conversations.values() for fault in faults(calls)]


# --- stores that are broken -------------------------------------------------------------------------------------------


class Stale(Racer):
    """Answers every other read with what it saw before."""

    def __init__(self, runtime: Runtime, name: str, seed: str) -> None:
        super().__init__(runtime, name, seed)
        self._kept: dict[str, tuple[int, str]] = {}

    def read(self, conversation: str) -> Read:
        """Read, or remember."""
        kept = self._kept.pop(conversation, None)
        began = self._now_ns()
        now = kept or self.seen(conversation)
        if kept is None:
            self._kept[conversation] = now
        return Read(began=began, ended=self._now_ns(), length=now[0], last=now[1])


class Hasty(Racer):
    """Tells the place of a turn that it has not committed yet: the one behind the last."""

    def append(self, conversation: str, turn: object) -> int:
        """Guess, and commit then."""
        assert isinstance(turn, Turn), "as made"
        guess, _ = self.seen(conversation)
        self.runtime.transcripts.commit(turn)
        return guess + 1


BROKEN: dict[str, type[Racer]] = {
    "a store that returns stale data": Stale,
    "a store that returns a position before it commits": Hasty,
}


def _control(kind: type[Racer]) -> bool:
    with scratch_directory("race-control") as home, opened(home) as runtime:
        return bool(_faults(raced(runtime, "control", CONTROL_THREADS, CONTROL_CALLS, kind)))
