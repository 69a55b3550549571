"""Lives of a host: it goes on where the one before it was killed, and is killed itself.

    python -m replay.drills.host_lives DIRECTORY ADAPTER KILLS SEED honest|hasty

Prints one JSON value: what was done and what is wrong. The process itself never opens a store; each life and each
look at the store is a fork of it, which saves importing the framework every time.

A life is killed by itself with SIGKILL: between two lines of Python, the n-th after the model has answered, or a random
time after it, which reaches what is below Python. `hasty` hosts acknowledge what the model answered before it is
committed: the control.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from replay.drills.adapters import ADAPTERS, said
from replay.stores import opened

LIVES_EACH = 25  # in one store
EXCHANGES_MAX = 3  # before the one that is killed
BEYOND = 1.2  # a life may end a little after what was measured
OF_LINES = 0.5  # of the deaths, those between two lines of Python


class HostLives(Struct, kw_only=True):
    """What was done: lives that were killed, how many of them with the exchange in the store, and what is wrong."""

    kills: int = 0
    committed: int = 0
    exchanges: int = 0
    wrong: list[str] = []


class Death(Struct, frozen=True, kw_only=True):
    """When a life ends: in which exchange from its first, after how many lines or seconds, counted from the answer."""

    exchange: int
    lines: int | None = None
    seconds: float | None = None


class LineCounter:
    """Counts the lines that this process runs, in this thread and those that start, and kills it after the last."""

    def __init__(self, last: int | None = None) -> None:
        self.lines = 0
        self._last = last

    def start(self) -> None:
        """Count from now on."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Count no more."""
        threading.settrace(None)
        sys.settrace(None)

    def _trace(self, _frame: Any, event: str, _what: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self._last is not None and self.lines > self._last:
                _die()
        return self._trace


def rehearsal(directory: Path, adapter: str) -> tuple[int, float]:
    """Do two exchanges; return how many lines and how many seconds there are between an answer and its return."""
    counter, began = LineCounter(), [0.0]

    def answered() -> None:
        if not began[0]:
            counter.start()
        began[0] = time.monotonic()

    with opened(directory) as runtime:
        exchange = ADAPTERS[adapter].start(runtime, answered)
        exchange(1)
        counter.stop()
        exchange(2)
        return counter.lines, time.monotonic() - began[0]


def life(directory: Path, adapter: str, first: int, death: Death, *, hasty: bool) -> None:
    """Do exchanges from `first` on and acknowledge each on the standard output, until death."""
    now = first

    def answered() -> None:
        if hasty:
            _acknowledge(now)
        if now - first < death.exchange:
            return
        if death.lines is not None:
            LineCounter(death.lines).start()
        else:
            threading.Thread(target=_die, args=[death.seconds], daemon=True).start()

    runtime = opened(directory)
    exchange = ADAPTERS[adapter].start(runtime, answered)
    while True:
        exchange(now)
        if now - first == death.exchange:
            _die()  # it has returned, and nobody was told
        if not hasty:
            _acknowledge(now)
        now += 1


def _die(after_s: float | None = None) -> None:
    if after_s:
        time.sleep(after_s)
    os.kill(os.getpid(), signal.SIGKILL)


def _acknowledge(number: int) -> None:
    os.write(1, f"{number}\n".encode())


def look(directory: Path, adapter: str, acknowledged: int) -> tuple[int, list[str]]:
    """Return how many exchanges a store has, and what is wrong with it."""
    with opened(directory) as runtime:
        texts = ADAPTERS[adapter].said(runtime)
        wrong = [] if runtime.system.health().sound else ["the store is not sound"]
    there = len(texts) // 2
    if texts != said(there):
        wrong.append(f"after {acknowledged} exchanges the store has {len(texts)} texts, or others")
    if there < acknowledged:
        wrong.append(f"{acknowledged - there} acknowledged exchanges are gone")
    if there > acknowledged + 1:
        wrong.append(f"{there - acknowledged - 1} exchanges are doubled")
    return there, wrong


def forked(work: Callable[[], Any]) -> tuple[list[Any], int]:
    """Do work in a fork; return what it wrote, line by line, and how it ended: 0, or the signal."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(writer, 1)
        try:
            os.write(1, json.dumps(work()).encode() + b"\n")
        finally:
            sys.stderr.flush()
            os._exit(0 if sys.exc_info()[0] is None else 70)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        written = [json.loads(line) for line in pipe.read().splitlines()]
    _, status = os.waitpid(child, 0)
    return written, os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def lives(directory: Path, adapter: str, kills: int, seed: int, *, hasty: bool) -> HostLives:
    """Kill so many lives of hosts; stop at the first store in which something is wrong."""
    for package in ADAPTERS[adapter].packages:
        import_module(package)  # here, and not in every fork
    chance = random.Random(seed)  # noqa: S311 - the moments of a drill are no secret
    done = HostLives()
    while done.kills < kills and not done.wrong:
        place = directory / str(done.kills)
        place.mkdir()
        _store(place, adapter, min(LIVES_EACH, kills - done.kills), chance, done, hasty=hasty)
    return done


def _store(directory: Path, adapter: str, kills: int, chance: random.Random, done: HostLives, *, hasty: bool) -> None:
    """Let hosts of one store die, and look at it after each."""
    [[lines, seconds]], _ = forked(partial(rehearsal, directory, adapter))
    acknowledged = 2
    for _ in range(kills):
        death = _death(chance, lines, seconds)
        written, ended = forked(partial(life, directory, adapter, acknowledged + 1, death, hasty=hasty))
        acknowledged = max([acknowledged, *written])
        if ended != signal.SIGKILL:
            done.wrong.append(f"a host ended by itself with {ended}")
        [[there, wrong]], _ = forked(partial(look, directory, adapter, acknowledged))
        done.kills += 1
        done.committed += there > acknowledged
        done.wrong += wrong
        if done.wrong:
            break
    done.exchanges += acknowledged


def _death(chance: random.Random, lines: int, seconds: float) -> Death:
    exchange = chance.randrange(EXCHANGES_MAX)
    if chance.random() < OF_LINES:
        return Death(exchange=exchange, lines=chance.randrange(int(lines * BEYOND)))
    return Death(exchange=exchange, seconds=chance.uniform(0, seconds * BEYOND))


def main() -> None:
    """Run from the command line."""
    directory, adapter, kills, seed, kind = sys.argv[1:]
    done = lives(Path(directory), adapter, int(kills), int(seed), hasty=kind == "hasty")
    print(msgspec.json.encode(done).decode())


if __name__ == "__main__":
    main()
