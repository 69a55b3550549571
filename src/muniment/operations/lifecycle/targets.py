"""Targets: what a request is about, found in the log as the turns in question of each conversation.

A target looks twice: once for the report, and inside the write transaction for what was committed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import TurnSpan
from muniment.events.identity import (
    Channel,
    ConversationId,
    ConversationKey,
    MessageName,
    SubjectId,
    TurnId,
    conversation_mark,
    named_message,
)
from muniment.events.records import ConversationOpened, EventKind, TurnMeta
from muniment.governance.custody import subjects_of
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.operations.lifecycle.scope import NotebookKey, Scope, StreamKey, Turns
from muniment.space.options import Progress
from muniment.space.space import Space

BATCH = 500  # rows with cells in memory at a time
NO_MESSAGE = MessageName(TurnId(""), -1)  # what no id names
SCAN_PART_EVENTS = 4000  # read in one snapshot, so that nobody who empties the write-ahead log waits for a scan


class Target(Protocol):
    """Finds what a request is about."""

    def prepare(self) -> None:
        """Do what takes long, in snapshots of its own."""
        ...

    def turns(self, reader: Reader) -> list[Turns]:
        """Return the turns, conversation by conversation; nothing when there are none."""
        ...

    def since(self, reader: Reader, position: int) -> list[Turns]:
        """Return those of the turns that were committed from a position on."""
        ...


def target_of(space: Space, scope: Scope, progress: Progress, *, with_memory: bool = False) -> Target:
    """Return the target of a scope that was checked, perhaps with the items that rest on nothing but its turns."""
    target: Target = SpaceTarget(space)
    if scope.key is not None:
        target = ConversationTarget(space, scope.key, scope.turn, scope.message)
    elif scope.subject is not None:
        target = SubjectTarget(space, scope.subject, progress)
    return WithMemory(target) if with_memory else target


class ConversationTarget:
    """All turns of a conversation, one of them, or a message of it."""

    def __init__(self, space: Space, key: ConversationKey, turn: TurnId | None, message: str | None = None) -> None:
        self._space = space
        self._key = key
        self._message = None
        if message is not None:
            self._message = named_message(message, conversation_mark(key.channel, key.conversation)) or NO_MESSAGE
        self._turn = turn if self._message is None else self._message.turn

    def prepare(self) -> None:
        """Do nothing: finding the turns is quick."""

    def turns(self, reader: Reader) -> list[Turns]:
        """Return the turns, if the conversation has them."""
        transcript = self._space.transcript
        stream = transcript.stream_of(reader, self._key)
        if stream is None:
            return []
        head = transcript.head(reader, stream)
        if self._turn is None:
            return [Turns(self._key, head, (TurnSpan(1, head.turns),))] if head.turns else []
        try:
            opened = transcript.turn(reader, head, self._key, self._turn)
        except (Corrupt, KeyMissing) as fault:
            if self._message is not None:
                raise
            return [Turns(self._key, head, (self._left_over(reader, head, self._turn, fault),))]
        if opened is None or opened.row.turn_seq is None:
            return []
        span = TurnSpan(opened.row.turn_seq, opened.row.turn_seq)
        if self._message is None:
            return [Turns(self._key, head, (span,))]
        assert isinstance(opened.meta, TurnMeta), "only turns have a turn sequence"
        place = self._message.place
        return [Turns(self._key, head, (span,), place)] if 0 <= place < len(opened.meta.messages) else []

    def since(self, reader: Reader, position: int) -> list[Turns]:
        """Return those of the turns that were committed from a position on."""
        return later(self.turns, reader, position)

    def _left_over(self, reader: Reader, head: StreamHead, turn: TurnId, fault: Corrupt | KeyMissing) -> TurnSpan:
        """Return the turn that an id must mean when its row does not open, or raise the fault.

        The name is proved, and it leads to a turn of the conversation that cannot be read.
        """
        position = self._space.ledger.names.find(reader, self._space.transcript.turn_digest(self._key, turn))
        row = None if position is None else reader.sealed(position)
        if row is None or row.stream != head.stream or row.turn_seq is None or self._named(row) is not None:
            raise fault
        return TurnSpan(row.turn_seq, row.turn_seq)

    def _named(self, row: SealedRow) -> str | None:
        meta = readable(self._space, row)
        return None if meta is None else meta.delivery.turn


class SubjectTarget:
    """Every turn of a subject, in all conversations, and its memory items; no turn is read twice.

    `own`: only turns whose subject it is, not those that name it as acting or mounted.
    """

    def __init__(self, space: Space, subject: str, progress: Progress, *, own: bool = False) -> None:
        self._own = own
        self._space = space
        self._subject = subject
        self._progress = progress
        self._read: dict[int, int] = {}  # by stream, up to which turn
        self._sequences: dict[int, list[int]] = {}
        self._unreadable: dict[int, list[int]] = {}

    def prepare(self) -> None:
        """Read all turns of the space in log order, a part at a time."""
        with self._space.ledger.reader() as reader:
            size = reader.frontier().size
        for first in range(0, size, SCAN_PART_EVENTS):
            end = min(size, first + SCAN_PART_EVENTS)
            with self._space.ledger.reader() as reader:
                for row in reader.sealed_events(first, end - 1):
                    if row.kind == EventKind.TURN_COMMITTED:
                        self._take(row, row.turn_seq or 0)
            self._progress("turns of the subject", end, size)

    def turns(self, reader: Reader) -> list[Turns]:
        """Return the turns of the subject, conversation by conversation, and its items, notebook by notebook."""
        found = (self._of(reader, key, head) for key, head in conversations(self._space, reader))
        return [turns for turns in found if turns is not None] + self._items(reader)

    def _items(self, reader: Reader) -> list[Turns]:
        return items_in(self._space, reader, self._space.notebooks.heads(reader, self._subject))

    def since(self, reader: Reader, position: int) -> list[Turns]:
        """Return those that were committed from a position on; only conversations that grew are read."""
        transcript, found = self._space.transcript, list[Turns]()
        first_entries = first_turns(reader, position)
        for stream, first in first_entries.items():
            names = reader.sealed(stream)
            assert names is not None, "a turn follows the opening of its conversation"
            if names.kind == EventKind.NOTEBOOK_OPENED:
                continue
            key, head = key_of(transcript.names(names)), transcript.head(reader, stream)
            turns = self._of(reader, key, head, first)
            if turns is not None:
                found.append(turns)
        return found + grown(self._items(reader), first_entries)

    def _of(self, reader: Reader, key: ConversationKey, head: StreamHead, first: int = 1) -> Turns | None:
        self._read_to(reader, head.stream, head.turns)
        spans = tuple(spans_of(turn for turn in self._sequences.get(head.stream, ()) if turn >= first))
        unreadable = tuple(self._unreadable.get(head.stream, ()))
        return Turns(key, head, spans, None, unreadable) if spans or unreadable else None

    def _read_to(self, reader: Reader, stream: int, upto: int) -> None:
        for row in turns_of(reader, stream, TurnSpan(self._read.get(stream, 0) + 1, upto)):
            self._take(row, row.turn_seq or 0)

    def _take(self, row: SealedRow, turn: int) -> None:
        read = self._read.get(row.stream, 0)
        if turn <= read:
            return
        if turn != read + 1:
            raise Corrupt(at=f"stream {row.stream}", problem="turns_missing", limit=read + 1, found=turn)
        meta = readable(self._space, row)
        if meta is None:
            self._unreadable.setdefault(row.stream, []).append(turn)
        elif self._subject in ({meta.actor.subject} if self._own else subjects_of(meta.actor)):
            self._sequences.setdefault(row.stream, []).append(turn)
        self._read[row.stream] = turn


class SpaceTarget:
    """Every turn and every memory item of the space."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def prepare(self) -> None:
        """Do nothing: finding the turns is quick."""

    def turns(self, reader: Reader) -> list[Turns]:
        """Return all turns, conversation by conversation, and all items, notebook by notebook."""
        turns = [
            Turns(key, head, (TurnSpan(1, head.turns),))
            for key, head in conversations(self._space, reader)
            if head.turns
        ]
        return turns + items_in(self._space, reader, self._space.notebooks.every_head(reader))

    def since(self, reader: Reader, position: int) -> list[Turns]:
        """Return those of the turns that were committed from a position on."""
        return later(self.turns, reader, position)


