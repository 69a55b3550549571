"""Erase, and search for the erased content: live, after every power cut behind the answer, and in what still opens.

1. A store on a taped disk is filled with turns whose words are canaries; they are searched under every view, and the
   indexes kept at rest. Turns, messages, the turns of a subject, conversations and whole spaces are erased.
2. At the moment of each answer, live: no file, with or without a name, holds a piece of the ciphertext of what was
   erased, and nothing that the keys which are left can still decrypt, cells and indexes, holds a word of it.
3. From then on the power is cut at any step of the tape: what was flushed is there, of the rest anything. No file of
   any cut may hold a piece of that ciphertext, and a dump of some cuts, with the keys that are in them, no word.

The control is a store that neither overwrites freed pages nor empties its write-ahead log: there ciphertext is found.
"""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import apsw

from muniment.errors import MunimentError
from muniment.events.changes import Action
from muniment.events.identity import ConversationId, SpaceName, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.log import connection
from muniment.log.port import ScrubReport
from muniment.log.sqlite import SqliteStore
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.drills.canaries import ALPHABET, CHARACTERS
from replay.drills.dump import cells_of, indexes_of
from replay.drills.outcome import Outcome
from replay.drills.platter import Platter
from replay.drills.powercut import scratch_directory
from replay.drills.search import NEEDLE_BYTES, Needles, files_below, nameless_files, spelled
from replay.drills.tape import Step, logs_of, small_of, taped
from replay.stores import keeping_small_indexes, opened

ERASURES = 1000
ERASURES_EACH = 6  # in one store, or fewer; the last one ends the space
CUTS_PER_ERASURE = 20
DUMP_EVERY = 25
CONVERSATIONS = ("one", "two", "three")
SUBJECTS = ("anna", "bert")
TURNS, TURNS_AT_REST = 15, 8  # the words of the others are still in the write-ahead log when they are erased

CELLS = "SELECT content FROM events WHERE turn_seq IS NOT NULL ORDER BY position"

Placed = tuple[str, int, str]  # conversation, number, subject


def erase(count: int | None, seed: int) -> Outcome:
    """Erase so many times."""
    erasures = count or ERASURES
    chance = random.Random(seed)  # noqa: S311 - what a drill erases is no secret
    with scratch_directory("erase") as scratch:
        drill = Drill(scratch, chance)
        while drill.erasures < erasures:
            drill.store()
        with _forgetful():
            control = Drill(scratch, chance)
            control.store()
    return Outcome(
        name="erase",
        tried=f"{drill.erasures:,} erasures ({', '.join(f'{n} {kind}' for kind, n in sorted(drill.kinds.items()))}), "
        f"{drill.cuts:,} power cuts after them, {drill.dumps:,} dumps of all content that decrypts, "
        f"with {drill.indexes:,} indexes",
        failures=drill.failures,
        control="freed pages not overwritten, write-ahead log not emptied",
        control_failed=any("ciphertext" in failure for failure in control.failures),
        seed=seed,
    )


