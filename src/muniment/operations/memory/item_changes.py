"""What becomes of a memory item that is recorded, inside a write transaction, and where it is."""

from __future__ import annotations

from muniment.events.changes import Transition
from muniment.events.memory_items import ItemRetired, ItemRevised, Retirement, RevisionAction
from muniment.events.records import EventKind
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem


def stream_of(reader: Reader, item: MemoryItem) -> int:
    """Return the stream that an item is in."""
    row = reader.sealed(item.position)
    assert row is not None, "the item was read from it"
    return row.stream


def retire_item(writer: Writer, item: MemoryItem, body: ItemRetired) -> int:
    """Take an item out of use, or use it again; return the position of the event."""
    reason = Transition.RESTORE if body.cause is Retirement.RESTORED else Transition.ARCHIVE
    change = Change(EventKind.ITEM_RETIRED, body.request.requested_ms, body, {"turn": item.number}, reason)
    return writer.change(change, stream_of(writer.tx, item)).position


def revise_item(writer: Writer, item: MemoryItem, action: RevisionAction, body: ItemRevised) -> int:
    """Revise an item; return the position of the event."""
    change = Change(EventKind.ITEM_REVISED, body.request.requested_ms, body, {"turn": item.number}, action)
    return writer.change(change, stream_of(writer.tx, item)).position
