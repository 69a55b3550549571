"""Who received what, when, under which view: the disclosures of a space, page by page.

They are events of the stream of the space, in log order: exports by every way, content that was revealed, contexts for
models that were recorded, reads where a policy records them, attempts that were refused. The stream is walked without a
gap and every row of it is proved, so that no disclosure can be hidden by an edit at rest.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey
from muniment.ledger.ledger import OpenedEvent
from muniment.operations.evidence.disclosure_entries import ASKED, DisclosureEntry, disclosure_events, entry_of
from muniment.operations.evidence.recipients import Refs, TracedContent, reached
from muniment.operations.page import Page
from muniment.projections.conversation import opened


class Disclosures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of disclosures, the oldest first. `next_cursor` is absent on the last page."""

    disclosures: list[DisclosureEntry]
    has_more: bool
    next_cursor: str | None = None


class DisclosuresMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of disclosures ended: the seq of its last event in the stream of the space."""

    after: int


def list_disclosures(session: Session, key: ConversationKey | None, limit: int, cursor: str | None) -> Disclosures:
    """Return a page of the disclosures of the space, or of one conversation."""
    if key is not None:
        session.check_key(key)
    space = session.space
    page = Page(session, "disclosures", DisclosuresMark, limit, cursor)
    with space.ledger.reader() as reader:
        named = () if key is None else (key.channel, key.conversation)
        mark = page.begin(reader, str(page.limit), *named)
        last = 0 if mark is None else mark.after
        traced = None
        if key is not None:
            traced = TracedContent(space, reader, key, opened(space.transcript, reader, key).stream)
        entries: list[DisclosureEntry] = []
        for event, refs in disclosure_events(space, reader, last):
            if traced is not None and not (reached(event, refs, traced) or _asked_of(event, refs, traced)):
                continue
            if len(entries) == page.limit:
                following = page.cursor_to(DisclosuresMark(after=last))
                return Disclosures(disclosures=entries, has_more=True, next_cursor=following)
            entries.append(entry_of(space, reader, event, refs))
            last = event.row.seq
        return Disclosures(disclosures=entries, has_more=False)


def _asked_of(event: OpenedEvent, refs: Refs, traced: TracedContent) -> bool:
    """Tell whether somebody asked for an act on a conversation, or its erasure was refused."""
    return event.row.kind in ASKED and refs.get("stream") == traced.stream
