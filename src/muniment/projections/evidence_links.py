"""Which items of memory came from which turns: a fold of every derived reference of a space.

A fold without a clock, a store or a key, like `projections.conversation_list`, and made in the same pass over the log
(`projections.conversation_catalogue`), which opens every event and misses none. References stand in the order of their
creation; for equal times, in that of the log.

`faults_of` holds a reference to what it names. A source is proved by the leaves of its turns, which no erasure changes
(decision 0070), so a reference stays provable for as long as the log does.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from muniment.events.changes import TurnSpan, span_of
from muniment.events.identity import TurnId, message_id
from muniment.events.records import ConversationOpened, EventKind, TurnMeta
from muniment.events.references import Plane, RefDerived
from muniment.evidence.verifier import source_digest
from muniment.governance.phases import Phase
from muniment.log.port import EventRow, Reader, StreamHead
from muniment.projections.transcript import TURNS_BATCH, ReadTurn, Transcript


class LinkFault(StrEnum):
    """What of a derived reference does not hold."""

    ORPHAN = "orphan"
    SOURCE_KEY = "source_key"
    SOURCE_SUBJECT = "source_subject"
    TURN_MISSING = "turn_missing"
    MESSAGE_MISSING = "message_missing"
    DIGEST = "digest"


class Reference(NamedTuple):
    """A derived reference and where it stands: its stream, the turns that its header names, the message by place."""

    created_ms: int
    position: int
    stream: int
    span: TurnSpan
    message: int | None
    meta: RefDerived


class Links:
    """All derived references up to an event of the log, by item of memory and by conversation."""

    def __init__(self) -> None:
        self._by_memory: dict[tuple[Plane, str], list[Reference]] = {}
        self._by_stream: dict[int, list[Reference]] = {}

    def take(self, row: EventRow, refs: Mapping[str, int], meta: RefDerived) -> None:
        """Take the next reference."""
        one = reference_of(row, refs, meta)
        for known in (
            self._by_memory.setdefault((meta.plane, meta.key), []),
            self._by_stream.setdefault(row.stream, []),
        ):
            insort(known, one, key=_order)

    def of_memory(self, plane: Plane, key: str) -> Sequence[Reference]:
        """Return the references of an item of memory."""
        return self._by_memory.get((plane, key), ())

    def of_stream(self, stream: int) -> Sequence[Reference]:
        """Return the references that lead to turns of a conversation."""
        return self._by_stream.get(stream, ())

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        memories = [
            [plane, key, [one.position for one in found]] for (plane, key), found in sorted(self._by_memory.items())
        ]
        streams = [
            [stream, [[*_order(one), *one.span, one.message, one.meta] for one in found]]
            for stream, found in sorted(self._by_stream.items())
        ]
        return [memories, streams]


def reference_of(row: EventRow, refs: Mapping[str, int], meta: RefDerived) -> Reference:
    """Return the reference that an event holds."""
    return Reference(meta.created_ms, row.position, row.stream, span_of(refs), refs.get("message"), meta)


def _order(reference: Reference) -> tuple[int, int]:
    return reference.created_ms, reference.position


# --- what a reference leads to ----------------------------------------------------------------------------------------


def turns_of(transcript: Transcript, reader: Reader, head: StreamHead, span: TurnSpan) -> Iterator[ReadTurn]:
    """Yield the turns of a span that are there, without their words."""
    last = head.turns if span.last is None else min(span.last, head.turns)
    for first in range(span.first, last + 1, TURNS_BATCH):
        yield from transcript.page(reader, head, first, min(last, first + TURNS_BATCH - 1), _no_words)


def leaves_of(turns: Iterable[ReadTurn]) -> Iterator[bytes]:
    """Yield the leaves that a source digest is made of."""
    return (read.opened.row.leaf for read in turns)


def faults_of(transcript: Transcript, reader: Reader, log: str, space: str, reference: Reference) -> list[LinkFault]:
    """Return what of a reference does not hold against the turns that it names; nothing when it is proved."""
    meta, source, span = reference.meta, reference.meta.source, reference.span
    head = transcript.head(reader, reference.stream)
    faults: list[LinkFault] = []
    if not meta.key.strip():
        faults.append(LinkFault.ORPHAN)
    opened = reader.sealed(reference.stream)
    is_opening = opened is not None and opened.kind == EventKind.CONVERSATION_OPENED
    names = transcript.names(opened) if opened is not None and is_opening else None
    if names != ConversationOpened(channel=source.channel, conversation=source.conversation) or source.space != space:
        faults.append(LinkFault.SOURCE_KEY)
    if not meta.subject or source.subject not in {None, meta.subject}:
        faults.append(LinkFault.SOURCE_SUBJECT)
    if span.last is None or not 1 <= span.first <= span.last <= head.turns:
        return [*faults, LinkFault.TURN_MISSING]
    ends = [next(turns_of(transcript, reader, head, TurnSpan(turn, turn))) for turn in (span.first, span.last)]
    named = [source.turn, source.turn if source.through is None else source.through]
    if [each.record.meta.delivery.turn for each in ends] != named:
        faults.append(LinkFault.TURN_MISSING)
    if not _names_its_message(reference, ends[0].record.meta):
        faults.append(LinkFault.MESSAGE_MISSING)
    if not meta.digest:  # it came with an archive: what was proved there was of another log
        return faults
    leaves = leaves_of(turns_of(transcript, reader, head, span))
    if source_digest(log, leaves, reference.message) != meta.digest:
        faults.append(LinkFault.DIGEST)
    return faults


def _names_its_message(reference: Reference, turn: TurnMeta) -> bool:
    source, place = reference.meta.source, reference.message
    if place is None:
        return source.message is None
    return place < len(turn.messages) and source.message == message_id(TurnId(source.turn), place)


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
