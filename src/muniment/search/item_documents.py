"""From a memory item to a document: what a view shows of an item that is in use.

An item that is retired, or that the view does not show, is in no index, so that nothing about it can be learnt from
what is found, how often, or how well. Shared facts are in the partition of their audience.
"""

from __future__ import annotations

from msgspec.json import Decoder

from muniment.events.memory_items import Audience, MemoryPlane
from muniment.events.message import Role
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.detection.parts import marked_text
from muniment.governance.item_visibility import SHOWS_STATEMENTS, hides_item
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.memory.audience import ALL, includes
from muniment.memory.fold import MemoryItem
from muniment.memory.standing import standing
from muniment.search.document_table import SearchDocument
from muniment.search.index import Index
from muniment.search.partitions import partition

HIDDEN = "hidden"

_audience = Decoder(Audience)


def item_documents(item: MemoryItem, view: View, detection: ViewDetection) -> list[SearchDocument]:
    """Return the document of an item under a view, or none for one that is not in use.

    Of an item that the view hides the document has no words: it is counted and cannot be found.
    """
    said = item.content
    if said is None or item.text is None or not item.is_active or item.disabled:
        return []
    is_hidden = view not in SHOWS_STATEMENTS or hides_item(view, item.privacy) is not None
    named = (said.title, said.summary, said.topic, item.text)
    texts = () if is_hidden else (*named, *said.keywords, *said.tags, *said.entities)
    detectors = detection.detectors_beside(frozenset({item.subject}))
    document = SearchDocument(
        message=0,
        role=Role.SYSTEM,
        speaker="",
        time_ms=item.known_true_ms,
        text="\n".join([marked_text(text, detectors) for text in texts if text]),
        partition=item_partition(item, is_hidden=is_hidden),
        until_ms=0 if item.pinned else item.meta.expires_ms,
        standing=standing(item),
    )
    return [document]


def item_partition(item: MemoryItem, *, is_hidden: bool = False) -> str:
    """Return the partition of an item: that of its subject, or, if it is shared, that of its audience."""
    plane = _named(item.plane, is_hidden=is_hidden)
    if item.plane is not MemoryPlane.SHARED_FACT:
        return partition(plane, item.subject)
    audience = "" if item.audience == ALL else encode_plain(item.audience).decode()
    return partition(plane, f"{item.subject if audience else ''}\n{audience}")


def known_partitions(index: Index, plane: MemoryPlane, subject: str, *, is_hidden: bool = False) -> list[str]:
    """Return the partitions of an index with the items of a plane that a subject may know of.

    They are those that the view shows, or those that it hides.
    """
    named = _named(plane, is_hidden=is_hidden)
    if plane is not MemoryPlane.SHARED_FACT:
        return [partition(named, subject)]
    return [name for name in index.partitions.beginning(partition(named, "")) if _is_for(name, subject)]


def _named(plane: MemoryPlane, *, is_hidden: bool) -> str:
    return f"{HIDDEN} {plane}" if is_hidden else plane


def _is_for(name: str, subject: str) -> bool:
    """Tell whether a partition of shared facts has items that a subject may know of."""
    _, owner, audience = name.split("\n")
    return not audience or owner == subject or includes(_audience.decode(audience), subject)
