"""The receipts of a conversation: every transition, hold and release that its log has, each with its proof."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import WITH_MEMORY, Action, LifecycleRequest, TurnLifecycle, TurnSpan, span_of
from muniment.events.identity import ConversationKey
from muniment.evidence.bundle import event_line
from muniment.evidence.bundle import receipt as tlog_proof
from muniment.evidence.tree import inclusion_proof
from muniment.ledger.attest import SignedCheckpoint
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.operations.lifecycle.refusals import concerns, noted_refusals, refused
from muniment.operations.lifecycle.report import RefusedErasure
from muniment.space.healing import Healing, turns_in
from muniment.space.space import Space

WHOLE = TurnSpan(1, None)


class LifecycleEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A transition, hold or release that the log has: of the turns `first` to `last`.

    Without `last` also of the turns that were still to come. `message`: of this message of the turn alone, counted from
    0. `hold` is the position of the hold that a release ended. `subject` is there when it was asked of all turns of a
    subject. `with_memory`: memory items that rest on nothing else were to go along.
    """

    position: int
    leaf: str
    transition: Action
    first: int
    last: int | None = None
    message: int | None = None
    hold: int | None = None
    subject: str | None = None
    with_memory: bool | None = None
    reason: str
    requester: str
    requested_ms: int
    content_left: int
    proof: str


class Receipts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that was asked of the turns of a conversation, in log order, each with its proof.

    `refused` are erasures that were asked for and that a hold or a legal minimum kept from happening.
    """

    entries: list[LifecycleEntry]
    refused: list[RefusedErasure] = []


def receipts_of(session: Session, conversation: ConversationKey) -> Receipts:
    """Return everything that was asked of the turns of a conversation."""
    space = session.space
    signed = space.checkpoint()
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, conversation)
        if stream is None:
            return Receipts(entries=[])
        head = space.transcript.head(reader, stream)
        refused_ones = _refused(space, reader, conversation, stream, signed)
        return Receipts(entries=list(_entries(space, reader, head, signed)), refused=list(refused_ones))


def _refused(
    space: Space, reader: Reader, key: ConversationKey, stream: int, signed: SignedCheckpoint
) -> Iterator[RefusedErasure]:
    """Yield the refused erasures of a conversation, and of the whole space, in log order."""
    for noted in reversed(list(noted_refusals(space, reader))):
        row = reader.sealed(noted.position)
        if row is not None and row.position < signed.checkpoint.size and concerns(noted, stream, [WHOLE]):
            proof = inclusion_proof(reader, row.position, signed.checkpoint.size)
            _, exact = space.ledger.header(row)
            text = tlog_proof(event_line(exact, {}), row.position, proof, signed.note)
            listed = refused(noted, key if "stream" in noted.refs else None)
            yield replace(listed, leaf=row.leaf.hex(), proof=text)


def _entries(space: Space, reader: Reader, head: StreamHead, signed: SignedCheckpoint) -> Iterator[LifecycleEntry]:
    for row in space.transcript.change_rows(reader, head):
        if row.position >= signed.checkpoint.size:
            continue  # appended since
        meta = space.ledger.open(row).meta
        if isinstance(meta, TurnLifecycle):
            yield _entry(space, reader, row, meta.request, signed)


def _entry(
    space: Space, reader: Reader, row: SealedRow, request: LifecycleRequest, signed: SignedCheckpoint
) -> LifecycleEntry:
    header, exact = space.ledger.header(row)
    action, span, message = Action(header.reason or ""), span_of(header.about), header.about.get("message")
    proof = inclusion_proof(reader, row.position, signed.checkpoint.size)
    return LifecycleEntry(
        position=row.position,
        leaf=row.leaf.hex(),
        transition=action,
        first=span.first,
        last=span.last,
        message=message,
        hold=header.about.get("hold"),
        subject=request.subject,
        with_memory=WITH_MEMORY in header.refs or None,
        reason=request.reason,
        requester=request.requester,
        requested_ms=request.requested_ms,
        content_left=_content_left(space, reader, row.stream, span, message) if action is Action.ERASE else 0,
        proof=tlog_proof(event_line(exact, {}), row.position, proof, signed.note),
    )


def _content_left(space: Space, reader: Reader, stream: int, span: TurnSpan, message: int | None) -> int:
    """Count the turns of an erasure that still have what it destroyed."""
    healing = Healing(space.ledger, space.transcript)
    return sum(
        turn.content is not None if message is None else healing.holds(turn, message)
        for turn in turns_in(reader, stream, span)
    )
