"""From a memory item to a document: what a view shows of an item that is in use.

An item that is retired, or that the view does not show, is in no index, so that nothing about it can be learnt from
what is found, how often, or how well. Facts that are shared are in a partition of their own.
"""

from __future__ import annotations

from muniment.events.message import Role
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.detection.parts import marked_text
from muniment.governance.item_visibility import SHOWS_STATEMENTS, hides_item
from muniment.governance.views import View
from muniment.memory.fold import MemoryItem
from muniment.search.document_table import SearchDocument
from muniment.search.partitions import partition


def item_documents(item: MemoryItem, view: View, detection: ViewDetection) -> list[SearchDocument]:
    """Return the document of an item under a view, or none."""
    said = item.content
    if said is None or item.text is None or not item.is_active:
        return []
    if view not in SHOWS_STATEMENTS or hides_item(view, item.privacy) is not None:
        return []
    detectors = detection.detectors_beside(frozenset({item.subject}))
    words = (said.topic, item.text, *said.keywords, *said.tags, *said.entities)
    document = SearchDocument(
        message=0,
        role=Role.SYSTEM,
        speaker="",
        time_ms=max(item.meta.observed_ms, item.confirmed_ms),
        text="\n".join([marked_text(text, detectors) for text in words if text]),
        partition=item_partition(item),
        until_ms=0 if item.pinned else item.meta.expires_ms,
    )
    return [document]


def item_partition(item: MemoryItem) -> str:
    """Return the partition of an item."""
    return partition(item.plane, item.subject)
