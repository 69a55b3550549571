"""Interrupt callers wherever they are; nobody may wait for somebody who has gone, and no acknowledged turn may be lost.

1. By trace: 1, 3 and 6 threads commit, erase and read while each is interrupted again and again: at every bytecode of
   the log in turn, and at every line of the package. A calm thread commits beside them.
2. By real signals to the main thread, at random moments, beside as many threads that are left alone.
3. `muniment import` in a process of its own, which gets a signal and is then started again.

Every thread has to get on: one that does not for `PATIENCE_S` hangs. What an interrupted caller asked for it asks for
again. In the end every conversation must hold exactly the acknowledged turns, and the audit must pass.

The control is a group commit that leaves a lock behind when it is interrupted; somebody must hang.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import muniment
from muniment.errors import MunimentError, StoreFault
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.log import group_commit
from muniment.runtime.runtime import Runtime
from replay.drills.load import REPOSITORY
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.stores import opened, turns_of
from replay.words import Words, key_of

TRACED = 10_000
SIGNALS_SHARE, IMPORTS_SHARE = 20, 200  # one for so many interrupts by trace
THREADS = (1, 3, 6)
PATIENCE_S = 60.0
CONTROL_PATIENCE_S = 3.0
CONTROL_TRACED_MAX = 2000
CALM_PAUSE_S = 0.002
PACKAGE = str(Path(muniment.__file__).parent)
GRAINS = (  # events of which code
    ("opcode", group_commit.__file__),
    ("opcode", str(Path(group_commit.__file__).parent)),
    ("line", PACKAGE),
)
MISSES_MAX = 5  # who follows passes fewer places than who leads
SIGNAL_S_MAX = 0.004
IMPORTED_CONVERSATIONS = 40
IMPORT_S_MAX = 1.5
WHO = "drill"


Interrupting = Callable[[str, Callable[[], object]], bool]  # does work of a kind, tells whether it was interrupted


class Interrupted(KeyboardInterrupt):
    """What the drill raises; Ctrl-C raises its base."""


class Lane:
    """One caller: what it has acknowledged, and how often it was interrupted."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self.name = name
        self.committed = self.interrupts = self.beats = 0
        self.errors: list[str] = []
        self._runtime = runtime
        self._words = Words(small=True)

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        """Keep an error: whatever a caller gets is a finding."""
        if isinstance(error, Exception):
            self.errors.append(f"{type(error).__name__}: {error}")
        return isinstance(error, Exception)

    def step(self, interrupting: Interrupting) -> None:
        """Commit a turn, sometimes erase the last one or read; ask again for what was interrupted."""
        number = self.committed + 1
        turn = self._words.turn(self.name, number, characters=40)
        self._done(interrupting, "commit", lambda: self._runtime.transcripts.commit(turn))
        self.committed = number
        if number % 16 == 0:
            self._done(interrupting, "erase", self._erase)
        if number % 4 == 0:
            self._done(interrupting, "read", lambda: self._runtime.transcripts.replay(key_of(self.name)))

    def _erase(self) -> None:
        last = TurnId(f"turn-{self.committed}")
        self._runtime.lifecycle.request(key_of(self.name), Transition.ERASE, "asked for", WHO, last)

    def _done(self, interrupting: Interrupting, kind: str, work: Callable[[], object]) -> None:
        once = interrupting
        while True:
            self.beats += 1
            try:
                if not once(kind, work):
                    return
                self.interrupts += 1
            except StoreFault as fault:  # whoever led was interrupted
                if fault.problem != "interrupted":
                    raise
            once = _left_alone


class Sweep:
    """Interrupts one caller at one place after the other: at the first bytecode or line, at the second, ..."""

    def __init__(self, first: int, stride: int) -> None:
        self._stride = stride
        self._at: defaultdict[tuple[str, int], int] = defaultdict(lambda: first)
        self._grains: Counter[str] = Counter()
        self._missed: Counter[tuple[str, int]] = Counter()

    def __call__(self, kind: str, work: Callable[[], object]) -> bool:
        """Do the work; return whether it was interrupted."""
        grain = self._grains[kind] % len(GRAINS)
        self._grains[kind] += 1
        self._at[kind, grain] += self._stride
        if _tripped(work, *GRAINS[grain], self._at[kind, grain]):
            self._missed[kind, grain] = 0
            return True
        self._at[kind, grain] -= self._stride
        self._missed[kind, grain] += 1
        if self._missed[kind, grain] > MISSES_MAX:
            del self._at[kind, grain]
        return False


def _left_alone(_: str, work: Callable[[], object]) -> bool:
    work()
    return False


def _tripped(work: Callable[[], object], event: str, below: str, at: int) -> bool:
    """Do work, interrupted at the so many-th event of the code below a directory; tell whether there were as many."""
    left = at

    def trace(frame: FrameType, happened: str, _: object) -> Callable[..., Any] | None:
        nonlocal left
        if not frame.f_code.co_filename.startswith(below):
            return None
        frame.f_trace_opcodes = event == "opcode"
        if happened == event:
            left -= 1
            if not left:
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        work()
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
    return False


