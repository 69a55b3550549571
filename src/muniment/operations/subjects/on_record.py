"""Exports of conversations and notebooks are on record before anybody receives them."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.records import EventKind, ExportGrant, ExportIssued
from muniment.ledger.drafts import draft
from muniment.ledger.ledger import SPACE_STREAM, Writer


def on_record(session: Session, grant: ExportGrant, streams: list[int]) -> list[int]:
    """Append `export.issued` for each conversation or notebook, in one step; return the positions."""
    if not streams:
        return []
    space = session.space
    now_ms, body = space.sources.clock.now_ms(), ExportIssued(export=grant)
    events = [draft(space.sources.entropy, EventKind.EXPORT_ISSUED, now_ms, body) for _ in streams]

    def plan(writer: Writer) -> list[int]:
        positions: list[int] = []
        for event, stream in zip(events, streams, strict=True):
            refs = {"stream": stream, "through": space.transcript.head(writer.tx, stream).seq}
            positions.append(writer.append(event, stream=SPACE_STREAM, refs=refs).position)
        return positions

    return space.ledger.transact(plan)
