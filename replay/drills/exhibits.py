"""A store to be tampered with: small, closed, with something of everything in it, in an older and a newer state."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import TurnId
from muniment.governance.views import View
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from replay.drills.everything import CONVERSATIONS, SPACES, answers_of
from replay.stores import opened
from replay.words import Words, key_of, with_files

TURNS = 12
WHO = "drill"


class Exhibit:
    """A store in two states, each in a directory with its keys and pins; `answers` are those of the newer one."""

    def __init__(self, home: Path, turns: int = TURNS, spaces: tuple[str, ...] = SPACES) -> None:
        self.spaces = spaces
        self.older, self.newer = home / "older", home / "newer"
        words = Words(small=True)
        self.older.mkdir(parents=True)
        for space in spaces:
            with opened(self.older, space) as runtime:
                for number in range(turns):
                    conversation = CONVERSATIONS[number % 2]
                    runtime.transcripts.commit(words.turn(conversation, number // 2 + 1, characters=80))
                self._attach(runtime, words, turns // 2 + 1)
                self._change(runtime.lifecycle.request, Transition.MASK, 2)
        shutil.copytree(self.older, self.newer)
        for space in spaces:
            with opened(self.newer, space) as runtime:
                for number in range(1, turns // 2 + 1):
                    runtime.transcripts.commit(words.turn(CONVERSATIONS[2], number, characters=80))
                passage = Passage(turn=TurnId("turn-1"), message=0)
                key = key_of(CONVERSATIONS[1])
                runtime.transcripts.redact(key, passage, [View.EXPORT], RedactionReason.LEGAL, WHO)
                self._change(runtime.lifecycle.request, Transition.ERASE, 1)
                key, last = key_of(CONVERSATIONS[2]), TurnId(f"turn-{turns // 2}")
                self.receipt = runtime.evidence.prove(key, last).text
        answers = answers_of(self.newer, spaces)
        assert not isinstance(answers, str), answers
        self.answers = answers

    @staticmethod
    def _attach(runtime: Runtime, words: Words, number: int) -> None:
        """Commit a turn with two files."""
        turn = words.turn(CONVERSATIONS[0], number, characters=80)
        files = [runtime.attachments.add(word.encode() * 9, name=word).part for word in ("first", "second")]
        runtime.transcripts.commit(with_files(turn, *files))

    @staticmethod
    def _change(request: object, transition: Transition, number: int) -> None:
        assert callable(request), "an operation"
        request(key_of(CONVERSATIONS[0]), transition, "asked for", WHO, TurnId(f"turn-{number}"))

    @contextmanager
    def copied(self, home: Path) -> Iterator[Path]:
        """Give a copy of the newer state."""
        shutil.copytree(self.newer, home)
        try:
            yield home
        finally:
            shutil.rmtree(home)


def logs_below(home: Path) -> list[Path]:
    """Return the logs of a store."""
    return sorted((home / "store").glob("spaces/*/log.db"))


class Vandal:
    """Somebody with the files of a store and without its key."""

    def __init__(self, home: Path, older: Path, chance: random.Random) -> None:
        self.home = home
        self.older = older
        self.chance = chance
        self.log, self.other = self._two(home)

    def _two(self, home: Path) -> tuple[Path, Path]:
        found = logs_below(home)
        self.chance.shuffle(found)
        return found[0], found[-1]

    def sql(self, statement: str, *bindings: object) -> int:
        """Do a statement; return how many rows it changed."""
        with closing(sqlite3.connect(self.log)) as raw:
            changed = raw.execute(statement, bindings).rowcount
            raw.commit()
        return changed

    def rows(self, statement: str, *bindings: object, log: Path | None = None) -> list[tuple[object, ...]]:
        """Return what a statement finds."""
        with closing(sqlite3.connect(log or self.log)) as raw:
            return raw.execute(statement, bindings).fetchall()

    def positions(self, where: str = "turn_seq IS NOT NULL") -> list[int]:
        """Return positions of events, in any order."""
        found = [int(str(row[0])) for row in self.rows(f"SELECT position FROM events WHERE {where}")]  # noqa: S608 - ours
        self.chance.shuffle(found)
        return found

    def older_of(self, path: Path) -> Path:
        """Return the older state of a file."""
        return self.older / path.relative_to(self.home)
