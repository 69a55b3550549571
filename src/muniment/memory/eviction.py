"""Eviction: which item leaves a notebook that is full (FA-03).

1. A pinned item is never evicted. Neither is a correction, as long as corrections take at most a tenth of the room.
2. Of the others the one with the lowest confidence leaves; of those the one that was recorded first.
3. What has expired takes no room.
4. What is to be remembered counts, too: if nothing there has a lower or the same confidence, it is what does not stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.events.memory_items import ItemKind
from muniment.memory.fold import MemoryItem

CORRECTIONS_SHARE = 10  # one part in ten of the room is kept for corrections


def evicted(items: Iterable[MemoryItem], confidence: int, items_max: int) -> list[MemoryItem] | None:
    """Return the items that make room for one of a confidence, or None when that one does not stay.

    `items` are those of its notebook that are in use and have not expired.
    """
    present = list(items)
    surplus = len(present) + 1 - items_max
    if surplus <= 0:
        return []
    corrections = sum(item.meta.kind is ItemKind.CORRECTION for item in present)
    are_kept = corrections <= items_max // CORRECTIONS_SHARE
    leaving = sorted(
        (item for item in present if not item.pinned and not (are_kept and item.meta.kind is ItemKind.CORRECTION)),
        key=lambda item: (item.confidence, item.position),
    )[:surplus]
    return leaving if len(leaving) == surplus and leaving[-1].confidence <= confidence else None
