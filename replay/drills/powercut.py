"""Cut the power at every step of a store's life, and look what is there afterwards.

1. A store is made, used and opened again on a taped disk: turns, masks, erasures, checkpoints, key rotations, a
   write-ahead log that starts over because somebody else took it into the database. In every other life a flush fails,
   and half of the cuts of that life fall close behind it.
2. The tape is played to a platter. At each step the power is cut: what was flushed is there, of the rest anything. That
   goes for pins and key files, too: their contents may be torn, and their names those of before.
3. SQLite opens what is left. The database that it finds must be one that the front door was shown: it opens as sound,
   its audit passes, and every view gives exactly the pages that were given with the last answer before the cut, or
   those that would have come with the next. One in `FRONT_DOOR_EVERY` cuts is opened by the front door as it lies.
4. Some of the cuts are opened on another taped disk, and the power is cut again while the store recovers.

Two controls, which must lose answers: a store that does not flush its write-ahead log (`synchronous=NORMAL`), and a
disk that fakes flushes about flushes. A third, which must be refused: a damaged database.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import apsw

from muniment.errors import MunimentError
from muniment.log import connection
from replay.drills.life import Life, told_by
from replay.drills.outcome import Outcome
from replay.drills.platter import Platter
from replay.drills.tape import Did, Step, taped
from replay.stores import opened

CUTS = 10_000
CUTS_PER_LIFE = 1000
RECOVERIES_PER_LIFE = 4
RECOVERY_SHARE = 8  # every eighth cut falls into a recovery
FRONT_DOOR_EVERY = 200
CONTROL_CUTS_MAX = 4000
FLUSHES = 40  # of a life, or a few more
STEPS_BEHIND = 40  # of a flush that failed
ANSWERS = 24
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a disk that is fast; what is there is never trusted


class Recorded(NamedTuple):
    """A life on tape: what the disk held before, every step, and what was shown after each thing that was done."""

    logs: dict[str, bytes]
    small: dict[str, bytes]
    steps: list[Step]
    shown: list[str]

    def allowed(self) -> dict[int, list[str]]:
        """Return what may be shown after a cut, by what was told last: that, and everything up to what is told next."""
        told = [0, *sorted({step.told for step in self.steps if step.did is Did.TOLD} - {0}), len(self.shown)]
        return {last: self.shown[last : following + 1] for last, following in pairwise(told)}

    def behind_failure(self) -> range:
        """Return the steps that follow a flush that failed, where the store makes good what it lost."""
        failed = next((number for number, step in enumerate(self.steps) if step.did is Did.LOSE), len(self.steps))
        return range(failed, min(failed + STEPS_BEHIND, len(self.steps)))


class Seen(NamedTuple):
    """What the front door found in a state: what its views show, or what is wrong with it."""

    shown: str
    fault: str


def powercut(count: int | None, seed: int) -> Outcome:
    """Cut the power so many times."""
    with scratch_directory("powercut") as scratch:
        drill = Drill(scratch, seed)
        drill.run(count or CUTS)
        controls = {
            "synchronous=NORMAL": drill.control(weak=True),
            "a disk that fakes flushes": drill.control(lies=True),
        }
    blind = [name for name, lost in controls.items() if not lost]
    return Outcome(
        name="powercut",
        tried=f"{drill.cuts:,} cuts in {drill.lives} store lives of {drill.steps:,} steps, {drill.in_recovery:,} of "
        f"them in recoveries, {drill.broken} lives with a failing flush; {drill.states:,} resulting states opened",
        failures=drill.failures,
        control=f"{', '.join(f'{name} ({lost} lost)' for name, lost in controls.items())}"
        + (f", blind: {', '.join(blind)}" if blind else ""),
        control_failed=not blind,
        seed=seed,
    )


@contextlib.contextmanager
def scratch_directory(name: str) -> Iterator[Path]:
    """Give a directory in memory, where there is one: what is cut is on a platter, not on the disk of this machine."""
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix=f"muniment-{name}-", dir=place) as scratch:
        yield Path(scratch)


class Drill:
    """One run: lives, cuts, and what was found."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self._scratch = scratch
        self._seed = seed
        self._chance = random.Random(seed)  # noqa: S311 - the moments of a drill are no secret
        self.failures: list[str] = []
        self.cuts = self.in_recovery = self.lives = self.steps = self.broken = self.states = 0
        self._seen: dict[tuple[bytes, bytes], Seen] = {}
        self._small: tuple[dict[str, bytes], bytes] = ({}, b"")  # the small files looked at last, and their digest

    def run(self, cuts: int) -> None:
        """Cut so many times, in as many lives as that needs."""
        while self.cuts < cuts and len(self.failures) < 20:
            self.lives += 1
            fails = self.lives % 2 == 0
            self.broken += fails
            life = self._recorded(self.lives, ANSWERS, fails=fails)
            self.steps += len(life.steps)
            want = min(CUTS_PER_LIFE, cuts - self.cuts)
            recoveries = want // RECOVERY_SHARE
            chosen = self._cut(life, want - recoveries)
            self._chance.shuffle(chosen)
            chosen = chosen[:RECOVERIES_PER_LIFE]
            for logs, small in chosen if recoveries else ():
                again = self._recovered(logs, small)
                if again is not None:
                    before = self.cuts
                    self._cut(again, max(1, recoveries // len(chosen)))
                    self.in_recovery += self.cuts - before
            self._seen.clear()  # the next life has other keys

    def control(self, *, weak: bool = False, lies: bool = False) -> int:
        """Cut a life that must lose answers until it does; return how many cuts lost one."""
        other = Drill(self._scratch, self._seed)
        with _weakened() if weak else contextlib.nullcontext():
            life = other._recorded(0, ANSWERS // 2, lies=lies)
        while not other.failures and other.cuts < CONTROL_CUTS_MAX:
            other._cut(life, CONTROL_CUTS_MAX // 8)
        return len(other.failures)

    # --- taping -------------------------------------------------------------------------------------------------------

    def _recorded(self, number: int, answers: int, *, fails: bool = False, lies: bool = False) -> Recorded:
        home = self._scratch / "life"
        home.mkdir()
        try:
            with taped(home, lies=lies) as tape:
                life = Life(home, random.Random(f"{self._seed} {number}"))  # noqa: S311 - repeatable
                shown = [life.shown()]
                tape.told(0)
                starts_over = answers // 2 if fails and number % 4 == 0 else None
                if fails and starts_over is None:
                    tape.fail_sync = self._chance.randint(1, FLUSHES)
                for turn in range(answers):
                    if turn == starts_over:  # what a commit leaves in a log that has nothing else is lost
                        life.taken()
                        tape.fail_sync = 2
                    answered = life.step()
                    shown.append(life.shown())
                    if answered:
                        tape.told(len(shown) - 1)
                life.close()
                tape.take()
                return Recorded({}, {}, tape.steps, shown)
        finally:
            shutil.rmtree(home)

    def _recovered(self, logs: dict[str, bytes], small: dict[str, bytes]) -> Recorded | None:
        """Tape how the front door recovers a cut."""
        home = self._laid(logs, small)
        try:
            with taped(home) as tape:
                with opened(home) as runtime:
                    shown = told_by(runtime)
                tape.take()
                return Recorded(logs, small, tape.steps, [shown, shown])
        except MunimentError as refused:
            self.failures.append(f"a cut is refused: {refused}")
            return None
        finally:
            shutil.rmtree(home)

    # --- cutting ------------------------------------------------------------------------------------------------------

    def _cut(self, life: Recorded, cuts: int) -> list[tuple[dict[str, bytes], dict[str, bytes]]]:
        """Cut a life at steps of any kind; return some of what was left."""
        places = [number for number, step in enumerate(life.steps) if step.did is not Did.TOLD]
        if not places:
            return []
        behind = life.behind_failure()
        aimed = self._chance.choices(behind, k=cuts // 2) if behind else []
        left = cuts - len(aimed)
        spread = self._chance.choices(places, k=left) if left < len(places) else _spread(places, left)
        wanted = Counter([*aimed, *spread])
        platter, kept, allowed = Platter(life.logs, life.small), [], life.allowed()
        for number, step in enumerate(life.steps):
            platter.play(step, self._chance)
            for _ in range(wanted[number]):
                self.cuts += 1
                logs, small = platter.cut(self._chance), platter.cut_small(self._chance)
                fault = self._fault(logs, small, allowed[platter.told])
                if fault:
                    self.failures.append(f"step {number} of {len(life.steps)} ({step.did}): {fault}")
                elif self.cuts % 37 == 0:
                    kept.append((logs, small))
        return kept

    def _fault(self, logs: dict[str, bytes], small: dict[str, bytes], allowed: list[str]) -> str:
        """Return what is wrong with what a cut left, or nothing."""
        try:
            database = self._database(logs)
        except apsw.Error as error:
            return f"SQLite refuses the database: {type(error).__name__}"
        if small is not self._small[0]:
            self._small = (small, _digest(small))  # a megabyte that is kept free, and the same for many cuts
        known = (hashlib.sha256(database).digest(), self._small[1])
        seen = self._seen.get(known)
        if seen is None or self.cuts % FRONT_DOOR_EVERY == 0:
            seen = self._opened(logs, small)
            self._seen[known] = seen
            self.states += 1
        if seen.fault:
            return seen.fault
        return "" if seen.shown in allowed else "not what was answered"

    def _database(self, logs: dict[str, bytes]) -> bytes:
        """Return the database that SQLite sees in these files."""
        place = self._scratch / "log.db"
        for found in self._scratch.glob("log.db-*"):
            found.unlink()
        place.write_bytes(b"")
        for name, data in logs.items():
            place.with_name(Path(name).name).write_bytes(data)
        database = apsw.Connection(str(place))
        try:
            database.pragma("locking_mode", "EXCLUSIVE")  # no shared memory is made
            database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            return database.serialize("main") or b""
        finally:
            database.close()

    def _opened(self, logs: dict[str, bytes], small: dict[str, bytes]) -> Seen:
        """Open a cut by the front door."""
        home = self._laid(logs, small)
        try:
            with opened(home) as runtime:
                health = runtime.system.health()
                if not health.sound:
                    return Seen("", f"not sound: {health.fault_message}")
                shown = told_by(runtime)
                runtime.evidence.audit()
        except MunimentError as refused:
            return Seen("", f"refused: {refused}")
        finally:
            shutil.rmtree(home)
        return Seen(shown, "")

    def _laid(self, logs: dict[str, bytes], small: dict[str, bytes]) -> Path:
        home = self._scratch / "cut"
        for name, data in (logs | small).items():
            path = home / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o600)
        return home


def _digest(small: dict[str, bytes]) -> bytes:
    digest = hashlib.sha256()
    for name, data in sorted(small.items()):
        digest.update(f"{len(name)} {len(data)} {name}".encode() + data)
    return digest.digest()


def _spread(places: list[int], cuts: int) -> list[int]:
    """Return every place as often as any other, as nearly as the number of cuts allows."""
    return [places[number % len(places)] for number in range(cuts)]


@contextlib.contextmanager
def _weakened() -> Iterator[None]:
    """Let stores be opened that flush their write-ahead log only when it is checkpointed."""
    full = connection.PRAGMAS["synchronous"]
    connection.PRAGMAS["synchronous"] = "NORMAL"
    try:
        yield
    finally:
        connection.PRAGMAS["synchronous"] = full
