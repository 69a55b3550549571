"""Fences: what the present log of a space has erased, so that no older state of it brings that back.

The list is the log itself: every erasure is an event, and the turns that it is about are found through it. It is
collected before the log is replaced, and held against what takes its place: by the leaf of a turn's commit where that
stands at the same position, otherwise by the names of the turn. What of the present log cannot be read any more fences
nothing; it is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import OMITTED, REPLACED, Transition, TurnSpan, span_of, span_refs
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import ConversationOpened, EventKind, MetaBody, TurnMeta
from muniment.ledger.drafts import Change
from muniment.ledger.erasures import lifecycle_events
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader, SealedRow
from muniment.operations.spaces.backup.registry_fences import RegistryFences
from muniment.space.healing import Healing, erase_messages
from muniment.space.space import Space

BATCH = 500


class FencedTurn(NamedTuple):
    """A turn that was erased: where its commit stood, its leaf, and the digest that it is found by."""

    position: int
    leaf: bytes
    digest: bytes | None


class Fence(Struct, frozen=True, kw_only=True):
    """An erasure: its event, and the turns that it is about, or a message of one.

    `whole`: of all turns from the first to one, in one event.
    """

    kind: EventKind
    event: MetaBody
    whole: bool
    message: int | None
    turns: list[FencedTurn]


class Fences:
    """The erasures of a log."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._known: list[Fence] = []
        self._registries = RegistryFences(space)
        self.unreadable = 0

    def collect(self, reader: Reader) -> None:
        """Remember every erasure of the present log."""
        for row in lifecycle_events(reader):
            try:
                self._remember(reader, row)
            except (Corrupt, KeyMissing):
                self.unreadable += 1
        try:
            self._registries.collect(reader)
        except (Corrupt, KeyMissing):
            self.unreadable += 1

    def _remember(self, reader: Reader, row: SealedRow) -> None:
        ledger = self._space.ledger
        header, _ = ledger.header(row)
        if header.reason != Transition.ERASE or header.about.keys() & {REPLACED, OMITTED}:
            return
        event, span = ledger.open(row).meta, span_of(header.about)
        turns = list(self._turns(reader, row.stream, span, self._key_of(reader, row.stream)))
        whole, message = not header.target, header.refs.get("message")
        self._known.append(Fence(kind=EventKind(row.kind), event=event, whole=whole, message=message, turns=turns))

    def _meta(self, row: SealedRow | None) -> MetaBody | None:
        """Return what an event says, or None where it cannot be read any more."""
        try:
            return None if row is None else self._space.ledger.open(row).meta
        except (Corrupt, KeyMissing):
            return None

    def _key_of(self, reader: Reader, stream: int) -> ConversationKey | None:
        names = self._meta(reader.sealed(stream))
        if not isinstance(names, ConversationOpened):
            return None
        return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))

    def _turns(self, reader: Reader, stream: int, span: TurnSpan, key: ConversationKey | None) -> Iterator[FencedTurn]:
        last = span.last or 0
        for start in range(span.first, last + 1, BATCH):
            for row in reader.turns(stream, start, min(last, start + BATCH - 1)):
                meta, digest = self._meta(row), None
                if key is not None and isinstance(meta, TurnMeta):
                    digest = self._space.transcript.turn_digest(key, meta.delivery.turn)
                yield FencedTurn(row.position, row.leaf, digest)

    def apply(self, writer: Writer) -> int:
        """Erase again, in the log that a plan has put in place, what is fenced; return how many turns that were."""
        self._registries.apply(writer)
        return sum(self._again(writer, fence) for fence in self._known)

    def _again(self, writer: Writer, fence: Fence) -> int:
        if fence.message is not None:
            return sum(self._message_again(writer, fence, fence.message, turn) for turn in fence.turns)
        found: dict[int, list[SealedRow]] = {}
        for turn in fence.turns:
            row = self._found(writer.tx, turn)
            if row is not None:
                found.setdefault(row.stream, []).append(row)
        erased = 0
        for stream, rows in found.items():
            left = [row for row in rows if row.content is not None or self._has_key(row)]
            if not left:
                continue
            sequences = [row.turn_seq or 0 for row in rows]
            as_one = fence.whole and sequences == list(range(1, len(rows) + 1))
            spans = [TurnSpan(1, len(rows))] if as_one else [TurnSpan(row.turn_seq or 0, row.turn_seq) for row in left]
            for span in spans:
                self._append(writer, stream, span_refs(span), fence)
            for row in left:
                writer.destroy_content(row)
            erased += len(left)
        return erased

    def _has_key(self, row: SealedRow) -> bool:
        """Tell whether there is a key to content; nothing is left of one that was erased unread."""
        return row.envelope is not None and self._space.ledger.unsealed(row).key is not None

    def _message_again(self, writer: Writer, fence: Fence, message: int, turn: FencedTurn) -> bool:
        row, ledger = self._found(writer.tx, turn), self._space.ledger
        if row is None or not Healing(ledger, self._space.transcript).holds(row, message):
            return False
        erase_messages(ledger, writer, row, frozenset({message}))
        self._append(writer, row.stream, {"turn": row.turn_seq or 0, "message": message}, fence)
        return True

    def _found(self, reader: Reader, turn: FencedTurn) -> SealedRow | None:
        row = reader.sealed(turn.position)
        if row is not None and row.leaf == turn.leaf:
            return row
        position = None if turn.digest is None else self._space.ledger.names.find(reader, turn.digest)
        return None if position is None else reader.sealed(position)

    def _append(self, writer: Writer, stream: int, refs: dict[str, int], fence: Fence) -> None:
        now_ms = self._space.sources.clock.now_ms()
        writer.change(Change(fence.kind, now_ms, fence.event, refs, Transition.ERASE), stream)
