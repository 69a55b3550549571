"""From a memory item to a document: what a view shows of an item that is in use.

An item that is retired, or that the view does not show, is in no index, so that nothing about it can be learnt from
what is found, how often, or how well. Facts that are shared are in a partition of their own.
"""

from __future__ import annotations

from muniment.events.memory_items import MemoryPlane
from muniment.events.message import Role
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.detection.parts import marked_text
from muniment.governance.item_visibility import SHOWS_STATEMENTS, hides_item
from muniment.governance.views import View
from muniment.memory.fold import MemoryItem
from muniment.memory.standing import standing
from muniment.search.document_table import SearchDocument
from muniment.search.partitions import partition

HIDDEN = "hidden"


def item_documents(item: MemoryItem, view: View, detection: ViewDetection) -> list[SearchDocument]:
    """Return the document of an item under a view, or none for one that is not in use.

    Of an item that the view hides the document has no words: it is counted and cannot be found.
    """
    said = item.content
    if said is None or item.text is None or not item.is_active:
        return []
    is_hidden = view not in SHOWS_STATEMENTS or hides_item(view, item.privacy) is not None
    texts = () if is_hidden else (said.topic, item.text, *said.keywords, *said.tags, *said.entities)
    detectors = detection.detectors_beside(frozenset({item.subject}))
    document = SearchDocument(
        message=0,
        role=Role.SYSTEM,
        speaker="",
        time_ms=max(item.meta.observed_ms, item.confirmed_ms),
        text="\n".join([marked_text(text, detectors) for text in texts if text]),
        partition=item_partition(item, is_hidden=is_hidden),
        until_ms=0 if item.pinned else item.meta.expires_ms,
        standing=standing(item),
    )
    return [document]


def item_partition(item: MemoryItem, *, is_hidden: bool = False) -> str:
    """Return the partition of an item."""
    return known_partition(item.plane, item.subject, is_hidden=is_hidden)


def known_partition(plane: MemoryPlane, subject: str, *, is_hidden: bool = False) -> str:
    """Return the partition of the items of a subject in a plane: those that the view shows, or those that it hides."""
    return partition(f"{HIDDEN} {plane}" if is_hidden else plane, subject)
