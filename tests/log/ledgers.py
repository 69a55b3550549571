"""Ledgers for tests in one line, and the attacker who edits what lies at rest without a key.

    book = sqlite_book(tmp_path).with_turns(3)

A book is the product's own ledger over one of its stores, with sources of chance that repeat. What it writes is decided
here and not by governance, so that single rows can be looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path
from typing import Self

import apsw

from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.root import LocalRoot
from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle
from muniment.events.labels import content_fields
from muniment.events.message import Role, TextPart
from muniment.events.records import (
    ConversationOpened,
    DeliveryRecord,
    EventKind,
    KeyRotated,
    MessageHead,
    MetaBody,
    SpaceOpened,
    TurnContent,
    TurnMeta,
)
from muniment.events.turn import Attribution, Delivery
from muniment.evidence.pin import Pin
from muniment.evidence.tree import Frontier
from muniment.kernel.sources import SystemEntropy, seeded_sources
from muniment.ledger.attest import Notary
from muniment.ledger.drafts import Draft, EncodedContent, draft
from muniment.ledger.heads import Placed
from muniment.ledger.ledger import SPACE_STREAM, Ledger, Writer
from muniment.log.memory import MemoryStore
from muniment.log.port import WHOLE_CONVERSATION, SealedRow, Store
from muniment.log.sqlite import SqliteStore

LOG_FILE = "log.db"


ROOT = LocalRoot(b"root".ljust(32, b"."), SystemEntropy())


def space_keys(directory: Path) -> SpaceKeys:
    """Make the keys of a space, the same every time."""
    return SpaceKeys.create(directory, "home", ROOT, seeded_sources("ledger"))


def keys_again(directory: Path) -> SpaceKeys:
    """Load the keys of a book that is in this directory, as another process does."""
    return SpaceKeys(directory / "space", ROOT, SystemEntropy())


def turn_id(words: str) -> str:
    """Return the id of the turn that says this."""
    return f"turn of {words}"


class UnhurriedNotary(Notary):
    """Signs on demand and at multiples alone, so that a test decides what is signed."""

    def is_due(self, _kinds: Collection[str], _now_ms: int) -> bool:
        """Return False."""
        return False


class Book:
    """A ledger with the event that opened its space."""

    def __init__(self, store: Store, keys: SpaceKeys, pin: Pin | None = None) -> None:
        self.sources = seeded_sources("book")
        self.store = store
        self.keys = keys
        self.notary = UnhurriedNotary(keys, pin)
        self.ledger = Ledger(store, keys, self.sources.entropy, self.notary)
        self._names: dict[int, tuple[str, str]] = {}
        with self.ledger.reader() as reader:
            is_new = reader.frontier().size == 0
        if is_new:
            self.append(self.small(EventKind.SPACE_OPENED, SpaceOpened(name="home")), None)

    # --- drafts -------------------------------------------------------------------------------------------------------

    def small(self, kind: EventKind, meta: MetaBody, reason: str | None = None) -> Draft:
        """Return an event without content."""
        return draft(self.sources.entropy, kind, self.sources.clock.now_ms(), meta, reason=reason)

    def said(self, words: str) -> Draft:
        """Return a turn of one message."""
        meta = TurnMeta(
            actor=Attribution(subject="ada"),
            delivery=DeliveryRecord(turn=turn_id(words), status=Delivery.DELIVERED),
            messages=[MessageHead(role=Role.USER)],
        )
        return self.turn(meta, TurnContent(parts=[[TextPart(content=words)]], digest=bytes(32)))

    def turn(self, meta: TurnMeta, content: TurnContent) -> Draft:
        """Return a turn."""
        fields = list(content_fields(content))
        now_ms = self.sources.clock.now_ms()
        return draft(
            self.sources.entropy, EventKind.TURN_COMMITTED, now_ms, meta, content=EncodedContent(content, fields)
        )

    # --- writing ------------------------------------------------------------------------------------------------------

    def append(self, event: Draft, stream: int | None, messages: int = 0) -> Placed:
        """Append one event in a transaction of its own."""
        return self.ledger.transact(lambda writer: writer.append(event, stream=stream, messages=messages))

    def conversation(self, name: str = "talk", channel: str = "mail") -> int:
        """Open a conversation that is found by its names; return its stream."""
        opened = self.small(EventKind.CONVERSATION_OPENED, ConversationOpened(channel=channel, conversation=name))

        def plan(writer: Writer) -> int:
            placed = writer.append(opened, stream=None)
            digest = self.ledger.name_digest("conversation", channel, name)
            writer.claim(digest, placed.stream, placed.position)
            return placed.stream

        stream = self.ledger.transact(plan)
        self._names[stream] = (channel, name)
        return stream

    def say(self, stream: int, *words: str) -> list[Placed]:
        """Append turns that are found by their ids, one for each text."""
        return [self.ledger.transact(functools.partial(self._say, stream, text)) for text in words]

    def _say(self, stream: int, words: str, writer: Writer) -> Placed:
        placed = writer.append(self.said(words), stream=stream, messages=1)
        names = self._names.get(stream, ("", ""))
        writer.claim(self.ledger.name_digest("turn", *names, turn_id(words)), stream, placed.position)
        return placed

    def change(self, stream: int, transition: Transition, turn: int | None = None, through: int = 0) -> Placed:
        """Append a transition of a turn, or of all turns up to one."""
        request = LifecycleRequest(reason="asked for", requester="operator", requested_ms=1)
        event = self.small(EventKind.TURN_LIFECYCLE, TurnLifecycle(request=request), reason=transition)
        target, refs = (WHOLE_CONVERSATION, {"through": through}) if turn is None else (turn, {"turn": turn})
        return self.ledger.transact(lambda writer: writer.append(event, stream=stream, target=target, refs=refs))

    def changed(self, stream: int, kind: EventKind, meta: MetaBody, reason: str, refs: dict[str, int]) -> Placed:
        """Append any change of a stream."""
        event = self.small(kind, meta, reason)
        target = refs.get("turn", WHOLE_CONVERSATION)
        return self.ledger.transact(lambda writer: writer.append(event, stream=stream, target=target, refs=refs))

    def grow(self, events: int) -> None:
        """Append so many small events to the stream of the space, in one plan."""
        drafts = [self.small(EventKind.KEY_ROTATED, KeyRotated(version=n), "requested") for n in range(events)]

        def plan(writer: Writer) -> None:
            for event in drafts:
                writer.append(event, stream=SPACE_STREAM)

        self.ledger.transact(plan)

    def with_turns(self, count: int, name: str = "talk") -> Self:
        """Open a conversation and append turns to it."""
        stream = self.conversation(name)
        self.say(stream, *(f"words {number} of {name}" for number in range(1, count + 1)))
        return self

    # --- reading ------------------------------------------------------------------------------------------------------

    def row(self, position: int) -> SealedRow:
        """Return a row that is there."""
        with self.ledger.store.reader() as reader:
            row = reader.sealed(position)
        assert row is not None, "tests look at rows that are there"
        return row

    def head(self) -> Frontier:
        """Return the head of the log."""
        with self.ledger.reader() as reader:
            return reader.frontier()

    def attest(self) -> Frontier:
        """Attest the log as an opening does."""
        pinned = self.notary.pinned()
        with self.ledger.store.reader() as reader:
            return self.notary.attest(self.ledger, reader, pinned)


def memory_book(directory: Path, pin: Pin | None = None) -> Book:
    """Return a book in memory."""
    return Book(MemoryStore(), space_keys(directory / "space"), pin)


class FileBook(Book):
    """A book in a file, which may be edited behind its back."""

    def __init__(self, directory: Path, keys: SpaceKeys, pin: Pin | None = None) -> None:
        self.path = directory / LOG_FILE
        super().__init__(SqliteStore(self.path), keys, pin)

    def edited(self, sql: str, *bindings: int | str | bytes | None) -> Self:
        """Change what lies at rest, as anybody can who may write the file."""
        raw = apsw.Connection(str(self.path))
        try:
            raw.execute(sql, bindings)
            assert raw.total_changes() > 0 or sql.startswith("DROP"), "an edit that changes nothing proves nothing"
        finally:
            raw.close()
        return self


def sqlite_book(directory: Path, pin: Pin | None = None) -> FileBook:
    """Return a book in a file."""
    return FileBook(directory / "space", space_keys(directory / "space"), pin)


BOOKS = {"memory": memory_book, "sqlite": sqlite_book}
