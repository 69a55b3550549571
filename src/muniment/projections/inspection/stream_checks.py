"""Streams: events in their order, heads that account for them, and names that lead to them.

What is remembered of a stream while its events go by is a few numbers, so that memory grows with the number of
conversations and notebooks and not with their length.
"""

from __future__ import annotations

from muniment.errors import Corrupt, KeyMissing
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.memory_items import ItemMeta, NotebookOpened
from muniment.events.records import (
    CONVERSATION,
    OPENS,
    SPACE,
    AliasRecorded,
    ConversationOpened,
    EventKind,
    TurnMeta,
)
from muniment.kernel.digest import b64url
from muniment.ledger.ledger import SPACE_STREAM, Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.inspection.findings import FindingKind, Findings
from muniment.projections.inspection.seen import ReadEvent, StreamTail
from muniment.projections.notebooks import Notebooks
from muniment.projections.registry_names import (
    RegistryBody,
    former_registry_name,
    registry_name,
    registry_of,
)
from muniment.projections.transcript import Transcript

# kind of an entry -> what it is when another one of its stream has the same id
DOUBLES: dict[str, FindingKind] = {
    EventKind.TURN_COMMITTED: FindingKind.DUPLICATE_TURN,
    EventKind.ITEM_RECORDED: FindingKind.DUPLICATE_ITEM,
}