def interrupt(count: int | None, seed: int) -> Outcome:
    """Interrupt so many times by trace, and in proportion by signals and in processes that import."""
    traced = count or TRACED
    signals, imports = max(1, traced // SIGNALS_SHARE), max(1, traced // IMPORTS_SHARE)
    failures: list[str] = []
    done = {"by trace": 0, "by signals": 0}
    for threads in THREADS:
        done["by trace"] += _round(failures, _by_trace, traced // len(THREADS) + 1, threads, seed)
        done["by signals"] += _round(failures, _by_signals, signals // len(THREADS) + 1, threads, seed)
    interrupted = sum(_import(failures, seed + number) for number in range(imports))
    control: list[str] = []
    with _leaving_locks():
        _round(control, _by_trace, CONTROL_TRACED_MAX, 1, seed, CONTROL_PATIENCE_S)
    return Outcome(
        name="interrupt",
        tried=f"{done['by trace']:,} interrupts by trace, {done['by signals']:,} by signals, with 1, 3 and 6 threads; "
        f"{interrupted} of {imports} imports interrupted and repeated",
        failures=failures,
        control="a group commit that leaves its lock behind",
        control_failed=bool(control),
        seed=seed,
    )


@contextlib.contextmanager
def _leaving_locks() -> Iterator[None]:
    """Let an interrupted caller keep the locks of the group commit."""
    usual = vars(group_commit)["let_go"]
    vars(group_commit)["let_go"] = lambda *_: None
    try:
        yield
    finally:
        vars(group_commit)["let_go"] = usual


Round = Callable[[list[Lane], int, int, float], str]


def _round(
    failures: list[str], way: Round, interrupts: int, threads: int, seed: int, patience_s: float = PATIENCE_S
) -> int:
    """Interrupt callers of a store of their own; return how often. A store that hangs is left as it is."""
    with scratch_directory("interrupt") as scratch:
        runtime = opened(scratch)
        lanes = [Lane(runtime, f"lane-{number}") for number in range(threads + 1)]  # the last one is calm
        hung = way(lanes, interrupts, seed, patience_s)
        if not hung:
            closing = threading.Thread(target=_told, args=(lanes[0], runtime.close), daemon=True)
            closing.start()
            closing.join(patience_s)
            hung = "close" if closing.is_alive() else ""
        if hung:
            failures.append(f"{threads} threads, {way.__name__.strip('_')}: hang: {hung}")
            return sum(lane.interrupts for lane in lanes)
        failures += [f"{lane.name}: {error}" for lane in lanes for error in lane.errors]
        failures += _lost(scratch, lanes)
    return sum(lane.interrupts for lane in lanes)


def _lost(directory: Path, lanes: list[Lane]) -> list[str]:
    """Return what is wrong with what is there, in a process that was not interrupted."""
    try:
        with opened(directory) as runtime:
            runtime.evidence.audit()
            return [
                f"{lane.name}: {len(there)} turns, {lane.committed} acknowledged"
                for lane in lanes
                if (there := turns_of(runtime, lane.name)) != [f"turn-{n}" for n in range(1, lane.committed + 1)]
            ]
    except MunimentError as refused:
        return [f"refused afterwards: {refused}"]


# --- by trace ---------------------------------------------------------------------------------------------------------


def _by_trace(lanes: list[Lane], interrupts: int, seed: int, patience_s: float) -> str:
    """Interrupt all lanes but the last by trace; return where somebody hangs."""
    each, over = -(-interrupts // (len(lanes) - 1)), threading.Event()
    workers = []
    for number, lane in enumerate(lanes[:-1]):
        sweep = Sweep((seed + number) % 7, 1 + number)
        work = _until(lane, sweep, partial(_is_over, lane, each, over))
        workers.append(threading.Thread(target=work, daemon=True))
    calm = threading.Thread(target=_until(lanes[-1], _calmly, over.is_set), daemon=True)
    for thread in (*workers, calm):
        thread.start()
    hung = _watched(lanes, workers, patience_s)
    over.set()
    return hung or _watched(lanes, [calm], patience_s)


def _is_over(lane: Lane, interrupts: int, over: threading.Event) -> bool:
    return lane.interrupts >= interrupts or over.is_set()


def _calmly(_: str, work: Callable[[], object]) -> bool:
    work()
    time.sleep(CALM_PAUSE_S)
    return False


def _until(lane: Lane, interrupting: Interrupting, is_over: Callable[[], bool]) -> Callable[[], None]:
    def run() -> None:
        while not is_over():
            lane.step(interrupting)

    return lambda: _told(lane, run)


def _told(lane: Lane, work: Callable[[], object]) -> None:
    with lane:
        work()


def _watched(lanes: list[Lane], threads: list[threading.Thread], patience_s: float) -> str:
    """Wait for threads; return where they are when nobody gets on."""
    before, since = [lane.beats for lane in lanes], time.monotonic()
    while any(thread.is_alive() for thread in threads):
        next(thread for thread in threads if thread.is_alive()).join(CALM_PAUSE_S * 50)
        now = [lane.beats for lane in lanes]
        stuck = [lane.name for lane, was, beats in zip(lanes, before, now, strict=True) if was == beats]
        if not stuck:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > patience_s and _alive_in(lanes, stuck, threads):
            return ", ".join(stuck)
    return ""


def _alive_in(lanes: list[Lane], stuck: list[str], threads: list[threading.Thread]) -> bool:
    """Tell whether somebody who got stuck had more to do."""
    running = [thread.is_alive() for thread in threads]
    return any(lane.name in stuck for lane, alive in zip(lanes, [*running, True], strict=False) if alive)


# --- by signals -------------------------------------------------------------------------------------------------------


def _by_signals(lanes: list[Lane], interrupts: int, seed: int, patience_s: float) -> str:
    """Interrupt the first lane, in the main thread, by signals, beside lanes that are left alone."""
    chance, over, armed = random.Random(seed), threading.Event(), threading.Event()  # noqa: S311 - repeatable
    first, main = lanes[0], threading.get_ident()

    def rings(*_: object) -> None:
        if armed.is_set():
            armed.clear()
            raise Interrupted

    def interrupting(_: str, work: Callable[[], object]) -> bool:
        bell = threading.Timer(chance.uniform(0, SIGNAL_S_MAX), signal.pthread_kill, (main, signal.SIGUSR1))
        bell.start()
        try:
            armed.set()
            work()
            armed.clear()
        except Interrupted:
            return True
        finally:
            bell.join()
        return False

    def watch() -> None:
        """Wake the main thread when it hangs."""
        before, since = first.beats, time.monotonic()
        while not over.wait(CALM_PAUSE_S * 50):
            if first.beats != before:
                before, since = first.beats, time.monotonic()
            elif time.monotonic() - since > patience_s:
                armed.set()
                signal.pthread_kill(main, signal.SIGUSR1)
                return

    usual = signal.signal(signal.SIGUSR1, rings)
    others = [threading.Thread(target=_until(lane, _calmly, over.is_set), daemon=True) for lane in lanes[1:]]
    watchman = threading.Thread(target=watch, daemon=True)
    try:
        for thread in (*others, watchman):
            thread.start()
        while first.interrupts < interrupts and watchman.is_alive():
            first.step(interrupting)
        hung = "" if watchman.is_alive() else first.name
    except Interrupted:
        hung = first.name
    finally:
        over.set()
        signal.signal(signal.SIGUSR1, usual)
    return hung or _watched(lanes[1:], others, patience_s)


# --- imports ----------------------------------------------------------------------------------------------------------


def _import(failures: list[str], seed: int) -> bool:
    """Interrupt an import with Ctrl-C, then let it end; return whether it was interrupted."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    with scratch_directory("interrupt") as scratch:
        file, words = scratch / "talks.jsonl", Words(small=True)
        file.write_text("".join(_talk(words, number) for number in range(IMPORTED_CONVERSATIONS)), encoding="utf-8")
        key = scratch / "root.key"
        try:
            interrupted, _ = _imported(scratch, file, key, chance.uniform(0, IMPORT_S_MAX))
            ended, out = _imported(scratch, file, key)
        except subprocess.TimeoutExpired:
            failures.append("an import hangs")
            return True
        report = json.loads(out) if ended == 0 else {}
        there = report.get("turns_committed", 0) + report.get("turns_already_there", 0)
        if there != IMPORTED_CONVERSATIONS:
            failures.append(f"an import was repeated and has {there} turns, exit {ended}")
        return interrupted != 0


def _talk(words: Words, number: int) -> str:
    messages = [{"role": role, "content": words.take(60)} for role in ("user", "assistant")]
    return json.dumps({"id": f"talk-{number}", "messages": messages}) + "\n"


def _imported(scratch: Path, file: Path, key: Path, interrupt_s: float | None = None) -> tuple[int, bytes]:
    """Import in a process of its own, with Ctrl-C after some seconds; return its exit code and its output.

    Coverage does not look: it holds a lock of its own now and then, which an interrupt would leave locked for good.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    process = subprocess.Popen(
        [sys.executable, "-m", "muniment", "import", str(file), "--store", str(scratch / "store"), "--json"],
        env={
            **inherited,
            "PYTHONPATH": str(REPOSITORY / "src"),
            "MUNIMENT_KEYS": f"file:{key}",
            "XDG_STATE_HOME": str(scratch / "state"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        if interrupt_s is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(interrupt_s)
            process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    return process.returncode, out
