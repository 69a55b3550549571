"""The part of a space that tables are made of: all of it, or what a caller is kept to (decision 0191)."""

from __future__ import annotations

from muniment.events.identity import ConversationKey
from muniment.events.references import RefDerived
from muniment.governance.access import Access
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View, shown_planes
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.evidence_links import Reference, reference_of
from muniment.projections.transcript import Transcript, no_words


class ShownPart:
    """Which conversations, turns and links an access shows through a view."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self.is_whole = not access.bounds

    def conversation(self, key: ConversationKey) -> bool:
        """Tell whether a conversation is in a channel that is shown."""
        return self._access.shows_channel(key.channel)

    def turns(self, turns: list[SliceTurn]) -> list[SliceTurn]:
        """Return those of some turns that are shown."""
        return turns if self.is_whole else [turn for turn in turns if self._access.shows_subject(turn.actor.subject)]

    def links(self, transcript: Transcript, reader: Reader, links: list[Reference]) -> list[Reference]:
        """Return those of some links whose subject and whose turns are shown."""
        return links if self.is_whole else [link for link in links if self._shows(transcript, reader, link)]

    def _shows(self, transcript: Transcript, reader: Reader, link: Reference) -> bool:
        access, meta, first = self._access, link.meta, link.span.first
        (read,) = transcript.page(reader, transcript.head(reader, link.stream), first, first, no_words)
        subjects = {meta.subject, read.record.meta.actor.subject}
        return access.shows_channel(meta.source.channel) and all(map(access.shows_subject, subjects))


WHOLE = ShownPart(Access())


def link_of(ledger: Ledger, row: SealedRow, view: View) -> Reference | None:
    """Return the link that an event recorded, if the view shows links of its plane."""
    meta = ledger.open(row).meta
    is_shown = isinstance(meta, RefDerived) and meta.plane in shown_planes((view,))
    return reference_of(row, ledger.header(row)[0].about, meta) if is_shown and isinstance(meta, RefDerived) else None
