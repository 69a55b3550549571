"""From the rows of a notebook to memory items and to what changed them."""

from __future__ import annotations

from muniment.errors import Corrupt
from muniment.events.memory_items import ItemContent, ItemMeta, ItemRetired, ItemRevised, NotebookOpened
from muniment.ledger.ledger import Ledger, OpenedEvent
from muniment.log.port import SealedRow
from muniment.memory.fold import ItemChange, MemoryItem


def item_of(event: OpenedEvent, opened: NotebookOpened, content: ItemContent | None) -> MemoryItem:
    """Return an item as it was recorded; without its content it has no words."""
    meta, row = event.meta, event.row
    if not isinstance(meta, ItemMeta):
        raise Corrupt(at=f"position {row.position}", problem="rows_missing")
    return MemoryItem(
        subject=opened.subject,
        plane=opened.plane,
        number=row.turn_seq or 0,
        position=row.position,
        recorded_ms=row.time,
        meta=meta,
        content=content,
        text=None if content is None else content.text,
        confidence=meta.confidence,
        privacy=meta.privacy,
        scope=meta.scope,
        pinned=meta.pinned,
    )


def change_of(ledger: Ledger, row: SealedRow) -> ItemChange:
    """Return what a row changes of items."""
    header, _ = ledger.header(row)
    body = ledger.open(row).meta
    if not isinstance(body, ItemRevised | ItemRetired):
        raise Corrupt(at=f"position {row.position}", problem="change")
    return ItemChange(position=row.position, time_ms=row.time, reason=header.reason or "", body=body)
