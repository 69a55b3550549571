"""A store's life in small: every kind of write that there is, one after the other, by chance."""

from __future__ import annotations

import hashlib
import random
from contextlib import closing
from pathlib import Path

import apsw
import msgspec

from muniment.errors import MunimentError
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, TurnId
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.stores import opened, pages_of
from replay.words import Words, key_of

CONVERSATIONS = ("one", "two", "three")
VIEWS = (View.RAW_OWNER, View.HOST_UI, View.EXPORT)
WHO = "drill"


def told_by(runtime: Runtime) -> str:
    """Return a digest of everything that some views show of each conversation."""
    shown = []
    for conversation in CONVERSATIONS:
        for view in VIEWS:
            pages = pages_of(runtime, key_of(conversation), view)
            turns = msgspec.to_builtins([turn for page in pages for turn in page.turns])
            for turn in turns:
                del turn["position"]  # recoveries may append events between turns
            shown.append([turns, msgspec.to_builtins([item for page in pages for item in page.items])])
    return hashlib.sha256(msgspec.json.encode(shown, order="sorted")).hexdigest()


class Life:
    """A store that is used. `step` does one thing to it and returns whether that was answered."""

    def __init__(self, home: Path, chance: random.Random) -> None:
        self.home = home
        self.runtime = opened(home)
        self.refusals: list[MunimentError] = []
        self._chance = chance
        self._words = Words(small=True)
        self._turns: dict[str, int] = dict.fromkeys(CONVERSATIONS, 0)

    def shown(self) -> str:
        """Return a digest of what is shown now."""
        return told_by(self.runtime)

    def step(self) -> bool:
        """Do the next thing."""
        there = [name for name, turns in self._turns.items() if turns]
        actions = [self.commit] * 8 + ([self.mask, self.unmask, self.erase, self.erase_message] if there else [])
        actions += [self.checkpoint, self.taken, self.again, self.rotate, self.archive if there else self.commit]
        try:
            self._chance.choice(actions)()
        except MunimentError as refused:
            self.refusals.append(refused)
            return False
        return True

    def close(self) -> None:
        """Close the store."""
        try:
            self.runtime.close()
        except MunimentError as refused:
            self.refusals.append(refused)

    # --- the actions --------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Commit a turn."""
        name = self._chance.choice(CONVERSATIONS)
        number = self._turns[name] + 1
        turn = self._words.turn(name, number, characters=self._chance.choice((20, 200, 2000)))
        self.runtime.transcripts.commit(turn)
        self._turns[name] = number

    def mask(self) -> None:
        """Mask a turn."""
        self._request(Transition.MASK)

    def unmask(self) -> None:
        """Show a turn again."""
        self._request(Transition.UNMASK)

    def archive(self) -> None:
        """Archive a turn."""
        self._request(Transition.ARCHIVE)

    def erase(self) -> None:
        """Erase a turn."""
        self._request(Transition.ERASE)

    def erase_message(self) -> None:
        """Erase one message of a turn."""
        name, turn = self._one()
        scope = Scope(conversation=ConversationId(name), message=f"{turn}#1")
        self.runtime.lifecycle.erase(scope, "asked for", WHO)

    def checkpoint(self) -> None:
        """Sign the head."""
        self.runtime.evidence.checkpoint()

    def rotate(self) -> None:
        """Rotate the space key."""
        self.runtime.spaces.rotate()

    def taken(self) -> None:
        """Let somebody else take the write-ahead log into the database, so that it starts over."""
        (log,) = (self.home / "store").glob("spaces/*/log.db")
        with closing(apsw.Connection(str(log))) as other:
            other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def again(self) -> None:
        """Close the store and open it again."""
        try:
            self.runtime.close()
        finally:
            self.runtime = opened(self.home)

    def _request(self, transition: Transition) -> None:
        name, turn = self._one()
        self.runtime.lifecycle.request(key_of(name), transition, "asked for", WHO, turn)

    def _one(self) -> tuple[str, TurnId]:
        name = self._chance.choice([name for name, turns in self._turns.items() if turns])
        return name, TurnId(f"turn-{self._chance.randint(1, self._turns[name])}")
