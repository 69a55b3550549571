"""A memory item as an entry of a journal: what a view shows of it, and for whom it is."""

from __future__ import annotations

from muniment.events.memory_items import Audience
from muniment.formats.journal_text import ItemNote, JournalEntry
from muniment.formats.writing.journal_files import JournalItem
from muniment.memory.audience import ALL
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.shown_item import ShownItem


def told_audience(item: MemoryItem, shown: ShownItem) -> Audience:
    """Return who may know of an item; where the view does not tell that, nobody but its subject."""
    if item.audience == ALL:
        return ALL
    return shown.audience or Audience(only=[item.subject])


def journal_item(shown: ShownItem, topic: str, text: str, audience: Audience) -> JournalItem:
    """Return an item as an entry of a journal, which `memory.import` reads back."""
    note = ItemNote(
        id=shown.id,
        plane=shown.plane,
        kind=shown.kind,
        observed_ms=shown.observed_ms,
        confidence=shown.confidence,
        name=shown.name,
        title=shown.title,
        summary=shown.summary,
        audience=audience,
        importance=shown.importance,
        privacy=shown.privacy,
        scope=shown.scope,
        freshness=shown.freshness,
        expires_ms=shown.expires_ms,
        pinned=shown.pinned,
        keywords=shown.keywords,
        tags=shown.tags,
        entities=shown.entities,
    )
    return JournalItem(JournalEntry(topic=topic, text=text, note=note), [each.citation for each in shown.evidence])
