"""Withholding a text at all places where it was found, in one transaction."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest, TurnRedacted, refs_of
from muniment.events.records import EventKind
from muniment.ledger.drafts import draft
from muniment.ledger.ledger import Writer
from muniment.operations.redactions.found_places import SearchedSpace
from muniment.operations.transcripts.redact import RedactionRequest


def append_all(session: Session, found: SearchedSpace, request: RedactionRequest) -> bool:
    """Append every redaction to the state that was searched; return False when there is another one by now."""
    space, now_ms = session.space, session.space.sources.clock.now_ms()
    asked = LifecycleRequest(reason=request.note, requester=request.requester, requested_ms=now_ms)
    events = [
        draft(
            space.sources.entropy,
            EventKind.TURN_REDACTED,
            now_ms,
            TurnRedacted(target=one.target, views=sorted(found.views), request=asked),
            reason=request.reason,
        )
        for one in found.pending
    ]

    def plan(writer: Writer) -> bool:
        if writer.tx.frontier().size != found.size:
            return False
        for one, event in zip(found.pending, events, strict=True):
            writer.append(event, stream=one.stream, target=one.sequence, refs=refs_of(one.sequence, one.target))
        return True

    return space.ledger.transact(plan)
