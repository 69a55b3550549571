"""Checkpoints and receipts: the head of a log, signed, and the proof that one turn is under it."""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import Corrupt, EvidenceMissing
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.evidence import verifier
from muniment.evidence.bundle import receipt
from muniment.evidence.tree import inclusion_proof
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.evidence.disclosed import event_lines
from muniment.projections.conversation import Conversation, find
from muniment.space.space import Space

RECEIPT_TYPE = "text/plain"


class CheckpointReport(Struct, frozen=True, kw_only=True):
    """A signed checkpoint of the head: what it says, the note, and the public key that verifies it."""

    origin: str
    size: int
    root: str
    note: str
    vkey: str


def checkpoint(space: Space) -> CheckpointReport:
    """Sign the head of the log, unless it is signed, and pin it."""
    signed = space.checkpoint()
    return CheckpointReport(
        origin=signed.checkpoint.origin,
        size=signed.checkpoint.size,
        root=signed.checkpoint.root.hex(),
        note=signed.note,
        vkey=str(space.notary.key),
    )


def prove(session: Session, key: ConversationKey, turn: TurnId, view: View) -> Document:
    """Return the receipt of a turn."""
    space = session.space
    session.access.require_view(view)
    session.check_key(key)
    check_name(turn, at="turn")
    with space.ledger.reader() as reader:
        conversation = provable(space, reader, key)
        opened = conversation.turn(turn)
    if opened is None:
        raise EvidenceMissing(at="turn")
    row, signed = opened.row, space.checkpoint()  # signed after the turn was there, so that the turn is under it
    with space.ledger.reader() as reader:
        conversation = Conversation(space.transcript, reader, key, row.stream)
        _, line = next(event_lines(space, conversation, row.seq, row.seq, view))
        proof = inclusion_proof(reader, row.position, signed.checkpoint.size)
    text = receipt(line, row.position, proof, signed.note)
    try:  # a wrong node in the store must not go out as a proof
        report = verifier.verify_receipt(text.encode(), str(space.notary.key))
    except verifier.Refused as refused:
        raise Corrupt(at="proof", problem=refused.code) from None
    return Document(
        media_type=RECEIPT_TYPE,
        text=text,
        summary={
            "position": row.position,
            "size": signed.checkpoint.size,
            "disclosed": len(report.disclosed),
            "vkey": str(space.notary.key),
            **looked_for(space, view),
        },
    )


def provable(space: Space, reader: Reader, key: ConversationKey) -> Conversation:
    """Return a conversation, or raise `EvidenceMissing` when there is none to prove."""
    conversation = find(space.transcript, reader, key)
    if conversation is None:
        raise EvidenceMissing(at="conversation")
    return conversation


def looked_for(space: Space, view: View) -> dict[str, str]:
    """Say what the view looks for; a part in which it is found is not disclosed."""
    types = space.detection.view(view).summary
    return {"looked_for": types} if types else {}
