"""Events of memory as a caller sees them: one for each item, which a list of items would show."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.declaration.session import Session
from muniment.events.changes import REPLACED
from muniment.events.identity import SubjectId
from muniment.events.memory_items import MemoryPlane, NotebookOpened
from muniment.evidence.header import Header
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import View
from muniment.log.port import Reader, SealedRow
from muniment.memory.fold import MemoryItem
from muniment.operations.events.numbered_event import NumberedEvent, entries_of
from muniment.operations.events.space_event import ITEM_ERASED, EventTopic, SpaceEvent
from muniment.operations.memory.item_sources import known_to
from muniment.operations.memory.shown_item import ItemShower


class ItemEvents:
    """Tells the events of the notebooks of a space, in one state of its log."""

    def __init__(self, session: Session, reader: Reader, view: View) -> None:
        self._session = session
        self._space = session.space
        self._reader = reader
        self._view = view
        self._shower = ItemShower(self._space, reader, view, session.access.subject)
        self._openings: dict[int, NotebookOpened] = {}

    def is_of_others(self, stream: int) -> bool:
        """Tell whether a notebook has nothing that the caller may know of."""
        subject = self._session.access.subject
        if subject is None:
            return False
        whose = self._opening(stream)
        return whose.subject != subject and whose.plane is not MemoryPlane.SHARED_FACT

    def _opening(self, stream: int) -> NotebookOpened:
        if stream not in self._openings:
            self._openings[stream] = self._space.notebooks.opening(self._reader, stream)
        return self._openings[stream]

    def told(self, row: SealedRow, header: Header, topic: EventTopic, after: int) -> Iterator[NumberedEvent]:
        """Tell that an item was recorded, or a change of one or more items."""
        notebooks, is_erasure = self._space.notebooks, topic is EventTopic.ERASURES
        head = self._space.transcript.head(self._reader, row.stream)
        opening = self._opening(row.stream)
        current = self._space.notebooks.head(self._reader, opening.subject, opening.plane)
        is_current = current is not None and current.stream == row.stream
        if not (is_erasure or is_current):
            return
        span = entries_of(row, header)
        numbers = range(max(span.first, after + 1), (head.turns if span.last is None else span.last) + 1)
        for item in notebooks.items(self._reader, head, numbers):
            if item.is_item and known_to(self._session, item) and hides_item(self._view, item.privacy) is None:
                is_provable = is_erasure and (span.is_single or self._session.access.subject is None)
                yield NumberedEvent(item.number, self._item(row, header, topic, item), is_provable)

    def _item(self, row: SealedRow, header: Header, topic: EventTopic, item: MemoryItem) -> SpaceEvent:
        is_erasure = topic is EventTopic.ERASURES
        return SpaceEvent(
            id="",
            type=ITEM_ERASED if is_erasure else str(row.kind),
            topic=topic,
            position=row.position,
            time_ms=row.time,
            action=None if is_erasure else header.reason,
            item=item.id,
            subject=SubjectId(item.subject),
            item_shown=None if is_erasure else self._shower.shown(item),
            leaf=row.leaf.hex() if is_erasure else None,
            replaced=(is_erasure and REPLACED in header.refs) or None,
        )
