"""Find what was said, erase it, and look for it everywhere: in answers, in files, in what an index can be made to tell.

1. Canaries are imported among dialogues. Each is found by word, phrase, tool name, speaker and date, in the views that
   show it and in no other.
2. Some are masked, some redacted for one view, some erased. Who is hidden from a view has no hit there: at once, and in
   a fresh process that begins with whatever the first one left on the disk.
3. No file holds a word of what was erased, nor the memory of the process that erased it, as soon as the erasure is
   acknowledged, nor that of one that begins with what is left on the disk: indexes at rest, decrypted.
4. What lay beside the log before the erasure is put back. There is still no hit.

The controls: a plain FTS5 file from which the same rows were deleted, and a copy of the store with its indexes from
before; both must be caught with the words. And the search must find, in the same
places, what is still there.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import apsw

from muniment.crypto.store import SPACES
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import ConversationId, ConversationKey, TurnId
from muniment.governance.views import View
from muniment.operations.transcripts.hits import SearchScope
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from replay.drills.asking import Asking, Counts, asked_afresh
from replay.drills.held import held
from replay.drills.outcome import Outcome
from replay.drills.planted import DAY_MS, Canary, planted, written
from replay.drills.search import Needles, files_below, nameless_files, spelled
from replay.stores import opened

TURNS = 90_000
CANARIES = 60
TURNS_A_CANARY = 15  # at least
ERASED, MASKED, REDACTED = 3, 5, 5  # one of so many each
WHO = "drill"
WORDY = frozenset(View) - {View.OPERATOR_AUDIT}  # the views that show ordinary words
# What a space consists of; whatever else is there was derived.
ORIGINAL = frozenset({"keys.json", "keys.lock", "log.db", "log.db-wal", "log.db-shm"})
CALLING = frozenset({View.RAW_OWNER, View.MODEL_CONTEXT})  # the views that show calls of tools


def found(count: int | None, seed: int) -> Outcome:
    """Search among so many turns."""
    with tempfile.TemporaryDirectory(prefix="muniment-found-") as scratch:
        drill = Drill(Path(scratch), random.Random(seed), count or TURNS)  # noqa: S311 -- chosen to be repeated
        drill.run()
        deleted, kept = drill.deleted_rows(), drill.kept_copy()
    return Outcome(
        name="search",
        tried=drill.tried,
        failures=drill.failures,
        control=f"plain FTS5 after its rows were deleted, {deleted:,} places; an old copy, {kept:,} places",
        control_failed=deleted > 0 and kept > 0,
        seed=seed,
    )


class Drill:
    """One run: what was planted, what was done to it, and what was found where it must not be."""

    def __init__(self, scratch: Path, chance: random.Random, turns: int) -> None:
        self._scratch = scratch
        self._home = scratch / "home"
        self._turns = turns
        self.canaries = planted(chance, min(CANARIES, turns // TURNS_A_CANARY))
        self._erased = self.canaries[::ERASED]
        rest = [one for one in self.canaries if one not in self._erased]
        self._masked, self._redacted = rest[::MASKED], rest[1::REDACTED]
        self._hidden: dict[str, frozenset[View]] = {}  # the word of a canary -> where it is hidden by now
        self.failures: list[str] = []
        self.tried = "nothing"

    def run(self) -> None:
        """Do all of it."""
        file = self._scratch / "dialogues.jsonl.gz"
        crowd = written(file, self.canaries, self._turns)
        self._home.mkdir()
        with opened(self._home) as runtime:
            committed = runtime.spaces.import_(str(file)).turns_committed
        file.unlink()
        with opened(self._home) as runtime:
            self._find(runtime)
            self._holds("the memory of the first process", held(runtime))
        shutil.copytree(self._home, self._scratch / "before")
        with opened(self._home) as runtime:
            self._find(runtime)
            self._hide(runtime)
            self._holds("the memory after the erasure", held(runtime), of_masked=True)
            self._look("the open store")
            self._answers("at once", [each.counts(runtime) for each in self._questions()])
            self._holds("the memory after answers", held(runtime))
        self._look("the closed store")
        self._answers("in a fresh process", asked_afresh(self._home, self._questions()))
        self._look("the store after a fresh process")
        with opened(self._home) as runtime:
            self._answers("after a fresh process", [each.counts(runtime) for each in self._questions()])
            self._holds("the memory of who begins with what is on the disk", held(runtime))
        put_back = self._put_back()
        self.tried = (
            f"{len(self.canaries)} canaries among {committed:,} turns ({crowd}), {len(self._erased)} erased, "
            f"{len(self._masked)} masked, {len(self._redacted)} redacted, {put_back} old files put back"
        )

    def kept_copy(self) -> int:
        """Return at how many places the words of erased turns are in the memory of who opens a copy from before."""
        with opened(self._scratch / "before") as runtime:
            Asking(query="remember").counts(runtime)
            return _needles(self._erased).found(b"\n".join(held(runtime)))

    def deleted_rows(self) -> int:
        """Return at how many places deleted rows are in a file of plain FTS5."""
        path = self._scratch / "plain.db"
        database = apsw.Connection(str(path))
        database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, content='', contentless_delete=1)")
        with database:
            for number, canary in enumerate(self.canaries):
                database.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (number, " ".join(canary.texts)))
        for number, canary in enumerate(self.canaries):
            if canary in self._erased:
                database.execute("DELETE FROM texts WHERE rowid = ?", (number,))
        database.close()
        return _needles(self._erased).found(path.read_bytes())

    # --- finding ------------------------------------------------------------------------------------------------------

    def _find(self, runtime: Runtime) -> None:
        """Find every canary in every way, in the views that show it and nowhere else."""
        for canary in self.canaries:
            day = SearchScope(from_ms=canary.at_ms, until_ms=canary.at_ms + DAY_MS)
            ways = {
                "word": (Asking(query=canary.word), WORDY),
                "answer": (Asking(query=canary.answer.upper()), WORDY),
                "phrase": (Asking(query=f'"{canary.phrase}"'), WORDY),
                "tool": (Asking(query=canary.tool), CALLING),
                "speaker": (Asking(query="remember", within=SearchScope(speaker=canary.speaker)), WORDY),
                "date": (Asking(query="remember", within=day), WORDY),
            }
            for way, (question, shown_in) in ways.items():
                for view in View:
                    self._first_hit(f"{way} in {view}", runtime, question, view, canary if view in shown_in else None)

    def _first_hit(self, where: str, runtime: Runtime, question: Asking, view: View, expected: Canary | None) -> None:
        """Expect a message to come first (those beside it may follow), or no hit at all."""
        hits = question.ask(runtime, view).hits
        if expected is None:
            self._expect(not hits, f"{where}: {len(hits)} hits for what is hidden")
            return
        self._expect(bool(hits), f"{where}: not found")
        for hit in hits[:1]:
            key = hit.place.conversation.conversation
            self._expect(key == expected.conversation, f"{where}: another conversation")
            self._expect(any(text in hit.excerpt.text for text in expected.texts), f"{where}: another message")
            marked = [hit.excerpt.text[start:end] for start, end in hit.excerpt.highlights]
            self._expect(bool(marked), f"{where}: nothing is highlighted")

    def _questions(self) -> list[Asking]:
        return [Asking(query=text) for canary in self.canaries for text in canary.texts]

    def _answers(self, when: str, counted: list[Counts]) -> None:
        """Hold whether every question has hits in every view against what is hidden by now."""
        wrong = 0
        answers = iter(counted)
        for canary in self.canaries:
            hidden = self._hidden.get(canary.word, frozenset())
            for text, counts in zip(canary.texts, answers, strict=False):
                shown = (CALLING if text == canary.tool else WORDY) - hidden
                wrong += sum((counts[view] > 0) != (view in shown) for view in View)
        self._expect(not wrong, f"{when}: {wrong} answers are not what the views show")

    # --- hiding -------------------------------------------------------------------------------------------------------

    def _hide(self, runtime: Runtime) -> None:
        for canary in self._masked:
            self._request(runtime, canary, Transition.MASK)
        for canary in self._redacted:
            key, turn = self._place(runtime, canary)
            views = [View.EXPORT]
            runtime.transcripts.redact(key, Passage(turn=turn), views, RedactionReason.PERSONAL_DATA, WHO)
            self._hidden[canary.word] = frozenset(views)
        for canary in self._erased:
            self._request(runtime, canary, Transition.ERASE)

    def _request(self, runtime: Runtime, canary: Canary, transition: Transition) -> None:
        key, turn = self._place(runtime, canary)
        done = runtime.lifecycle.request(key, transition, "asked for", WHO, turn)
        self._expect(done.changed, f"{transition} changed nothing")
        self._hidden[canary.word] = frozenset(View)

    def _place(self, runtime: Runtime, canary: Canary) -> tuple[ConversationKey, TurnId]:
        """Return where a canary is, as a search tells it."""
        [hit] = Asking(query=canary.word).ask(runtime, View.RAW_OWNER).hits[:1]
        key = ConversationKey(conversation=ConversationId(canary.conversation))
        assert hit.place.conversation == key, "it was found before"
        return key, hit.place.turn

    def _put_back(self) -> int:
        """Put back whatever lay beside the log before anything was hidden; ask again. Return how many files it was."""
        before = self._scratch / "before"
        kept = [path for path in sorted(before.rglob("*")) if path.is_file() and path.parent.parent.name == SPACES]
        derived = [path.relative_to(before) for path in kept if path.name not in ORIGINAL]
        for path in derived:
            shutil.copy2(before / path, self._home / path)
        self._answers(f"with {len(derived)} old files put back", asked_afresh(self._home, self._questions()))
        return len(derived)

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look(self, where: str) -> None:
        places = sum(map(_needles(self.canaries).found, (*files_below(self._home), *nameless_files())))
        self._expect(not places, f"{where}: {places} places in clear")

    def _holds(self, where: str, hay: Iterable[bytes], *, of_masked: bool = False) -> None:
        """Hold what is in memory to have what is shown, and no word of what is gone; of masked turns it may be."""
        memory = b"\n".join(hay)
        hidden = [canary for canary in self.canaries if self._hidden.get(canary.word) == frozenset(View)]
        missing = sum(text.encode() not in memory for one in self.canaries if one not in hidden for text in one.texts)
        self._expect(not missing, f"{where}: {missing} words not seen, so the search is blind")
        gone = [canary for canary in hidden if canary in self._erased or not of_masked]
        places = _needles(gone).found(memory)
        self._expect(not places, f"{where}: {places} places of words that are gone")

    def _expect(self, held: bool, failure: str) -> None:
        if not held:
            self.failures.append(failure)


def _needles(canaries: Iterable[Canary]) -> Needles:
    return Needles(spelled(text for canary in canaries for text in canary.texts))