class Drill:
    """One run: stores one after the other, in each of them a few erasures."""

    def __init__(self, scratch: Path, chance: random.Random) -> None:
        self._scratch = scratch
        self._chance = chance
        self.failures: list[str] = []
        self.kinds: dict[str, int] = {}
        self.cuts = self.dumps = self.indexes = self._stores = 0
        self._words: dict[tuple[Placed, int], str] = {}  # of a message
        self._at_rest: list[str] = []  # words that indexes at rest must know
        self._alive: set[tuple[Placed, int]] = set()

    @property
    def erasures(self) -> int:
        """How many were asked for."""
        return sum(self.kinds.values())

    def store(self) -> None:
        """Make a store, erase in it, and cut its power."""
        home = self._scratch / "home"
        home.mkdir()
        self._words.clear()
        self._alive.clear()
        gone: list[list[bytes]] = [[]]  # pieces of ciphertext that are erased, by the number of the answer
        silent: list[list[str]] = [[]]  # words that are erased
        live: list[tuple[dict[str, bytes], list[str]]] = []  # the files at each answer, and the words not to be in them
        try:
            with taped(home) as tape:
                runtime = self._filled(home)
                filled = logs_of(home) | small_of(home)
                each = ERASURES_EACH if self._stores % 2 else 1  # a space that ends at once has more in the log
                self._stores += 1
                for number in range(each):
                    scope = self._scope(last=number == each - 1)
                    before = self._alive.copy()
                    cells = self._cells(home)
                    report = runtime.lifecycle.review(Action.ERASE, scope)
                    done = runtime.lifecycle.erase(scope, "asked for", "drill")
                    if report.affected_turns and not done.changed:
                        self.failures.append("an erasure changed nothing")
                    self._alive -= self._of(scope)
                    lost = before - self._alive
                    turns = {placed for placed, _ in lost}
                    gone.append(gone[-1] + [cells[turn] for turn in turns if turn in cells])
                    silent.append(silent[-1] + [self._words[place] for place in lost])
                    tape.told(len(gone) - 1)
                    self._look(f"live, {self._kind(scope)}", chain(files_below(home), nameless_files()), gone[-1])
                    if scope.whole_space is None:
                        live.append((logs_of(home) | small_of(home), silent[-1]))
                with contextlib.suppress(MunimentError):  # its last space is erased
                    runtime.close()
                tape.take()
                self._look("closed", files_below(home), gone[-1])
                steps = tape.steps
        finally:
            shutil.rmtree(home)
        known = b"".join(self._dump_of(filled, []))
        if missing := sum(word.encode() not in known for word in self._at_rest):
            self.failures.append(f"{missing} words in no index, so the search is blind")
        for files, words in live:
            self._dump_of(files, words)
        self._cut(steps, gone, silent)

    # --- using --------------------------------------------------------------------------------------------------------

    def _filled(self, home: Path) -> Runtime:
        """Fill a store, have it keep its indexes, open it again, go on filling, and search again."""
        with keeping_small_indexes(), opened(home) as runtime:
            self._fill(runtime, range(TURNS_AT_REST))
            self._search(runtime)
        self._at_rest = list(self._words.values())
        runtime = opened(home)
        self._fill(runtime, range(TURNS_AT_REST, TURNS))
        if self._stores % 2:  # in the others no index is in memory
            self._search(runtime)
        return runtime

    def _search(self, runtime: Runtime) -> None:
        """Search for the words of a message under every view."""
        for view in View:
            runtime.transcripts.search(next(iter(self._words.values())), view)

    def _fill(self, runtime: Runtime, numbers: range) -> None:
        for number in numbers:
            conversation = CONVERSATIONS[number % len(CONVERSATIONS)]
            subject = self._chance.choice(SUBJECTS)
            placed = (conversation, number, subject)
            texts = ["".join(self._chance.choices(ALPHABET, k=CHARACTERS * 4)) + "0" for _ in range(2)]
            turn = Turn(
                turn=TurnId(f"turn-{number}"),
                subject=SubjectId(subject),
                conversation=ConversationId(conversation),
                messages=[
                    Message(role=Role.USER, content=texts[0]),
                    Message(role=Role.ASSISTANT, content=texts[1]),
                ],
            )
            runtime.transcripts.commit(turn)
            for place, text in enumerate(texts):
                self._words[placed, place] = text
                self._alive.add((placed, place))

    def _scope(self, *, last: bool) -> Scope:
        if last:
            return Scope(whole_space=SpaceName("default"))
        conversation, number, subject = self._chance.choice(sorted({placed for placed, _ in self._words}))
        one, turn = ConversationId(conversation), TurnId(f"turn-{number}")
        kinds = [
            Scope(conversation=one, turn=turn),
            Scope(conversation=one, turn=turn),
            Scope(conversation=one, message=f"{turn}#{self._chance.randrange(2)}"),
            Scope(conversation=one, message=f"{turn}#{self._chance.randrange(2)}"),
            Scope(subject=SubjectId(subject)),
            Scope(conversation=one),
        ]
        return self._chance.choice(kinds)

    def _of(self, scope: Scope) -> set[tuple[Placed, int]]:
        """Return the messages that a scope is about."""
        kind = self._kind(scope)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return {
            (placed, place)
            for placed, place in self._words
            if scope.whole_space is not None
            or (scope.subject is not None and placed[2] == scope.subject)
            or (
                scope.conversation == placed[0]
                and scope.turn in {None, f"turn-{placed[1]}"}
                and scope.message in {None, f"turn-{placed[1]}#{place}"}
            )
        }

    @staticmethod
    def _kind(scope: Scope) -> str:
        for kind in ("whole_space", "subject", "message", "turn"):
            if getattr(scope, kind) is not None:
                return kind.removeprefix("whole_")
        return "conversation"

    # --- looking ------------------------------------------------------------------------------------------------------

    def _cells(self, home: Path) -> dict[Placed, bytes]:
        """Return a piece of the ciphertext of every turn that has words; read past the store, which takes no notice."""
        (log,) = (home / "store").glob("spaces/*/log.db")
        with closing(apsw.Connection(str(log), flags=apsw.SQLITE_OPEN_READONLY)) as raw:
            cells = [cell for (cell,) in raw.execute(CELLS)]
        placed = sorted({placed for placed, _ in self._words}, key=lambda one: one[1])
        return {
            one: bytes(cell[1 : 1 + NEEDLE_BYTES])
            for one, cell in zip(placed, cells, strict=True)
            if isinstance(cell, bytes)
        }

    def _look(self, where: str, hay: Iterator[bytes], gone: list[bytes]) -> None:
        needles = Needles(gone)
        if found := sum(needles.found(one) for one in hay):
            self.failures.append(f"{where}: {found} pieces of erased ciphertext")

    def _cut(self, steps: list[Step], gone: list[list[bytes]], silent: list[list[str]]) -> None:
        """Cut the power behind each answer."""
        platter = Platter({}, {})
        answered = [number for number, step in enumerate(steps) if step.told]
        behind = range(answered[0], len(steps))
        wanted = self._chance.choices(behind, k=CUTS_PER_ERASURE * len(answered)) + answered * 3
        for number, step in enumerate(steps):
            platter.play(step, self._chance)
            for _ in range(wanted.count(number) if number >= answered[0] else 0):
                self.cuts += 1
                logs, small = platter.cut(self._chance), platter.cut_small(self._chance)
                where = f"cut at step {number} of {len(steps)}"
                self._look(where, iter([*logs.values(), *small.values()]), gone[platter.told])
                if self.cuts % DUMP_EVERY == 0 and platter.told < len(gone) - 2:  # then the keys may be gone
                    self._dump_of({**logs, **small}, silent[platter.told])

    def _dump_of(self, files: dict[str, bytes], silent: list[str]) -> list[bytes]:
        """Decrypt everything that opens with the keys that are there, and look for words; return what indexes know."""
        self.dumps += 1
        home = self._scratch / "cut"
        for name, data in files.items():
            path = home / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o600)
        try:
            indexes = list(indexes_of(home))
            dump = [*cells_of(home), *indexes]
        finally:
            shutil.rmtree(home)
        self.indexes += len(indexes)
        if found := sum(map(Needles(spelled(silent)).found, dump)):
            self.failures.append(f"dump: {found} erased words open")
        return indexes


@contextlib.contextmanager
def _forgetful() -> Iterator[None]:
    """Let stores be opened that leave what was removed where it is."""
    pragma, scrub = connection.PRAGMAS["secure_delete"], SqliteStore.scrub
    connection.PRAGMAS["secure_delete"] = "OFF"
    SqliteStore.scrub = _scrub_nothing  # type: ignore[method-assign, assignment]  # broken on purpose
    try:
        yield
    finally:
        connection.PRAGMAS["secure_delete"] = pragma
        SqliteStore.scrub = scrub  # type: ignore[method-assign]  # as it was


def _scrub_nothing(_store: SqliteStore) -> ScrubReport:
    return ScrubReport(flushed=(), wal_bytes=0)
