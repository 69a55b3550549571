"""Let the n-th call of a kind fail, once or permanently, in the middle of a store's work.

1. A script is run once without faults, to count its calls: commits, masks, erasures, a rotation, a checkpoint, closing
   and opening again.
2. It is run again and again; in each run another call fails. Whoever asked must get an error of ours, and may go on.
   After an error of the disk nothing is acknowledged before the database was flushed again.
3. Then the disk is well again and the store is opened: it is sound, its audit passes, what was acknowledged is there as
   it was acknowledged, and what was refused is there whole or not at all.

The control is a disk that drops a write and reports success: then something must be missed.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from muniment.errors import MunimentError, StoreFault
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, TurnId
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.drills.faulty import HOWS, Call, FaultyDisk, How, Plan, faulty
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.stores import opened, pages_of
from replay.words import Words, key_of

RUNS = 2000
CONTROL_RUNS_MAX = 200
ABSENT = "absent"
ERASED = "erased"
WHO = "drill"

Place = tuple[str, int]  # a conversation, the number of a turn


class Script:
    """What is done to a store, and what may be found afterwards."""

    def __init__(self, home: Path, disk: FaultyDisk) -> None:
        self._home = home
        self._disk = disk
        self._words = Words(small=True)
        self.runtime: Runtime | None = None
        self.states: dict[Place, set[str]] = {}  # the phases that a turn may be in
        self.alone: dict[Place, set[bool]] = {}  # whether its second message may be erased alone
        self.texts: dict[Place, str] = {}
        self.refused: list[MunimentError] = []
        self.untyped: list[str] = []
        self._barrier: int | None = None  # how many there had been when the disk failed last
        self.unflushed = 0

    def run(self) -> None:
        """Do all of it; what is refused is left out."""
        for action in (
            self._open,
            lambda: self._commit("one", 1, 200),
            lambda: self._commit("two", 1, 20),
            lambda: self._request("one", 1, Transition.MASK, "masked"),
            lambda: self._commit("one", 2, 3000),
            self._checkpoint,
            lambda: self._request("one", 1, Transition.ERASE, ERASED),
            lambda: self._commit("one", 3, 200),
            self._rotate,
            lambda: self._commit("two", 2, 200),
            self._again,
            lambda: self._commit("one", 4, 200),
            lambda: self._erase_message("two", 1),
            self._read,
            self._close,
        ):
            self._attempt(action)
        self._attempt(self._close)

    def _attempt(self, action: Callable[[], object]) -> None:
        hits = self._disk.hits
        try:
            action()
        except MunimentError as refused:
            self.refused.append(refused)
            if isinstance(refused, StoreFault) and refused.at is None and self._disk.hits > hits:
                self._barrier = self._disk.barriers_before
        except (apsw.Error, OSError, AssertionError, LookupError, TypeError, ValueError) as raised:
            self.untyped.append(f"{type(raised).__name__} after {self._disk.plan}")

    # --- actions ------------------------------------------------------------------------------------------------------

    def _now(self) -> Runtime:
        if self.runtime is None:
            self._open()
        assert self.runtime is not None, "it was opened"
        return self.runtime

    def _open(self) -> None:
        if not any(path.stat().st_size for path in self._home.rglob("*.db-wal")):
            self._barrier = None  # nothing that was not flushed is left
        self.runtime = opened(self._home)

    def _close(self) -> None:
        runtime, self.runtime = self.runtime, None
        if runtime is not None:
            runtime.close()

    def _again(self) -> None:
        try:
            self._close()
        finally:
            self._open()

    def _commit(self, name: str, number: int, characters: int) -> None:
        turn = self._words.turn(name, number, characters=characters)
        self.texts[name, number] = str(turn.messages[0].content)
        self.states[name, number] = {ABSENT, "active"}
        self._now().transcripts.commit(turn)
        self.states[name, number] = {"active"}
        if self._barrier is not None and self._disk.barriers == self._barrier:
            self.unflushed += 1
        self._barrier = None

    def _request(self, name: str, number: int, transition: Transition, phase: str) -> None:
        self.states[name, number] |= {phase}
        if self._now().lifecycle.request(key_of(name), transition, "why", WHO, TurnId(f"turn-{number}")).affected_turns:
            self.states[name, number] = {phase}

    def _erase_message(self, name: str, number: int) -> None:
        self.alone[name, number] = {False, True}
        scope = Scope(conversation=ConversationId(name), message=f"turn-{number}#1")
        if self._now().lifecycle.erase(scope, "why", WHO).changed:
            self.alone[name, number] = {True}

    def _checkpoint(self) -> None:
        self._now().evidence.checkpoint()

    def _rotate(self) -> None:
        self._now().spaces.rotate()

    def _read(self) -> None:
        for name in ("one", "two"):
            pages_of(self._now(), key_of(name), View.RAW_OWNER)

    # --- what is there ------------------------------------------------------------------------------------------------

    def wrong(self) -> list[str]:
        """Open the store on a disk that is well, and return what is wrong with it."""
        found = [f"untyped: {one}" for one in self.untyped]
        if self.unflushed:
            found.append("acknowledged after a fault without a barrier")
        try:
            with opened(self._home) as runtime:
                health = runtime.system.health()
                if not health.sound:
                    return [*found, f"not sound: {health.fault_message}"]
                for place, states in self.states.items():
                    found += self._wrong_with(runtime, place, states)
                runtime.evidence.audit()
        except (MunimentError, apsw.Error) as refused:
            found.append(f"refused: {refused}")
        return found

    def _wrong_with(self, runtime: Runtime, place: Place, states: set[str]) -> list[str]:
        name, number = place
        shown = [turn for page in pages_of(runtime, key_of(name), View.RAW_OWNER) for turn in page.turns]
        turns = [turn for turn in msgspec.to_builtins(shown) if turn["turn"] == f"turn-{number}"]
        phase = turns[0]["phase"] if turns else ABSENT
        if len(turns) > 1 or phase not in states:
            return [f"{len(turns)} turns that should be {' or '.join(sorted(states))}, the first {phase}"]
        if phase != "active":
            return []
        first, second = (message.get("parts", []) for message in turns[0]["messages"])
        if not first or first[0]["content"] != self.texts[place]:
            return ["an acknowledged turn has other words"]
        if bool(second) not in {not gone for gone in self.alone.get(place, {False})}:
            return ["a message that should be erased alone or not is otherwise"]
        return []


def iofault(count: int | None, seed: int) -> Outcome:
    """Let so many calls fail, each in a run of its own."""
    chance = random.Random(seed)  # noqa: S311 - which calls a drill chooses is no secret
    with scratch_directory("iofault") as scratch:
        calls = _counted(scratch)
        plans = [
            Plan(call, how, number, for_ever)
            for call, hows in HOWS.items()
            for how in hows
            for for_ever in (False, True)
            for number in range(1, calls[call] + 1)
        ]
        chosen = chance.sample(plans, min(count or RUNS, len(plans)))
        failures, hit, refused = [], 0, 0
        for plan in chosen:
            wrong, script_refused, hits = _run(scratch, plan)
            failures += [
                f"{plan.call} {plan.number} {plan.how}{' permanently' if plan.for_ever else ''}: {one}" for one in wrong
            ]
            hit += bool(hits)
            refused += script_refused
        numbers = range(1, min(calls[Call.WRITE], CONTROL_RUNS_MAX) + 1)
        control = any(_run(scratch, Plan(Call.WRITE, How.SILENT, number, for_ever=False))[0] for number in numbers)
    return Outcome(
        name="iofault",
        tried=f"{len(chosen):,} of {len(plans):,} faults, {hit:,} of them reached, {refused:,} requests refused",
        failures=failures if hit else ["no fault was met"],
        control="a disk that drops a write silently",
        control_failed=control,
        seed=seed,
    )


def _counted(scratch: Path) -> dict[Call, int]:
    home = scratch / "well"
    home.mkdir()
    with faulty() as disk:
        script = Script(home, disk)
        script.run()
    assert not script.refused, "nothing fails on a disk that is well"
    assert not script.wrong(), "nor is anything missed"
    shutil.rmtree(home)
    return dict(disk.calls)


def _run(scratch: Path, plan: Plan) -> tuple[list[str], int, int]:
    """Return what was wrong in the end, how many requests were refused, and how often the disk failed."""
    home = scratch / "home"
    home.mkdir()
    try:
        with faulty(plan) as disk:
            script = Script(home, disk)
            script.run()
        return script.wrong(), len(script.refused), disk.hits
    finally:
        shutil.rmtree(home)
