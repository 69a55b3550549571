"""Whether a derived reference is proved: a source is there, and the leaves of its turns give the recorded digest.

No erasure changes a leaf (decision 0070), so a reference stays provable for as long as the log does.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from muniment.events.changes import TurnSpan
from muniment.events.identity import conversation_mark, message_id
from muniment.events.records import ConversationOpened, EventKind, TurnMeta
from muniment.evidence.verifier import source_digest
from muniment.governance.phases import Phase
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import Reader, StreamHead
from muniment.projections.evidence_links import Reference
from muniment.projections.transcript import TURNS_BATCH, ReadTurn, Transcript

Phases = frozenset[Phase]


class LinkFault(StrEnum):
    """What of a derived reference does not hold."""

    ORPHAN = "orphan"
    SOURCE_KEY = "source_key"
    SOURCE_SUBJECT = "source_subject"
    TURN_MISSING = "turn_missing"
    MESSAGE_MISSING = "message_missing"
    DIGEST = "digest"


def turns_of(transcript: Transcript, reader: Reader, head: StreamHead, span: TurnSpan) -> Iterator[ReadTurn]:
    """Yield the turns of a span that are there, without their words."""
    last = head.turns if span.last is None else min(span.last, head.turns)
    for first in range(span.first, last + 1, TURNS_BATCH):
        yield from transcript.page(reader, head, first, min(last, first + TURNS_BATCH - 1), _no_words)


def turn_of(transcript: Transcript, reader: Reader, head: StreamHead, opened: OpenedEvent) -> ReadTurn:
    """Return a turn that was opened as it is now, without its words."""
    return transcript.read_opened(opened, transcript.changes(reader, head), transcript.mark(reader, head), _no_words)


def phase_left(read: ReadTurn, message: int | None) -> Phase:
    """Return what is left of a turn, or of a message of it."""
    return Phase.ERASED if message in read.record.erased else read.record.phase


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
    if [read.record.meta.delivery.turn for read in ends] != named:
        faults.append(LinkFault.TURN_MISSING)
    if not _names_its_message(reference, ends[0].record.meta):
        faults.append(LinkFault.MESSAGE_MISSING)
    if not meta.digest:  # it came with an archive: what was proved there was of another log
        return faults
    leaves = (read.opened.row.leaf for read in turns_of(transcript, reader, head, span))
    if source_digest(log, leaves, reference.message) != meta.digest:
        faults.append(LinkFault.DIGEST)
    return faults


def _names_its_message(reference: Reference, turn: TurnMeta) -> bool:
    source, place = reference.meta.source, reference.message
    if place is None:
        return source.message is None
    return place < len(turn.messages) and source.message == message_id(
        conversation_mark(source.channel, source.conversation), source.turn, place
    )


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
