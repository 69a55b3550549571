"""Content that goes out, on record: what is read where a policy asks for it, what is exported always (decision 0135).

The store records, not the caller: no right to append is needed, as for refused attempts (`space.denials`). A record is
durable before its caller receives anything, so where it cannot be written nothing is handed out. It says who, when,
under which view and which turns; it holds no content, and no query, which is content.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.events.caller import Caller
from muniment.events.disclosures import (
    ContentExported,
    ContentGrant,
    ContentRead,
    ExportWay,
    ReadGrant,
    ReadSpan,
)
from muniment.events.identity import ConversationKey
from muniment.events.records import EventKind
from muniment.governance.access import Access
from muniment.governance.covered_turns import CoveredTurns, CoveringReport, runs_of
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.space.space import Space

__all__ = ["ContentGrant", "ExportWay"]  # with what this module defines, all that an export records itself with


def caller_of(access: Access) -> Caller:
    """Return what a record says of whoever has this access."""
    return Caller(views=sorted(access.views), subject=access.subject)


def record_read(space: Space, access: Access, operation: str, request: object, report: object) -> None:
    """Append `content.read` for a call of an operation, unless its report was recorded already."""
    covered = report.covered() if isinstance(report, CoveringReport) else CoveredTurns()
    if covered.recorded is not None:
        return
    spans = [ReadSpan(first=first, last=last) for first, last in runs_of(covered.sequences)]
    found = sorted(set(covered.positions))
    view, key = getattr(request, "view", None), getattr(request, "conversation", None)
    turns = sum(span.last - span.first + 1 for span in spans) + len(found)
    views = list(covered.views) if view is None else [view]
    grant = ReadGrant(operation=operation, views=views, turns=turns, spans=spans, found=found)
    body = ContentRead(read=grant, caller=caller_of(access))
    now_ms = space.sources.clock.now_ms()

    def plan(writer: Writer) -> None:
        stream = space.transcript.stream_of(writer.tx, key) if isinstance(key, ConversationKey) else None
        refs = {} if stream is None else {"stream": stream}
        if covered.through is not None:
            refs["through"] = covered.through
        writer.change(Change(EventKind.CONTENT_READ, now_ms, body, refs))

    space.ledger.transact(plan)


def record_export(space: Space, access: Access, grant: ContentGrant, refs: Mapping[str, int]) -> int:
    """Append `content.exported` for what leaves the store; return its position."""
    change = export_of(space, access, grant, refs)
    return space.ledger.transact(lambda writer: writer.change(change)).position


def export_of(space: Space, access: Access, grant: ContentGrant, refs: Mapping[str, int]) -> Change:
    """Return the `content.exported` of what leaves the store, for a plan to append."""
    body = ContentExported(export=grant, caller=caller_of(access))
    return Change(EventKind.CONTENT_EXPORTED, space.sources.clock.now_ms(), body, dict(refs))
