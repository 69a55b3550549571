"""Exports: a conversation as a bundle that anyone with the public key can check offline."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from muniment.declaration.operation import Document
from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey, check_name
from muniment.events.records import ExportGrant
from muniment.evidence.bundle import BundleHead, bundle
from muniment.evidence.timestamps import is_stamped
from muniment.governance.views import View
from muniment.operations.evidence.certify import EventRange, certificate_line, certify, record_bundle
from muniment.operations.evidence.disclosed import event_lines
from muniment.operations.evidence.proof_document import EvidenceFormat, earlier_stamped, in_format, media_type_of
from muniment.operations.evidence.prove import looked_for
from muniment.operations.left_out import LeftOut
from muniment.projections.conversation import Conversation, opened


def export(
    session: Session,
    key: ConversationKey,
    grant: ExportGrant,
    bounds: tuple[int, int | None],
    wanted: EvidenceFormat,
    *,
    certified: bool,
) -> Document:
    """Export events of a conversation, the first to the last, under a view; a certified export is recorded first."""
    view, events = View(grant.view), EventRange(*bounds)
    space = session.space
    session.access.require_view(view)
    session.check_key(key)
    for at, text in (("recipient", grant.recipient), ("purpose", grant.purpose)):
        if text is not None:
            check_name(text, at=at)
    grant = replace(grant, subject=session.access.subject)
    issued = certify(space, key, grant, events) if certified else None
    with space.ledger.reader() as reader:
        conversation = opened(space.transcript, reader, key)
    if issued is None:
        through, signed = conversation.head.seq, space.checkpoint()  # in this order: all of it is under the checkpoint
        size, note = signed.checkpoint.size, signed.note
    else:
        through, size, note = issued.through, issued.position + 1, issued.note
    (first, last), left_out = events.within(through), LeftOut()
    covers: dict[str, Any] = {"view": view}
    lines: list[tuple[int, bytes]] = []
    with space.ledger.reader() as reader:
        conversation = Conversation(space.transcript, reader, key, conversation.stream)
        for row, line in event_lines(space, conversation, first, last, view, left_out.take):
            lines.append((row.position, line))
            session.progress("export", len(lines), last - first + 1)
        if issued is not None:
            certificate = reader.sealed(issued.position)
            assert certificate is not None, "the certificate was just made durable"
            covers, line = certificate_line(space, certificate)
            lines.append((issued.position, line))
        earlier = None if is_stamped(note) else earlier_stamped(reader, lines[-1][0], size)
        streams, signers = {conversation.stream: (first, last)}, space.notary.announced(space.ledger, reader, size)
        head = BundleHead(log=space.ledger.log, life=space.keys.life, size=size, streams=streams, export=covers)
        proved = b"".join(bundle(head, lines, reader, note, earlier, signers))
    if issued is None:
        record_bundle(session, grant, left_out.turns_seen, conversation.stream, last)
    return Document(
        media_type=media_type_of(wanted),
        text=in_format(space, proved, wanted).decode(),
        summary={
            "events": len(lines),
            "first": first,
            "last": last,
            "through": through,
            "size": size,
            "view": view,
            "certificate": None if issued is None else issued.position,
            "vkey": str(space.notary.key),
            **looked_for(space, view),
            **left_out.summary(),
        },
    )
