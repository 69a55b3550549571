"""Receipts: the proof that one turn is under a signed head of its log."""

from __future__ import annotations

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import Corrupt, EvidenceMissing
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.evidence import verifier
from muniment.evidence.bundle import receipt
from muniment.evidence.timestamps import is_stamped
from muniment.evidence.tree import inclusion_proof
from muniment.governance.views import View
from muniment.log.port import CheckpointRow, Reader
from muniment.operations.evidence.disclosed import event_lines
from muniment.projections.conversation import Conversation
from muniment.space.outgoing import ContentGrant, ExportWay, record_export
from muniment.space.space import Space

RECEIPT_TYPE = "text/plain"


def stamped_over(reader: Reader, position: int, since: int) -> CheckpointRow | None:
    """Return the first checkpoint with a timestamp that an event is under: it proves the earliest time.

    It is one of the present key of the log, which signs since there were so many events.
    """
    rows = (row for row in reader.checkpoints() if row.size > max(position, since) and is_stamped(row.note))
    return next(rows, None)


def prove(session: Session, key: ConversationKey, turn: TurnId, view: View) -> Document:
    """Return the receipt of a turn."""
    space = session.space
    session.access.require_view(view)
    session.check_key(key)
    check_name(turn, at="turn")
    with space.ledger.reader() as reader:
        conversation = session.seen.opened(reader, key)
        commit = conversation.turn_meant(turn)
    if commit is None:
        raise EvidenceMissing(at="turn")
    row, signed = commit.row, space.checkpoint()  # signed after the turn was there, so that the turn is under it
    with space.ledger.reader() as reader:
        conversation = Conversation(space.transcript, reader, key, row.stream)
        _, line = next(event_lines(space, conversation, row.seq, row.seq, view))
        over = stamped_over(reader, row.position, space.notary.signers.since) or CheckpointRow(
            size=signed.checkpoint.size, note=signed.note
        )
        proof = inclusion_proof(reader, row.position, over.size)
        signers = space.notary.announced(space.ledger, reader, over.size)
    text = receipt(line, row.position, proof, over.note, signers)
    try:  # a wrong node in the store must not go out as a proof
        report = verifier.verify_receipt(text.encode(), str(space.notary.key))
    except verifier.Refused as refused:
        raise Corrupt(at="proof", problem=refused.code) from None
    assert row.turn_seq is not None, "a turn has a place among the turns"
    sent = ContentGrant(way=ExportWay.RECEIPT, view=view, turns=1)
    record_export(space, session.access, sent, {"stream": row.stream, "turn": row.turn_seq})
    return Document(
        media_type=RECEIPT_TYPE,
        text=text,
        summary={
            "position": row.position,
            "size": over.size,
            "disclosed": len(report.disclosed),
            "vkey": str(space.notary.key),
            **looked_for(space, view),
        },
    )


def looked_for(space: Space, view: View) -> dict[str, str]:
    """Say what the view looks for; a part in which it is found is not disclosed."""
    types = space.detection.view(view).summary
    return {"looked_for": types} if types else {}
