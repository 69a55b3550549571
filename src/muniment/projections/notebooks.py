"""Notebooks: the memory items of a subject as the log has them, each folded from its record and its changes.

A notebook is found by its subject and plane, an item by its id, and the item that is in a slot by kind and topic; all
three are names (`ledger.name_buckets`), so it is proved what is there and what is not. Where another item takes a slot,
the former one is found under a name of its own, which leads from one to the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.events.changes import span_of
from muniment.events.memory_items import (
    ItemContent,
    ItemKind,
    ItemMeta,
    ItemRetired,
    ItemRevised,
    MemoryPlane,
    NotebookOpened,
)
from muniment.events.records import NOTEBOOK, EventKind
from muniment.governance.phases import Phase, phase_of
from muniment.ledger.ledger import Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.memory.fold import ItemChange, MemoryItem, folded
from muniment.memory.kinds import slot_topic
from muniment.projections.transcript import Transcript

BATCH = 500


class Notebooks:
    """The notebooks of one space."""

    def __init__(self, ledger: Ledger, transcript: Transcript) -> None:
        self._ledger = ledger
        self._transcript = transcript

    # --- finding ------------------------------------------------------------------------------------------------------

    def notebook_name(self, subject: str, plane: MemoryPlane) -> bytes:
        """Return the name of a notebook."""
        return self._ledger.name_digest("notebook", plane, subject)

    def item_name(self, item: str) -> bytes:
        """Return the name of an item."""
        return self._ledger.name_digest("item", item)

    def slot_name(self, subject: str, plane: MemoryPlane, kind: ItemKind, topic: str) -> bytes:
        """Return the name of a slot; topics that differ in case, blanks, `_` and `-` alone are one."""
        return self._ledger.name_digest("slot", plane, subject, kind, slot_topic(topic))

    def named_slot(self, subject: str, plane: MemoryPlane, name: str) -> bytes:
        """Return the name of the slot of items that have a name of their own."""
        return self._ledger.name_digest("named slot", plane, subject, name)

    def slot_of(self, item: MemoryItem) -> bytes:
        """Return the name of the slot of an item that has words."""
        assert item.content is not None, "the topic is one of the words"
        if item.name is not None:
            return self.named_slot(item.subject, item.plane, item.name)
        return self.slot_name(item.subject, item.plane, item.meta.kind, item.content.topic)

    def former_name(self, slot: bytes, number: int) -> bytes:
        """Return the name of the item that was in a slot, counted from 1 from the oldest on."""
        return self._ledger.name_digest("former slot", slot.hex(), str(number))

    def head(self, reader: Reader, subject: str, plane: MemoryPlane) -> StreamHead | None:
        """Return the head of a notebook, or None when there is none."""
        stream = self._ledger.names.find(reader, self.notebook_name(subject, plane))
        return None if stream is None else self._transcript.head(reader, stream)

    def heads(self, reader: Reader, subject: str) -> Iterator[StreamHead]:
        """Yield the heads of all notebooks of a subject."""
        found = (self.head(reader, subject, plane) for plane in MemoryPlane)
        return (head for head in found if head is not None)

    def every_head(self, reader: Reader) -> Iterator[StreamHead]:
        """Yield the heads of all notebooks of the space, in log order."""
        for row in reader.of_kind(EventKind.NOTEBOOK_OPENED):
            yield self._transcript.head(reader, row.stream)

    def opening(self, reader: Reader, stream: int) -> NotebookOpened:
        """Return whose items a notebook has."""
        row = reader.sealed(stream)
        meta = None if row is None else self._ledger.open(row).meta
        if not isinstance(meta, NotebookOpened):
            raise Corrupt(at=f"stream {stream}", problem="rows_missing")
        return meta

    def item(self, reader: Reader, item: str) -> MemoryItem | None:
        """Return an item by its id, or None when there is none; one that was forgotten is there, without words."""
        position = self._ledger.names.find(reader, self.item_name(item))
        return None if position is None else self.at(reader, position)

    def in_slot(self, reader: Reader, slot: bytes) -> list[MemoryItem]:
        """Return the item that is in a slot and those that were, the newest first."""
        positions: list[int] = []
        while (before := self._ledger.names.find(reader, self.former_name(slot, len(positions) + 1))) is not None:
            positions.append(before)
        now = self._ledger.names.find(reader, slot)
        history = positions if now is None else [*positions, now]
        return [self.at(reader, position) for position in reversed(history)]

    # --- folding ------------------------------------------------------------------------------------------------------

    def at(self, reader: Reader, position: int) -> MemoryItem:
        """Return the item that was recorded at a position."""
        row = reader.sealed(position)
        if row is None or row.turn_seq is None:
            raise Corrupt(at=f"position {position}", problem="rows_missing")
        head = self._transcript.head(reader, row.stream)
        (item,) = self.items(reader, head, [row.turn_seq])
        return item

    def items(
        self, reader: Reader, head: StreamHead, numbers: Iterable[int] | None = None, as_of_ms: int | None = None
    ) -> Iterator[MemoryItem]:
        """Yield items of a notebook by their numbers, or all; as they are, or as they were at a time.

        Who may see an item is always decided by its privacy of now.
        """
        assert head.type == NOTEBOOK.type, "only notebooks have items"
        wanted = range(1, head.turns + 1) if numbers is None else list(numbers)
        if not wanted:
            return
        opened, steps = self.opening(reader, head.stream), self._transcript.changes(reader, head).steps
        changes = self.changes(reader, head)
        for row in self._rows(reader, head, wanted):
            number = row.turn_seq or 0
            item = self._recorded(self._ledger.open(row), opened, is_erased=phase_of(number, steps) is Phase.ERASED)
            now = folded(item, changes[number])
            if as_of_ms is None:
                yield now
            elif item.recorded_ms <= as_of_ms:
                then = (change for change in changes[number] if change.time_ms <= as_of_ms)
                yield replace(folded(item, then), privacy=now.privacy)

    def changes(self, reader: Reader, head: StreamHead) -> defaultdict[int, list[ItemChange]]:
        """Return what targets the items of a notebook, by their numbers, in log order."""
        found: defaultdict[int, list[ItemChange]] = defaultdict(list)
        for row in self._transcript.change_rows(reader, head):
            header, _ = self._ledger.header(row)
            body = self._ledger.open(row).meta
            if not isinstance(body, ItemRevised | ItemRetired):
                raise Corrupt(at=f"position {row.position}", problem="change")
            change = ItemChange(position=row.position, time_ms=row.time, reason=header.reason or "", body=body)
            first, last = span_of(header.about)
            for number in range(first, (last or first) + 1):
                found[number].append(change)
        return found

    def _rows(self, reader: Reader, head: StreamHead, numbers: range | list[int]) -> Iterator[SealedRow]:
        if isinstance(numbers, range):
            spans = ((start, min(head.turns, start + BATCH - 1)) for start in range(1, head.turns + 1, BATCH))
        else:
            spans = ((number, number) for number in numbers)
        for first, last in spans:
            rows = reader.turns(head.stream, first, last)
            if [row.turn_seq for row in rows] != list(range(first, last + 1)):
                at = f"stream {head.stream}"
                raise Corrupt(at=at, problem="turns_missing", limit=last - first + 1, found=len(rows))
            yield from rows

    def _recorded(self, event: OpenedEvent, opened: NotebookOpened, *, is_erased: bool) -> MemoryItem:
        meta, row = event.meta, event.row
        if not isinstance(meta, ItemMeta):
            raise Corrupt(at=f"position {row.position}", problem="rows_missing")
        content = None if is_erased else self._content(event)
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
            observations=None if meta.slot is None else meta.slot.observations,
        )

    def _content(self, event: OpenedEvent) -> ItemContent:
        _, content = self._ledger.content(event)
        assert isinstance(content, ItemContent), "the table of content has no other body for it"
        return content