class TurnsTarget:
    """Turns, or memory items, that were chosen before."""

    def __init__(self, space: Space, chosen: Mapping[StreamKey, tuple[int, list[TurnSpan]]]) -> None:
        self._space = space
        self._chosen = chosen

    def prepare(self) -> None:
        """Do nothing: finding the turns is quick."""

    def turns(self, reader: Reader) -> list[Turns]:
        """Return the chosen turns as they are now."""
        return [
            Turns(key, self._space.transcript.head(reader, stream), tuple(spans))
            for key, (stream, spans) in self._chosen.items()
        ]

    def since(self, _reader: Reader, _position: int) -> list[Turns]:
        """Return nothing: later turns were not chosen."""
        return []


class WithMemory:
    """A target whose items go with its turns."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def prepare(self) -> None:
        """Do what takes long."""
        self._target.prepare()

    def turns(self, reader: Reader) -> list[Turns]:
        """Return the turns."""
        return self._target.turns(reader)

    def since(self, reader: Reader, position: int) -> list[Turns]:
        """Return those of the turns that were committed from a position on."""
        return self._target.since(reader, position)


def takes_memory(target: Target) -> bool:
    """Tell whether a request takes the items along that rest on nothing but its turns."""
    return isinstance(target, WithMemory)


# --- reading ----------------------------------------------------------------------------------------------------------


def conversations(space: Space, reader: Reader) -> list[tuple[ConversationKey, StreamHead]]:
    """Return every conversation with its proved head, in log order."""
    return [
        (key_of(space.transcript.names(row)), space.transcript.head(reader, row.stream))
        for row in space.transcript.conversations(reader)
    ]


def items_in(space: Space, reader: Reader, heads: Iterable[StreamHead]) -> list[Turns]:
    """Return all memory items, notebook by notebook."""
    found: list[Turns] = []
    for head in heads:
        opened = space.notebooks.opening(reader, head.stream)
        key = NotebookKey(subject=SubjectId(opened.subject), plane=opened.plane)
        if head.turns:
            found.append(Turns(key, head, (TurnSpan(1, head.turns),)))
    return found


def first_turns(reader: Reader, position: int) -> dict[int, int]:
    """Return the first turn that was committed, or item that was recorded, from a position on, by stream."""
    found: dict[int, int] = {}
    for row in reader.sealed_events(position, reader.frontier().size - 1):
        if row.turn_seq is not None:
            found.setdefault(row.stream, row.turn_seq)
    return found


def later(turns: Callable[[Reader], list[Turns]], reader: Reader, position: int) -> list[Turns]:
    """Return what of turns was committed from a position on."""
    first = first_turns(reader, position)
    return grown(turns(reader), first) if first else []


def grown(turns: Iterable[Turns], first: Mapping[int, int]) -> list[Turns]:
    """Return what of turns is in these streams, from these turns on."""
    return [
        each._replace(spans=tuple(from_turn(first[each.head.stream], each.spans)))
        for each in turns
        if each.head.stream in first
    ]


def from_turn(first: int, spans: Iterable[TurnSpan]) -> Iterator[TurnSpan]:
    """Yield what of spans begins with a turn."""
    for span in spans:
        if span.last is None or span.last >= first:
            yield TurnSpan(max(span.first, first), span.last)


def key_of(names: ConversationOpened) -> ConversationKey:
    """Return the key of a conversation of these names."""
    return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))


def turns_of(reader: Reader, stream: int, span: TurnSpan) -> Iterator[SealedRow]:
    """Yield the rows of turns, all of them and in their order, or raise `Corrupt`."""
    assert span.last is not None, "only turns that are there have rows"
    for start in range(span.first, span.last + 1, BATCH):
        last = min(span.last, start + BATCH - 1)
        rows = reader.turns(stream, start, last)
        if [row.turn_seq for row in rows] != list(range(start, last + 1)):
            raise Corrupt(at=f"stream {stream}", problem="turns_missing", limit=last - start + 1, found=len(rows))
        yield from rows


def readable(space: Space, row: SealedRow) -> TurnMeta | None:
    """Return what a turn says of itself, or None for one that does not open any more."""
    try:
        meta = space.ledger.open(row).meta
    except (Corrupt, KeyMissing):
        return None
    assert isinstance(meta, TurnMeta), "only turns have a turn sequence"
    return meta


def spans_of(sequences: Iterable[int]) -> Iterator[TurnSpan]:
    """Yield ascending sequences as spans."""
    first = last = None
    for sequence in sequences:
        if last is not None and sequence == last + 1:
            last = sequence
            continue
        if first is not None:
            yield TurnSpan(first, last)
        first = last = sequence
    if first is not None:
        yield TurnSpan(first, last)
