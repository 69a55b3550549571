"""Fill the disk, then erase: what is asked for must go, receipt and all, in the reserve for erasures.

1. A store is filled with turns until two in a row are refused with `store.full` (the first refusal may make room: the
   write-ahead log is emptied when the store is opened again); every turn that was answered is there.
2. A turn, a message, and then (each on a full disk again) a conversation is erased. The answer is the usual one; then
   the words are in no view, the ciphertext is in no file, and only one version of the space key is left.

3. A store is left by a process that closes it, or is killed, on a disk that is really full (where one can be mounted).
   Fresh processes, each of which opens it again, read every view, report health, inspect, and erase.

The control: the same without the reserve. Then the erasure must be refused, also in a fresh process.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from muniment.errors import MunimentError, StoreFull
from muniment.events.identity import ConversationId, TurnId
from muniment.governance.views import View
from muniment.log.reserve import NAME as RESERVE
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.drills.faulty import FaultyDisk, bytes_below, faulty
from replay.drills.governed import pages
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.drills.small_disk import has_small_disks, on_small_disk
from replay.stores import opened
from replay.words import Words, key_of

ROUNDS = 20
ROOM_BYTES = 8_000_000  # what fits on the disk, the reserve included
CHARACTERS = (50, 4000)  # of a message: many small turns, or few large ones
REFUSED_IN_A_ROW = 2
TALK = "talk"
OTHER = "other"
OTHER_TURNS = 5
ENDINGS = ("closed", "killed")  # how the process ended that left the store


def diskfull(count: int | None, seed: int) -> Outcome:
    """Fill a disk so many times."""
    rounds = count or ROUNDS
    chance = random.Random(seed)  # noqa: S311 - what a drill erases is no secret
    failures: list[str] = []
    with scratch_directory("diskfull") as scratch:
        turns = 0
        for number in range(rounds):
            drill = Round(scratch / "home", chance)
            failures += [f"round {number}: {one}" for one in drill.run()]
            turns += drill.turns
        control = Round(scratch / "home", chance, has_reserve=False).run()
        fresh = fresh_processes(scratch) if has_small_disks() else {}
        failures += [f"fresh process: {one}" for has_reserve, found in fresh.items() if has_reserve for one in found]
    return Outcome(
        name="diskfull",
        tried=f"{rounds} disks filled with {turns:,} turns, 3 erasures on each; "
        + (f"{len(ENDINGS)} real ones used by fresh processes" if fresh else "no real ones: none can be mounted here"),
        failures=failures,
        control="no reserve",
        control_failed=bool(control) and all(found for has_reserve, found in fresh.items() if not has_reserve),
        seed=seed,
    )


def fresh_processes(scratch: Path) -> dict[bool, list[str]]:
    """Return what fresh processes on really full disks got wrong, with the reserve and without it."""
    found: dict[bool, list[str]] = {}
    for has_reserve in (True, False):
        for ending in ENDINGS:
            place = scratch / f"disk-{ending}-{has_reserve}"
            place.mkdir()
            story = ["-m", "replay.drills.fresh_process", str(place), ending, "reserve" if has_reserve else "none"]
            done = on_small_disk(place, ROOM_BYTES, [sys.executable, *story])
            wrong = done.stdout.splitlines() if done.returncode == 0 else [done.stderr[-500:]]
            found.setdefault(has_reserve, []).extend(wrong)
    return found


class Round:
    """One disk."""

    def __init__(self, home: Path, chance: random.Random, *, has_reserve: bool = True) -> None:
        self._home = home
        self._chance = chance
        self._has_reserve = has_reserve
        self._words = Words(small=True)
        self._characters = chance.choice(CHARACTERS)
        self.turns = 0
        self.wrong: list[str] = []

    def run(self) -> list[str]:
        """Fill the disk and erase; return what was wrong."""
        self._home.mkdir()
        try:
            with faulty() as disk, opened(self._home) as runtime:
                for number in range(1, OTHER_TURNS + 1):
                    runtime.transcripts.commit(self._words.turn(OTHER, number))
                disk.room = lambda: ROOM_BYTES - bytes_below(self._home)
                self._full(runtime)
                number = self._chance.randint(1, self.turns)
                turn = TurnId(f"turn-{number}")
                self._erase(runtime, Scope(conversation=ConversationId(TALK), turn=turn))
                self._with_room_again(runtime, disk)
                other = "turn-1#0"
                self._erase(runtime, Scope(conversation=ConversationId(OTHER), message=other))
                self._with_room_again(runtime, disk)
                self._erase(runtime, Scope(conversation=ConversationId(OTHER)))
                disk.room = None
                self._sound(runtime, turn)
        except MunimentError as refused:
            self.wrong.append(f"refused: {refused}")
        finally:
            shutil.rmtree(self._home)
        return self.wrong

    def _full(self, runtime: Runtime) -> None:
        """Commit until the disk is full, and let nothing small fit either."""
        if not self._has_reserve:
            for path in self._home.rglob(RESERVE):
                path.unlink()
        refused = 0
        while refused < REFUSED_IN_A_ROW:
            try:
                runtime.transcripts.commit(self._words.turn(TALK, self.turns + 1, characters=self._characters))
                self.turns, refused = self.turns + 1, 0
            except StoreFull:
                refused += 1

    def _with_room_again(self, runtime: Runtime, disk: FaultyDisk) -> None:
        """Let somebody make room so that some is kept back again, and take the rest away."""
        disk.room = None
        runtime.system.recover()
        room = bytes_below(self._home)
        disk.room = lambda: room - bytes_below(self._home)

    def _erase(self, runtime: Runtime, scope: Scope) -> None:
        report = runtime.lifecycle.erase(scope, "asked for", "drill")
        if not report.changed or report.receipt is None:
            self.wrong.append("an erasure did nothing")
        if (versions := runtime.system.health().key_versions) != 1:
            self.wrong.append(f"{versions} versions of the space key are left")

    def _sound(self, runtime: Runtime, erased: TurnId) -> None:
        if [turn["phase"] for turn in pages(runtime, key_of(OTHER), View.RAW_OWNER)] != ["erased"] * OTHER_TURNS:
            self.wrong.append("a conversation is not erased")
        phases = {turn["turn"]: turn["phase"] for turn in pages(runtime, key_of(TALK), View.RAW_OWNER)}
        if phases.pop(erased, None) != "erased" or set(phases.values()) - {"active"}:
            self.wrong.append("not the turns that should be there")
        if len(phases) != self.turns - 1:
            self.wrong.append("turns are gone")
        runtime.evidence.audit()
