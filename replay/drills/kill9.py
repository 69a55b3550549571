"""Kill writers under load, at random moments, without warning; then look for every turn that was acknowledged.

In a round several processes of two threads each commit to one store, which has survived all rounds before. They are
killed one after the other, a random while apart, so that each dies while others write. Afterwards the store is opened:
every acknowledged turn must be there, the sequences of each conversation dense, every acknowledged item remembered or
forgotten, none by half (`remembering`), and the audit of the whole log passes.
A process that is killed loses nothing that the operating system has taken; what a power cut loses, this cannot show.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from muniment.errors import MunimentError
from replay.drills import load
from replay.drills.load import Step
from replay.drills.outcome import Outcome
from replay.drills.remembering import FORGOTTEN_EVERY, REMEMBERED_EVERY, items_of, wrong_with
from replay.stores import opened, turns_of

KILLS = 100
WRITERS, THREADS = 4, 2
KILLS_EACH = 100  # in one store: every round looks at all of it
ENDLESS = 1_000_000
LOAD_S_MAX = 0.4
GAP_S_MAX = 0.05
START_TIMEOUT_S = 60
CONTROL_ROUNDS_MAX = 20
EVERY = {Step.TURN: 1, Step.ITEM: REMEMBERED_EVERY, Step.FORGOTTEN: FORGOTTEN_EVERY}  # turns

# step, conversation -> the highest turn of which it was acknowledged; a thread does them in order
Acknowledged = dict[tuple[Step, str], int]


class Victim:
    """A process under load, and what it has acknowledged."""

    def __init__(self, directory: Path, name: str, *, hasty: bool) -> None:
        self.acknowledged: Acknowledged = {}
        self.is_working = threading.Event()
        self._process = load.start(directory, name, turns=ENDLESS, threads=THREADS, hasty=hasty)
        self._ear = threading.Thread(target=self._listen)
        self._ear.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None, "it was started with a pipe"
        for line in self._process.stdout:
            if line.endswith(b"\n"):
                step, conversation, number = load.acknowledged(line)
                self.acknowledged[step, conversation] = number
                self.is_working.set()
        self.is_working.set()

    def kill(self) -> None:
        """Kill it, with everything that it holds in memory."""
        self._process.kill()

    def destroy_keys(self) -> str | None:
        """Wait for its end; return how it failed if it had ended before it was killed."""
        self._ear.join()
        _, said = self._process.communicate()
        if self._process.returncode == -9:
            return None
        return f"a writer ended by itself with {self._process.returncode}: {said[-4000:].decode()}"


def kill9(count: int | None, seed: int) -> Outcome:
    """Kill so many writers; search for what was acknowledged."""
    kills = count or KILLS
    chance = random.Random(seed)  # noqa: S311 - the moments of a drill are no secret
    failures: list[str] = []
    done: Counter[Step] = Counter()
    events = killed = 0
    while killed < kills:
        with tempfile.TemporaryDirectory(prefix="muniment-kill9-") as scratch:
            directory = Path(scratch)
            number = min(KILLS_EACH, kills - killed)
            acknowledged, wrong = _store(directory, number, chance)
            events += _events(directory)
        failures += wrong
        for step in Step:
            done[step] += _count(acknowledged, step)
        killed += number
    control, found = _control(chance)
    return Outcome(
        name="kill9",
        tried=f"{killed} writers killed under load, {done[Step.TURN]:,} turns, {done[Step.ITEM]:,} memory items and "
        f"{done[Step.FORGOTTEN]:,} forgotten ones acknowledged, {events:,} events in the logs",
        failures=failures,
        control=control,
        control_failed=found,
        seed=seed,
    )


def _count(acknowledged: Acknowledged, step: Step) -> int:
    """Return how many steps of a kind were acknowledged."""
    return sum(number // EVERY[step] for (known, _), number in acknowledged.items() if known is step)


def _store(directory: Path, kills: int, chance: random.Random) -> tuple[Acknowledged, list[str]]:
    """Kill so many writers of one store; return what was acknowledged, and what is wrong with it."""
    opened(directory).close()
    everything: Acknowledged = {}
    failures: list[str] = []
    killed = 0
    while killed < kills:
        number = min(WRITERS, kills - killed)
        acknowledged, ended = _round(directory, f"round {killed}", number, chance)
        everything |= acknowledged
        failures += [*ended, *_lost(directory, acknowledged)]
        killed += number
    return everything, failures + _lost(directory, everything)


def _round(
    directory: Path, name: str, number: int, chance: random.Random, *, hasty: bool = False
) -> tuple[Acknowledged, list[str]]:
    """Let writers work, kill them; return what they acknowledged, and how any ended before that."""
    victims = [Victim(directory, f"{name} writer {place}", hasty=hasty) for place in range(number)]
    for victim in victims:
        victim.is_working.wait(START_TIMEOUT_S)
    time.sleep(chance.uniform(0, LOAD_S_MAX))
    for victim in victims:
        victim.kill()
        time.sleep(chance.uniform(0, GAP_S_MAX))
    ended = [how for victim in victims if (how := victim.destroy_keys()) is not None]
    acknowledged: Acknowledged = {}
    for victim in victims:
        acknowledged |= victim.acknowledged
    return acknowledged, ended


def _lost(directory: Path, acknowledged: Acknowledged) -> list[str]:
    """Open the store and return what is wrong with it."""
    failures: list[str] = []
    try:
        with opened(directory) as runtime:
            health = runtime.system.health()
            if not health.sound:
                return [f"the store is not sound: {health.fault_message}"]
            items = items_of(runtime)
            for conversation in {conversation for _, conversation in acknowledged}:
                last, remembered, forgotten = (acknowledged.get((step, conversation), 0) for step in Step)
                failures += wrong_with(items, conversation, remembered, forgotten)
                present = turns_of(runtime, conversation)
                if present != [f"turn-{number}" for number in range(1, len(present) + 1)]:
                    failures.append("turns are missing in between")
                if len(present) < last:
                    failures.append(f"{last - len(present)} acknowledged turns are gone")
            runtime.evidence.audit()
    except MunimentError as error:
        failures.append(str(error))
    return failures


def _events(directory: Path) -> int:
    with opened(directory) as runtime:
        return runtime.system.health().events


def _control(chance: random.Random) -> tuple[str, bool]:
    """Kill writers that acknowledge before they commit, until a loss is found."""
    lost: list[str] = []
    with tempfile.TemporaryDirectory(prefix="muniment-kill9-control-") as scratch:
        directory = Path(scratch)
        opened(directory).close()
        for number in range(1, CONTROL_ROUNDS_MAX + 1):
            acknowledged, _ = _round(directory, f"control {number}", WRITERS, chance, hasty=True)
            lost += _lost(directory, acknowledged)
            if lost:
                break
    return f"writers that acknowledge before they commit, {number * WRITERS} killed", bool(lost)
