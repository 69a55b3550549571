"""How an export of a bundle is put on record: certified before it is made, any other when it is made."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey
from muniment.events.records import EventKind, ExportGrant, ExportIssued
from muniment.governance.views import View
from muniment.ledger.ledger import SPACE_STREAM, Writer, draft
from muniment.projections.conversation import opened
from muniment.space.outgoing import ContentGrant, ExportWay, record_export
from muniment.space.space import Space


def certify(space: Space, key: ConversationKey, grant: ExportGrant) -> tuple[int, int]:
    """Append `export.issued` for a conversation as it is now; return its position and how far the stream went."""
    now_ms = space.sources.clock.now_ms()
    event = draft(space.sources.entropy, EventKind.EXPORT_ISSUED, now_ms, ExportIssued(export=grant))

    def plan(writer: Writer) -> tuple[int, int]:
        conversation = opened(space.transcript, writer.tx, key)
        refs = {"stream": conversation.stream, "through": conversation.head.seq}
        return writer.append(event, stream=SPACE_STREAM, refs=refs).position, refs["through"]

    return space.ledger.transact(plan)


def record_bundle(session: Session, grant: ExportGrant, turns: int, stream: int, through: int) -> None:
    """Append `content.exported` for a bundle that is not certified."""
    sent = ContentGrant(
        way=ExportWay.BUNDLE, view=View(grant.view), turns=turns, recipient=grant.recipient, purpose=grant.purpose
    )
    record_export(session.space, session.access, sent, {"stream": stream, "through": through})
