"""Worlds: an open store with something in it, built in one line, left and come back to, broken into.

    world = sqlite_world(tmp_path).with_turns(3).erased(1)

A world is the product itself, with sources of chance that repeat, a root key that is known, and a pin outside the
store. `edited` is the attacker: it closes the store, hands out the database as anybody without a key would find it, and
opens the store again.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self

import muniment
from muniment.crypto.root import LocalRoot
from muniment.errors import UnknownConversation
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.turn import Turn
from muniment.evidence.pin import FilePin
from muniment.governance.detection.detection import Detect
from muniment.governance.limits import Limits
from muniment.governance.profiles import Profile
from muniment.governance.views import View
from muniment.kernel.sources import SystemEntropy, seeded_sources
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.transcripts.commit import CommitReceipt
from muniment.operations.transcripts.redact import Passage, RedactionReport
from muniment.operations.transcripts.replay import Slice
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import TALK, plain_turn

DEFAULT_LIMITS = Limits()
DETECT_NOTHING = Detect()
OPERATOR = "operator"
STORE, PINS = "store", "pins"


def key_of(conversation: str = TALK, channel: str = "default") -> ConversationKey:
    """Return the key of a conversation."""
    return ConversationKey(conversation=ConversationId(conversation), channel=Channel(channel))


def root_key(name: str = "root") -> LocalRoot:
    """Return the root key of this name; the same name gives the same key."""
    return LocalRoot(name.encode().ljust(32, b"."), SystemEntropy())


class World:
    """An open space. `open_again` opens it again after it was closed."""

    def __init__(self, open_again: Callable[[int], Runtime]) -> None:
        self._open_again = open_again
        self._times = 0
        self.runtime = open_again(0)

    # --- building -----------------------------------------------------------------------------------------------------

    def with_turns(self, count: int, conversation: str = TALK) -> Self:
        """Commit plain turns behind those that the conversation has."""
        before = self.turns_of(conversation)
        for number in range(before + 1, before + count + 1):
            self.commit(plain_turn(number, conversation))
        return self

    def with_turn(self, turn: Turn) -> Self:
        """Commit one turn."""
        self.commit(turn)
        return self

    def archived(self, number: int | None = None, conversation: str = TALK) -> Self:
        """Archive a plain turn by its number, or the whole conversation."""
        self.request(Transition.ARCHIVE, number, conversation)
        return self

    def masked(self, number: int | None = None, conversation: str = TALK) -> Self:
        """Mask a plain turn by its number, or the whole conversation."""
        self.request(Transition.MASK, number, conversation)
        return self

    def erased(self, number: int | None = None, conversation: str = TALK) -> Self:
        """Erase a plain turn by its number, or the whole conversation."""
        self.request(Transition.ERASE, number, conversation)
        return self

    def redacted(self, passage: Passage, *views: View, conversation: str = TALK) -> Self:
        """Redact a passage for views, or for all of them."""
        self.redact(passage, *views, conversation=conversation)
        return self

    # --- using --------------------------------------------------------------------------------------------------------

    def commit(self, turn: Turn) -> CommitReceipt:
        """Commit one turn and return the report."""
        return self.runtime.transcripts.commit(turn)

    def request(
        self, transition: Transition, number: int | None = None, conversation: str = TALK, reason: str = "asked for"
    ) -> LifecycleReport:
        """Ask for a transition of a plain turn by its number, or of the whole conversation."""
        turn = None if number is None else TurnId(f"turn-{number}")
        return self.runtime.lifecycle.request(key_of(conversation), transition, reason, OPERATOR, turn)

    def redact(
        self,
        passage: Passage,
        *views: View,
        reason: RedactionReason = RedactionReason.LEGAL,
        conversation: str = TALK,
    ) -> RedactionReport:
        """Redact a passage for views, or for all of them, and return the report."""
        return self.runtime.transcripts.redact(key_of(conversation), passage, list(views or View), reason, OPERATOR)

    def replay(self, view: View = View.RAW_OWNER, conversation: str = TALK) -> Slice:
        """Return the first page of a conversation, as large as pages go."""
        return self.runtime.transcripts.replay(key_of(conversation), view, Limits().page_turns_max)

    def turns_of(self, conversation: str = TALK) -> int:
        """Return how many turns a conversation has."""
        try:
            return len(self.replay(View.OPERATOR_AUDIT, conversation).turns)
        except UnknownConversation:
            return 0

    # --- leaving and coming back --------------------------------------------------------------------------------------

    def reopened(self) -> Self:
        """Close the store and open it again."""
        self.runtime.close()
        self._times += 1
        self.runtime = self._open_again(self._times)
        return self

    def close(self) -> None:
        """Close the store."""
        self.runtime.close()


class FileWorld(World):
    """A world whose store is a directory."""

    def __init__(self, home: Path, open_again: Callable[[int], Runtime]) -> None:
        self.home = home
        self.store = home / STORE
        super().__init__(open_again)

    @property
    def database(self) -> Path:
        """The file of the one log of the store."""
        (found,) = self.store.glob("spaces/*/log.db")
        return found

    @contextmanager
    def broken_into(self) -> Iterator[sqlite3.Connection]:
        """Close the store and hand out its database for editing."""
        self.runtime.close()
        with closing(sqlite3.connect(self.database)) as raw:
            yield raw
            raw.commit()

    @contextmanager
    def edited(self) -> Iterator[sqlite3.Connection]:
        """Close the store, hand out its database for editing, and open the store again."""
        with self.broken_into() as raw:
            yield raw
        self.reopened()

    def edited_while_open(self, statement: str) -> Self:
        """Let another process edit the database of the open store."""
        script = "import sqlite3, sys; raw = sqlite3.connect(sys.argv[1]); raw.execute(sys.argv[2]); raw.commit()"
        subprocess.run([sys.executable, "-c", script, str(self.database), statement], check=True)
        return self

    def crashed(self) -> Self:
        """Leave the store as a process leaves it that is killed: nothing closed, nothing signed; not opened again."""
        shutil.copytree(self.store, self.home / "crashed")
        self.runtime.close()
        shutil.rmtree(self.store)
        (self.home / "crashed").rename(self.store)
        return self

    def copy(self, name: str) -> Path:
        """Copy the closed store, without its pins, as somebody with access to its files would."""
        self.runtime.close()
        target = self.home / name
        shutil.copytree(self.store, target)
        self.reopened()
        return target

    def put_back(self, copy: Path) -> Self:
        """Close the store, put a copy in its place, and open it again."""
        self.runtime.close()
        shutil.rmtree(self.store)
        shutil.copytree(copy, self.store)
        return self.reopened()


# --- constructors -----------------------------------------------------------------------------------------------------


def memory_world(seed: str = "world", limits: Limits = DEFAULT_LIMITS, detect: Detect = DETECT_NOTHING) -> World:
    """Return a world in memory; it cannot be come back to."""

    def opened(times: int) -> Runtime:
        assert times == 0, "what was in memory is gone"
        options = Options(sources=seeded_sources(seed), limits=limits, detect=detect)
        return muniment.open("memory:", keys=root_key(), options=options)

    return World(opened)


def sqlite_world(home: Path, seed: str = "world", limits: Limits = DEFAULT_LIMITS) -> FileWorld:
    """Return a world in a directory."""

    def opened(times: int) -> Runtime:
        return open_store(home, f"{seed}-{times}" if times else seed, limits)

    return FileWorld(home, opened)


def open_store(
    home: Path, seed: str, limits: Limits = DEFAULT_LIMITS, space: str | None = None, profile: Profile | None = None
) -> Runtime:
    """Open the store of a home as any process would."""
    options = Options(sources=seeded_sources(seed), limits=limits, pin=FilePin(home / PINS), profile=profile)
    return muniment.open(home / STORE, keys=root_key(), space=space, options=options)
