"""Notebooks: the memory items of a subject as the log has them, each folded from its record and its changes.

A notebook is found by its subject and plane, an item by its id, and the item that is in a slot by kind and topic; all
three are names (`ledger.name_buckets`), so it is proved what is there and what is not. Where another item takes a slot,
the former one is found under a name of its own, which leads from one to the next.

An item that an archive brings as forgotten has lost its topic, so nobody knows its slot, unless that is a name. It is
found by its kind and by each turn, or file, that it rests on (decision 0179).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.events.changes import span_of
from muniment.events.memory_governance import MemoryPolicySet, RunRecorded
from muniment.events.memory_items import (
    ItemContent,
    ItemKind,
    ItemMeta,
    ItemRetired,
    ItemRevised,
    MemoryPlane,
    NotebookOpened,
)
from muniment.events.records import NOTEBOOK, EventKind, MetaBody
from muniment.events.references import RefDerived
from muniment.governance.phases import Phase, phase_of
from muniment.ledger.ledger import SPACE_STREAM, Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.memory.fold import ItemChange, MemoryItem, folded, resting
from muniment.memory.kinds import slot_topic
from muniment.memory.merging import rests_on
from muniment.memory.policies import ENDS, MemoryPolicy
from muniment.projections.change_positions import ChangePositions

if TYPE_CHECKING:
    from muniment.projections.change_fold import Changes
    from muniment.projections.transcript import Transcript

BATCH = 500
FEW = 64  # items whose changes are looked up one by one; for more of them all changes of the notebook are read
Find = Callable[[bytes], int | None]  # where a name leads, in some state of the log


class ItemGroup(NamedTuple):
    """The items of a subject, of one plane and kind."""

    subject: str
    plane: MemoryPlane
    kind: ItemKind


class Notebooks:
    """The notebooks of one space."""

    def __init__(self, ledger: Ledger, transcript: Transcript) -> None:
        self._ledger = ledger
        self.transcript = transcript
        self._positions = ChangePositions()

    # --- finding ------------------------------------------------------------------------------------------------------

    def notebook_name(self, subject: str, plane: MemoryPlane) -> bytes:
        """Return the name of a notebook."""
        return self._ledger.name_digest("notebook", plane, subject)

    def item_name(self, item: str) -> bytes:
        """Return the name of an item."""
        return self._ledger.name_digest("item", item)

    def slot_name(self, whose: ItemGroup, topic: str, name: str | None) -> bytes:
        """Return the name of a slot: by the name that its items have, or else by their kind and topic.

        Topics that differ in case, blanks, `_` and `-` alone are one.
        """
        if name is not None:
            return self.named_slot(whose.subject, whose.plane, name)
        return self._ledger.name_digest("slot", whose.plane, whose.subject, whose.kind, slot_topic(topic))

    def named_slot(self, subject: str, plane: MemoryPlane, name: str) -> bytes:
        """Return the name of the slot of items that have a name of their own."""
        return self._ledger.name_digest("named slot", plane, subject, name)

    def slot_of(self, item: MemoryItem) -> bytes:
        """Return the name of the slot of an item that has words."""
        assert item.content is not None, "the topic is one of the words"
        return self.slot_name(ItemGroup(item.subject, item.plane, item.meta.kind), item.content.topic, item.name)

    def former_name(self, slot: bytes, number: int) -> bytes:
        """Return the name of the item that was in a slot, counted from 1 from the oldest on."""
        return self._ledger.name_digest("former slot", slot.hex(), str(number))

    def fence_name(self, whose: ItemGroup, source: tuple[str, ...], number: int) -> bytes:
        """Return the name of a forgotten item without a slot, of those that rest on this (`rests_on`); from 1 on."""
        return self._ledger.name_digest("forgotten", whose.plane, whose.subject, whose.kind, str(number), *source)

    def head(self, reader: Reader, subject: str, plane: MemoryPlane) -> StreamHead | None:
        """Return the head of a notebook, or None when there is none."""
        stream = self._ledger.names.find(reader, self.notebook_name(subject, plane))
        return None if stream is None else self.transcript.head(reader, stream)

    def heads(self, reader: Reader, subject: str) -> Iterator[StreamHead]:
        """Yield the heads of all notebooks of a subject."""
        found = (self.head(reader, subject, plane) for plane in MemoryPlane)
        return (head for head in found if head is not None)

    def every_head(self, reader: Reader) -> Iterator[StreamHead]:
        """Yield the heads of all notebooks of the space, in log order."""
        for row in reader.of_kind(EventKind.NOTEBOOK_OPENED):
            yield self.transcript.head(reader, row.stream)

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
        positions = self.slot_positions(partial(self._ledger.names.find, reader), slot)
        return [self.at(reader, position) for position in reversed(positions)]

    def forgotten_from(self, reader: Reader, subject: str, plane: MemoryPlane, meta: ItemMeta) -> list[MemoryItem]:
        """Return the forgotten items without a slot that may rest on all that an item rests on, the oldest first."""
        find, whose = partial(self._ledger.names.find, reader), ItemGroup(subject, plane, meta.kind)
        positions = [at for source in sorted(rests_on(meta))[:1] for at in self.fenced_positions(find, whose, source)]
        return [self.at(reader, position) for position in positions]

    def slot_positions(self, find: Find, slot: bytes) -> list[int]:
        """Return the positions of the items that are or were in a slot, the oldest first."""
        now = find(slot)
        if now is None:  # nobody ever was: who takes a slot from another item is in it from then on
            return []
        positions: list[int] = []
        while (before := find(self.former_name(slot, len(positions) + 1))) is not None:
            positions.append(before)
        return [*positions, now]

    def fenced_positions(self, find: Find, whose: ItemGroup, source: tuple[str, ...]) -> list[int]:
        """Return the positions of forgotten items without a slot that rest on this, the oldest first."""
        positions: list[int] = []
        while (found := find(self.fence_name(whose, source, len(positions) + 1))) is not None:
            positions.append(found)
        return positions

    def former_streams(self, reader: Reader, subject: str, plane: MemoryPlane) -> list[int]:
        """Return the streams that a notebook had before archives took its place, oldest first."""
        return self.transcript.formers(reader, self.notebook_name(subject, plane))

    def resting_on(
        self, reader: Reader, head: StreamHead, known: Changes, turn: int
    ) -> Iterator[tuple[str | None, int, int]]:
        """Yield the items that rest on a turn of a conversation, or on a message of it, which is named; newest first.

        Each with the stream of its notebook and its number there.
        """
        for position in reversed(self._positions.of(head.stream, known, [turn])[turn]):
            row = reader.sealed(position)
            meta = None if row is None or row.kind != EventKind.REF_DERIVED else self._ledger.open(row).meta
            if isinstance(meta, RefDerived):
                at = self._ledger.names.find(reader, self.item_name(meta.key))
                item = None if at is None else reader.sealed(at)
                if item is not None and item.turn_seq is not None:  # else it is an item of somebody else's memory
                    yield meta.source.message, item.stream, item.turn_seq

    # --- folding ------------------------------------------------------------------------------------------------------

    def at(self, reader: Reader, position: int) -> MemoryItem:
        """Return the item that was recorded at a position."""
        return folded(*self.history_at(reader, position))

    def history(self, reader: Reader, item: str) -> tuple[MemoryItem, list[ItemChange]] | None:
        """Return an item as it was recorded and what targets it, by its id, or None when there is none."""
        position = self._ledger.names.find(reader, self.item_name(item))
        return None if position is None else self.history_at(reader, position)

    def history_at(self, reader: Reader, position: int) -> tuple[MemoryItem, list[ItemChange]]:
        """Return an item as it was recorded at a position and what targets it."""
        row = reader.sealed(position)
        if row is None or row.turn_seq is None:
            raise Corrupt(at=f"position {position}", problem="rows_missing")
        head = self.transcript.head(reader, row.stream)
        (history,) = self.histories(reader, head, [row.turn_seq])
        return history

    def items(
        self, reader: Reader, head: StreamHead, numbers: Iterable[int] | None = None, as_of_ms: int | None = None
    ) -> Iterator[MemoryItem]:
        """Yield items of a notebook by their numbers, or all; as they are, or as they were at a time.

        Who may see an item is always decided by its privacy and its audience of now. Entries that are no
        items are among them.
        """
        for item, changes in self.histories(reader, head, numbers):
            now = folded(item, changes)
            if as_of_ms is None:
                yield now
            elif item.recorded_ms <= as_of_ms:
                then = (change for change in changes if change.time_ms <= as_of_ms)
                yield replace(folded(item, then), privacy=now.privacy, audience=now.audience)

    def histories(
        self, reader: Reader, head: StreamHead, numbers: Iterable[int] | None = None
    ) -> Iterator[tuple[MemoryItem, list[ItemChange]]]:
        """Yield items of a notebook by their numbers, or all, as they were recorded, and what targets them."""
        assert head.type == NOTEBOOK.type, "only notebooks have items"
        wanted = range(1, head.turns + 1) if numbers is None else list(numbers)
        if not wanted:
            return
        opened, known = self.opening(reader, head.stream), self.transcript.changes(reader, head)
        few = len(wanted) <= FEW
        changes = self._changes_of(reader, head, known, wanted) if few else self.changes(reader, head)
        steps = known.steps
        for row in self._rows(reader, head, wanted):
            number = row.turn_seq or 0
            is_erased = phase_of(number, steps) is Phase.ERASED
            yield self._recorded(self._ledger.open(row), opened, is_erased=is_erased), changes[number]

    def changes(self, reader: Reader, head: StreamHead) -> defaultdict[int, list[ItemChange]]:
        """Return what targets the items of a notebook, by their numbers, in log order."""
        found: defaultdict[int, list[ItemChange]] = defaultdict(list)
        for row in self.transcript.change_rows(reader, head):
            change = self._opened_change(row)
            first, last = span_of(self._ledger.header(row)[0].about)
            for number in range(first, (last or first) + 1):
                found[number].append(change)
        return found

    def _changes_of(
        self, reader: Reader, head: StreamHead, known: Changes, numbers: Iterable[int]
    ) -> dict[int, list[ItemChange]]:
        """Return what targets some items, by their numbers, in log order: their changes alone are read."""
        positions = self._positions.of(head.stream, known, numbers)
        return {number: [self._change(reader, position) for position in found] for number, found in positions.items()}

    def _change(self, reader: Reader, position: int) -> ItemChange:
        row = reader.sealed(position)
        if row is None:
            raise Corrupt(at=f"position {position}", problem="changes_missing")
        return self._opened_change(row)

    def _opened_change(self, row: SealedRow) -> ItemChange:
        header, _ = self._ledger.header(row)
        body = self._ledger.open(row).meta
        if not isinstance(body, ItemRevised | ItemRetired):
            raise Corrupt(at=f"position {row.position}", problem="change")
        return ItemChange(position=row.position, time_ms=row.time, reason=header.reason or "", body=body)

    # --- what governs memory ------------------------------------------------------------------------------------------

    def policies(self, reader: Reader) -> Iterator[MemoryPolicy]:
        """Yield every policy of memory that was ever set, with its pattern, complete or `Corrupt`, in log order."""
        for position, body in self._of_space(reader, EventKind.MEMORY_POLICY_SET):
            assert isinstance(body, MemoryPolicySet), "rows of this kind have this body"
            words = self.item(reader, body.policy) if body.selector.has_pattern and body.action not in ENDS else None
            content = None if words is None else words.content
            yield MemoryPolicy(position=position, event=body, pattern=None if content is None else content.topic)

    def requests_of_run(self, reader: Reader, run: str) -> list[RunRecorded]:
        """Return what each request of a run did, complete or `Corrupt`, in log order."""
        bodies = (body for _, body in self._of_space(reader, EventKind.RUN_RECORDED))
        return [body for body in bodies if isinstance(body, RunRecorded) and body.run == run]

    def topic_digest(self, topic: str) -> str:
        """Return the keyed digest of a topic, as slots compare topics."""
        return self._ledger.name_digest("topic", slot_topic(topic)).hex()

    def _of_space(self, reader: Reader, kind: EventKind) -> Iterator[tuple[int, MetaBody]]:
        """Yield the events of a kind in the stream of the space, all that its head counts."""
        changes = self.transcript.changes(reader, self.transcript.head(reader, SPACE_STREAM))
        for noted in changes.noted.get(kind, ()):
            row = reader.sealed(noted.position)
            if row is None or row.kind != kind:
                raise Corrupt(at=f"position {noted.position}", problem="rows_missing")
            yield noted.position, self._ledger.open(row).meta

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
        item = MemoryItem(
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
            audience=meta.entry.audience,
            observations=None if meta.entry.named is None else meta.entry.named.observations,
        )
        return replace(item, retired=resting(item))

    def _content(self, event: OpenedEvent) -> ItemContent:
        _, content = self._ledger.content(event)
        assert isinstance(content, ItemContent), "the table of content has no other body for it"
        return content
