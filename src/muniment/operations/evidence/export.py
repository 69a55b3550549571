"""Exports: a conversation as a bundle that anyone with the public key can check offline."""

from __future__ import annotations

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.errors import LimitExceeded
from muniment.events.identity import ConversationKey, check_name
from muniment.events.records import EventKind, ExportGrant, ExportIssued
from muniment.evidence.bundle import BundleHead, bundle, event_line
from muniment.evidence.tree import multiproof
from muniment.governance.views import View
from muniment.ledger.ledger import SPACE_STREAM, Writer, draft
from muniment.operations.evidence.disclosed import event_lines
from muniment.operations.evidence.prove import looked_for, provable
from muniment.projections.conversation import Conversation
from muniment.space.space import Space

BUNDLE_TYPE = "application/jsonl"
BUNDLE_EVENTS_MAX = 100_000


def export(
    session: Session, key: ConversationKey, view: View, recipient: str | None, purpose: str | None, *, certified: bool
) -> Document:
    """Export a conversation under a view; a certified export first puts on record who received what."""
    space = session.space
    session.access.require_view(view)
    session.check_key(key)
    for at, text in (("recipient", recipient), ("purpose", purpose)):
        if text is not None:
            check_name(text, at=at)
    grant = ExportGrant(view=view, recipient=recipient, purpose=purpose)
    issued, through = _certify(space, key, grant) if certified else (None, None)
    with space.ledger.reader() as reader:
        conversation = provable(space, reader, key)
    through = conversation.head.seq if through is None else through
    signed = space.checkpoint()  # signed after `through` was read, so that all of it is under the checkpoint
    if through > BUNDLE_EVENTS_MAX:
        raise LimitExceeded(at="conversation", problem="too_many_events", limit=BUNDLE_EVENTS_MAX, found=through)
    positions: list[int] = []
    events: list[bytes] = []
    with space.ledger.reader() as reader:
        conversation = Conversation(space.transcript, reader, key, conversation.stream)
        for row, line in event_lines(space, conversation, 1, through, view):
            positions.append(row.position)
            events.append(line)
            session.progress("export", len(events), through)
        if issued is not None:
            certificate = reader.sealed(issued)
            assert certificate is not None, "the certificate was just made durable"
            positions.append(issued)
            events.append(event_line(space.ledger.header(certificate)[1], {}))
        size = signed.checkpoint.size
        proof = multiproof(reader, positions, size)
    head = BundleHead(log=space.ledger.log, size=size, streams={conversation.stream: through}, view=view)
    return Document(
        media_type=BUNDLE_TYPE,
        text=bundle(head, events, proof, signed.note).decode(),
        summary={
            "events": len(events),
            "size": size,
            "view": view,
            "certificate": issued,
            "vkey": str(space.notary.key),
            **looked_for(space, view),
        },
    )


def _certify(space: Space, key: ConversationKey, grant: ExportGrant) -> tuple[int, int]:
    """Append `export.issued` for a conversation as it is now; return its position and how far the stream went."""
    now_ms = space.sources.clock.now_ms()
    event = draft(space.sources.entropy, EventKind.EXPORT_ISSUED, now_ms, ExportIssued(export=grant))

    def plan(writer: Writer) -> tuple[int, int]:
        conversation = provable(space, writer.tx, key)
        refs = {"stream": conversation.stream, "through": conversation.head.seq}
        return writer.append(event, stream=SPACE_STREAM, refs=refs).position, refs["through"]

    return space.ledger.transact(plan)
