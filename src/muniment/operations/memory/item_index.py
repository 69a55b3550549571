"""The index that a recall of items reads: that of now, or one that is made of the items of a subject as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.events.memory_items import MemoryPlane
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.memory.recall_report import AskedRecall
from muniment.operations.memory.selection import ItemSelection, items_of
from muniment.operations.memory.source_phases import SourcePhases
from muniment.operations.transcripts.embed import coverage, embed_newest
from muniment.operations.transcripts.hits import SemanticCoverage
from muniment.search.index import Index
from muniment.search.index_status import Indexed, index_name
from muniment.search.item_documents import item_documents
from muniment.space.space import Space


class ItemIndex(NamedTuple):
    """An index of items and a reader of the same state of the log, and how far meaning counts in it."""

    current: Index
    reader: Reader
    sources: SourcePhases
    semantic: SemanticCoverage = SemanticCoverage.ABSENT
    semantic_reason: str | None = None


@contextmanager
def item_index(session: Session, asked: AskedRecall, view: View) -> Iterator[ItemIndex]:
    """Yield the index of the items of now, or one that is made of the subject's items as they were."""
    space = session.space
    if asked.scope.as_of_ms is not None:
        with space.ledger.reader() as reader:
            yield ItemIndex(_index_of_then(space, reader, asked, view), reader, SourcePhases(space, reader))
        return
    with space.indexes.caught_up(view, session.progress, Indexed.ITEMS) as caught:
        embed_newest(space, index_name(view, Indexed.ITEMS), caught)
        yield ItemIndex(*caught, SourcePhases(space, caught.reader), *coverage(space, caught.current))


def _index_of_then(space: Space, reader: Reader, asked: AskedRecall, view: View) -> Index:
    index, detection = Index(linked=False), space.detection.view(view)
    selection = ItemSelection(planes=asked.item_planes, shared=True, as_of_ms=asked.scope.as_of_ms)
    streams: dict[tuple[str, MemoryPlane], int] = {}
    for item in items_of(space, reader, asked.subject, selection):
        notebook = item.subject, item.plane
        if notebook not in streams:
            head = space.notebooks.head(reader, *notebook)
            assert head is not None, "the item is in it"
            streams[notebook] = head.stream
        index.put(streams[notebook], item.number, item_documents(item, view, detection))
    index.settle()
    return index
