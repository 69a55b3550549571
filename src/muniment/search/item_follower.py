"""Lets an index of the memory items that a view shows follow a log."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from muniment.events.records import NOTEBOOK, EventKind
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.projections.notebooks import Notebooks
from muniment.search.document_table import SearchDocument
from muniment.search.index import Index
from muniment.search.index_follower import AffectedEntries
from muniment.search.index_status import Indexed, index_name
from muniment.search.item_documents import item_documents


class ItemFollower:
    """An `IndexFollower` of memory items. Their documents are not linked: no item is the context of another one."""

    linked = False
    changes = frozenset({EventKind.ITEM_REVISED.value, EventKind.ITEM_RETIRED.value})

    def __init__(self, notebooks: Notebooks, view: View, detection: ViewDetection) -> None:
        self.name = index_name(view, Indexed.ITEMS)
        self.view = view
        self.detection = detection
        self._notebooks = notebooks

    def put(self, index: Index, reader: Reader, stream: int, affected: AffectedEntries) -> None:
        """Index the affected items of a notebook again."""
        head = self._notebooks.transcript.head(reader, stream)
        if head.type != NOTEBOOK.type:
            return
        numbers = sorted(affected.committed[stream].keys() | affected.changed_in(head))
        for item in self._notebooks.items(reader, head, numbers):
            index.put(stream, item.number, item_documents(item, self.view, self.detection))

    def documents_of(
        self, reader: Reader, stream: int, entries: Collection[int]
    ) -> Iterator[tuple[int, list[SearchDocument]]]:
        """Yield items of a notebook with their documents."""
        head = self._notebooks.transcript.head(reader, stream)
        for item in self._notebooks.items(reader, head, sorted(entries)):
            yield item.number, item_documents(item, self.view, self.detection)
