"""Kill an erasure between its steps; the next opening must complete it.

In a round a process erases every turn of a subject, a few in each transaction, and what somebody else remembered of
them, and is killed at a random moment. Then the store is opened: unless the process died before its first step, nothing
of the subject is left, neither on a page, nor in memory, nor in anything that the keys can still decrypt. Every turn of
the other subject is there, and what was remembered of these.

The control is a store that does not note that an erasure goes on: there turns are left.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

from muniment.errors import MunimentError
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Attribution, Turn
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.ledger.owed import Owed
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement
from muniment.operations.lifecycle import erasure
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.drills.dump import cells_of
from replay.drills.load import REPOSITORY
from replay.drills.outcome import Outcome
from replay.stores import opened, pages_of
from replay.words import key_of

KILLS = 60
TURNS, CONVERSATIONS, STEP_TURNS = 240, 8, 4
SUBJECTS = ("anna", "bert")
ERASED, KEPT = SUBJECTS
CLERK = SubjectId("clerk")  # acts in every turn
CONTROL_ROUNDS_MAX = 20


def steps(count: int | None, seed: int) -> Outcome:
    """Kill so many erasures."""
    kills = count or KILLS
    chance = random.Random(seed)  # noqa: S311 - the moments of a drill are no secret
    failures: list[str] = []
    between, within_s = 0, 0.0
    with tempfile.TemporaryDirectory(prefix="muniment-steps-") as scratch:
        filled = Path(scratch) / "filled"
        _fill(filled)
        for _ in range(kills):
            left, lasted_s = _killed(filled, chance.uniform(0, within_s))
            within_s = max(within_s, lasted_s)
            between += 0 < left.before < left.of
            failures += left.failures()
        found, rounds = False, 0
        while not found and rounds < CONTROL_ROUNDS_MAX:
            left, _ = _killed(filled, chance.uniform(0, within_s), forgetful=True)
            found, rounds = bool(left.failures()), rounds + 1
    return Outcome(
        name="steps",
        tried=f"{kills} erasures of {TURNS // 2} turns killed, {between} of them between two steps",
        failures=failures,
        control=f"a store that forgets what it has begun, {rounds} killed",
        control_failed=found,
        seed=seed,
    )


class Left:
    """What a killed erasure has left: how many turns had their words when it died, and what is wrong afterwards."""

    def __init__(self, directory: Path) -> None:
        self.of = TURNS // len(SUBJECTS)
        self.before = sum(_word(ERASED).encode() in cell for cell in cells_of(directory))
        self._wrong: list[str] = []
        try:
            with opened(directory) as runtime:
                self._look(runtime)
        except MunimentError as error:
            self._wrong.append(str(error))
        told = [_word(ERASED).encode(), _remembered(ERASED).encode()]
        words = sum(any(one in cell for one in told) for cell in cells_of(directory))
        if self.before < self.of and words:
            self._wrong.append(f"the words of {words} erased turns still open")

    def failures(self) -> list[str]:
        """Return what is wrong."""
        return self._wrong

    def _look(self, runtime: Runtime) -> None:
        phases = _phases(runtime)
        active = phases[ERASED].count(Phase.ACTIVE)
        if active != (self.of if self.before == self.of else 0):
            self._wrong.append(f"{active} of {self.of} turns are left, {self.before} were when it was killed")
        if phases[KEPT] != [Phase.ACTIVE] * self.of:
            self._wrong.append("turns of somebody else are gone")
        items = {item.id.split()[0] for item in runtime.memory.list_(CLERK, View.RAW_OWNER).items}
        if items != (set(SUBJECTS) if active else {KEPT}):
            self._wrong.append("something is remembered of what was erased, or not of what was kept")
        if runtime.evidence.inspect().findings:
            self._wrong.append("an inspection finds something")


def _phases(runtime: Runtime) -> dict[str, list[str]]:
    """Return the phases of all turns, by their subjects."""
    phases: dict[str, list[str]] = {subject: [] for subject in SUBJECTS}
    for number in range(CONVERSATIONS):
        for page in pages_of(runtime, key_of(f"talk {number}"), View.RAW_OWNER):
            for turn in page.turns:
                phases[turn.turn.split()[0]].append(turn.phase)
    return phases


def _word(subject: str) -> str:
    return f"the words of {subject}"


def _remembered(subject: str) -> str:
    return f"something that {subject} said"


def _fill(directory: Path) -> None:
    with opened(directory) as runtime:
        turns = []
        for number in range(TURNS):
            subject = SUBJECTS[number // CONVERSATIONS % len(SUBJECTS)]
            message = Message(role=Role.USER, content=_word(subject))
            turns.append(
                Turn(
                    turn=TurnId(f"{subject} {number}"),
                    subject=SubjectId(subject),
                    conversation=ConversationId(f"talk {number % CONVERSATIONS}"),
                    messages=[message],
                    actor=Attribution(acting_subject=CLERK),
                )
            )
        runtime.transcripts.commit_many(turns)
        runtime.memory.remember([_item(number) for number in range(CONVERSATIONS * len(SUBJECTS))], "drill")


def _item(number: int) -> Candidate:
    """Return what the clerk remembers of a turn."""
    subject = SUBJECTS[number // CONVERSATIONS]
    source = ItemSource(conversation=key_of(f"talk {number % CONVERSATIONS}"), turn=TurnId(f"{subject} {number}"))
    return Candidate(
        id=f"{subject} {number}",
        subject=CLERK,
        kind="fact",
        topic=f"{subject} {number}",
        text=_remembered(subject),
        evidence=[source],
        judgement=SemanticJudgement(decision=Ruling.ACCEPT),
    )


def _killed(filled: Path, after_s: float, *, forgetful: bool = False) -> tuple[Left, float]:
    """Kill an erasure in a copy of a store, so long after its beginning; return what is left, and how long it lived."""
    with tempfile.TemporaryDirectory(prefix="muniment-steps-copy-") as scratch:
        directory = Path(scratch) / "store"
        shutil.copytree(filled, directory)
        process = subprocess.Popen(
            [sys.executable, "-m", "replay.drills.steps", str(directory), "forgetful" if forgetful else "honest"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdout is not None, "it was started with a pipe"
            process.stdout.readline()  # it begins
            begun = time.monotonic()
            try:
                process.wait(after_s or None)  # the first one ends by itself, which tells how long one lasts
            except subprocess.TimeoutExpired:
                process.kill()
            lasted_s = time.monotonic() - begun
        return Left(directory), lasted_s


def _forgetful(owed: Owed, erasure: int, touched: Collection[int]) -> Owed:
    """Note the segments, and not the erasure."""
    del erasure
    return Owed((), (*owed.segments, *touched))


def main() -> int:
    """Erase the turns of a subject, unless somebody kills us."""
    directory, kind = sys.argv[1:]
    erasure.STEP_TURNS = STEP_TURNS
    if kind == "forgetful":
        Owed.within = _forgetful  # type: ignore[method-assign, assignment]  # broken on purpose
    with opened(Path(directory)) as runtime:
        os.write(1, b"begun\n")
        runtime.lifecycle.erase(Scope(subject=SubjectId(ERASED)), "asked for", "drill", with_memory=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