class StreamChecks:
    """Looks at events as members of their streams."""

    def __init__(self, ledger: Ledger, transcript: Transcript, findings: Findings) -> None:
        self._ledger = ledger
        self._transcript = transcript
        self._notebooks = Notebooks(ledger, transcript)
        self._findings = findings
        self.tails: dict[int, StreamTail] = {}

    def take(self, reader: Reader, seen: ReadEvent) -> StreamTail:
        """Look at the next event of a stream; return the stream with it."""
        row = seen.row
        tail = self.tails.get(row.stream)
        if tail is None:
            tail = self.tails[row.stream] = StreamTail(row.stream)
        self._order(tail, seen)
        if seen.opened is not None:
            meta = seen.opened.meta
            if isinstance(meta, TurnMeta):
                self._turn(reader, tail, row, meta)
            elif isinstance(meta, ConversationOpened):
                tail.key = ConversationKey(
                    conversation=ConversationId(meta.conversation), channel=Channel(meta.channel)
                )
                digest = self._transcript.conversation_digest(meta.channel, meta.conversation)
                self._named(reader, row, digest, row.position)
            elif isinstance(meta, AliasRecorded):
                digest = self._transcript.alias_digest(meta.subject, meta.channel, meta.chat)
                self._named(reader, row, digest, row.stream)
            elif isinstance(meta, NotebookOpened):
                tail.notebook = meta
                digest = self._notebooks.notebook_name(meta.subject, meta.plane)
                self._named(reader, row, digest, row.position)
            elif isinstance(meta, ItemMeta):
                self._findings.items += 1
                self._named(reader, row, self._notebooks.item_name(meta.item), row.position)
            elif isinstance(meta, RegistryBody):
                self._registry(reader, row, meta)
        elif row.stream != SPACE_STREAM and row.target_seq is None:
            self._findings.unread += 1
            tail.unread = tail.unread or row.turn_seq is not None
        tail.seq, tail.leaf = row.seq, row.leaf
        tail.changes += row.target_seq is not None
        return tail

    def finish(self, reader: Reader) -> None:
        """Hold every head to what went by; in the snapshot in which the last event was read."""
        for tail in self.tails.values():
            try:
                head = self._ledger.head(reader, tail.stream)
            except Corrupt as corrupt:
                self._findings.of_stream(tail.stream, FindingKind.HEAD_MISMATCH, corrupt.problem)
                continue
            if head is None:
                self._findings.of_stream(tail.stream, FindingKind.HEAD_MISSING)
            elif not tail.agrees(head):
                self._findings.of_stream(tail.stream, FindingKind.HEAD_MISMATCH)
            elif head.type not in {SPACE.type, CONVERSATION.type}:
                # slots, which `slot_checks` looks for; and whatever the entries of a type that is not known are called
                self._findings.lookups += head.names - tail.names

    def _order(self, tail: StreamTail, seen: ReadEvent) -> None:
        row, header = seen.row, seen.header
        if row.seq != tail.seq + 1:
            kind = FindingKind.DUPLICATE_SEQUENCE if row.seq <= tail.seq else FindingKind.CHAIN_BROKEN
            self._findings.of(row, kind, "seq")
        elif header is not None and header.prev != (b64url(tail.leaf) if tail.leaf else None):
            self._findings.of(row, FindingKind.CHAIN_BROKEN, "prev")
        if row.turn_seq is not None:
            if row.turn_seq != tail.turns + 1:
                kind = FindingKind.DUPLICATE_SEQUENCE if row.turn_seq <= tail.turns else FindingKind.CHAIN_BROKEN
                self._findings.of(row, kind, "turn_seq")
            tail.turns = row.turn_seq

    def _turn(self, reader: Reader, tail: StreamTail, row: SealedRow, meta: TurnMeta) -> None:
        self._findings.turns += 1
        tail.messages += len(meta.messages)
        if not meta.delivery.turn:
            self._findings.of(row, FindingKind.CORRUPT_RECORD, "turn_unnamed", "delivery")
        if not meta.actor.subject:
            self._findings.of(row, FindingKind.CORRUPT_RECORD, "owner_missing", "actor")
        if tail.key is not None:
            self._named(reader, row, self._transcript.turn_digest(tail.key, meta.delivery.turn), row.position)

    def _named(self, reader: Reader, row: SealedRow, digest: bytes, position: int) -> None:
        """Look for an event by its name, and see whether that leads there; of what was replaced, by its former name."""
        try:
            found, opens = self._ledger.names.find(reader, digest), row.kind in OPENS
            if (found != position or opens) and self._is_replaced(reader, row.stream):
                found = self._former(reader, digest, position, row.stream, numbered=opens)
        except Corrupt as corrupt:
            if corrupt.at == "names":  # what else it may be is said of the log as a whole
                self._findings.of(row, FindingKind.LOOKUP_MISMATCH, corrupt.problem)
            return
        if found is None:
            self._findings.of(row, FindingKind.LOOKUP_MISSING)
            return
        self._findings.lookups += 1
        self.tails[row.stream].names += 1
        if found != position:
            is_double = row.turn_seq is not None and self._has_turn(reader, found, row)
            self._findings.of(row, DOUBLES[row.kind] if is_double else FindingKind.LOOKUP_MISMATCH)

    def _registry(self, reader: Reader, row: SealedRow, body: RegistryBody) -> None:
        """Find what was said of a tool registry by its id, or where more was said since by its former name."""
        registry, revision = registry_of(body)
        name = registry_name(self._ledger, registry)
        former = former_registry_name(self._ledger, registry, revision)
        try:
            is_last = self._ledger.names.find(reader, former) is None
        except Corrupt:  # which is told of the names
            is_last = True
        self._named(reader, row, name if is_last else former, row.position)

    def _is_replaced(self, reader: Reader, stream: int) -> bool:
        """Tell whether an archive took the place of a conversation; of one that cannot be folded nobody can say."""
        try:
            return self._transcript.changes(reader, self._transcript.head(reader, stream)).replaced
        except (Corrupt, KeyMissing):
            return False

    def _former(self, reader: Reader, digest: bytes, position: int, stream: int, *, numbered: bool) -> int | None:
        """Return where the former name of something leads; of the several of a conversation, that which leads here."""
        if not numbered:
            return self._ledger.names.find(reader, self._transcript.former_digest(digest, stream))
        number, found = 1, self._ledger.names.find(reader, self._transcript.former_digest(digest, 1))
        while found is not None and found != position:
            number += 1
            found = self._ledger.names.find(reader, self._transcript.former_digest(digest, number))
        return found

    def _has_turn(self, reader: Reader, found: int, row: SealedRow) -> bool:
        """Tell whether a name leads to another turn of the same stream, which has it too."""
        other = reader.sealed(found)
        return other is not None and other.stream == row.stream and other.turn_seq is not None
