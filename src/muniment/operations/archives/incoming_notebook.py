"""A notebook of an archive on its way in: its items with what became of them, in the slots that they have here.

What was forgotten here comes without its words, and says so once more at the end. What the archive brings as forgotten
is in its slot if that is a name. Without a topic it gets a name by its kind and each turn or file that it rests on,
which keeps it from coming back (decision 0179).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.errors import ArchiveConflict
from muniment.events.changes import LifecycleRequest, Transition, span_of
from muniment.events.memory_items import ItemContent, ItemMeta, ItemRetired, NotebookOpened, Retirement
from muniment.events.records import EventKind, worded_no_more
from muniment.log.port import Reader, StreamHead
from muniment.memory.merging import rests_on
from muniment.operations.archives.document import ArchiveRoot, NotebookLine
from muniment.operations.archives.forgotten_items import forgotten_items
from muniment.operations.archives.incoming_events import IncomingEvents
from muniment.operations.archives.notebook_lines import placed_in
from muniment.operations.archives.scopes import notebooks_of
from muniment.operations.lifecycle.scope import NotebookKey
from muniment.projections.notebooks import ItemGroup
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.ledger.heads import Placed
    from muniment.operations.archives.archived_conversation import ArchivedEvent


def notebooks_here(space: Space, reader: Reader, root: ArchiveRoot) -> list[tuple[NotebookKey, StreamHead]]:
    """Return the notebooks whose place an archive takes: none, when it says nothing of memory."""
    return [] if root.notebooks is None else notebooks_of(space, reader, root.scope)


class IncomingNotebook:
    """One notebook on its way in."""

    def __init__(self, into: IncomingEvents, line: NotebookLine) -> None:
        self._into = into
        self._line = line
        self._notebooks = into.space.notebooks
        self._forgotten = forgotten_items(into.space, into.writer.tx, line.subject, line.plane)
        opened = NotebookOpened(subject=line.subject, plane=line.plane)
        placed = into.append(into.drafted(EventKind.NOTEBOOK_OPENED, line.t, opened), None)
        into.claim(self._notebooks.notebook_name(line.subject, line.plane), placed)
        self._stream = placed.stream
        self._items = 0
        self._fenced: dict[int, LifecycleRequest] = {}

    def take(self, archived: ArchivedEvent) -> None:
        """Append the next event."""
        if isinstance(archived.meta, ItemMeta):
            self._item(archived, archived.meta)
        else:
            self._change(archived)

    def end(self) -> None:
        """Forget, as it is said here, what came without its words."""
        for item, request in self._fenced.items():
            body = ItemRetired(request=request, cause=Retirement.FORGOTTEN)
            event = self._into.drafted(EventKind.ITEM_RETIRED, self._into.now_ms, body, Transition.ERASE)
            self._into.append(event, self._stream, target=item, refs={"turn": item})
        self._into.counts["items"] += self._items
        self._into.counts["forgotten"] += len(self._fenced)

    def _item(self, archived: ArchivedEvent, meta: ItemMeta) -> None:
        self._items += 1
        content = archived.content
        whose = ItemGroup(self._line.subject, self._line.plane, meta.kind)
        slot = self._slot(whose, meta, content)
        name = self._notebooks.item_name(meta.item)
        if self._into.writer.find(name) is not None:
            raise ArchiveConflict(at="item", problem="of_another_scope")
        fence = None if slot is None else self._fence(meta, whose, slot)
        if fence is not None:
            self._fenced[self._items], content = fence, None
        kept = placed_in(meta, self._into.space.name)
        event = self._into.drafted(EventKind.ITEM_RECORDED, archived.line.t, kept, body=content)
        placed = self._into.append(event, self._stream)
        self._into.claim(name, placed)
        if slot is None:
            self._claim_fences(meta, whose, placed)
        else:
            self._claim_slot(slot, placed)

    def _slot(self, whose: ItemGroup, meta: ItemMeta, content: object) -> bytes | None:
        """Return the slot of an item, or None where that was its topic and it has lost its words."""
        if meta.entry.named is not None:
            return self._notebooks.named_slot(whose.subject, whose.plane, meta.entry.named.name)
        return self._notebooks.slot_name(whose, content.topic, None) if isinstance(content, ItemContent) else None

    def _fence(self, meta: ItemMeta, whose: ItemGroup, slot: bytes) -> LifecycleRequest | None:
        """Return who had an item forgotten here that this one would bring back, or None."""
        find = self._into.writer.find
        if find(slot) is not None:
            self._into.writer.flush()  # names that were given up in this import show only then
        positions = [
            *self._notebooks.slot_positions(find, slot),
            *(at for source in rests_on(meta) for at in self._notebooks.fenced_positions(find, whose, source)),
        ]
        return self._forgotten.fence(meta, positions)

    def _claim_slot(self, slot: bytes, placed: Placed) -> None:
        """Let a slot lead to an item; what was there is found under the next of its former names."""
        writer = self._into.writer
        if writer.find(slot) is not None:
            there = len(self._notebooks.slot_positions(writer.find, slot))
            writer.rename(slot, self._notebooks.former_name(slot, there))
        self._into.claim(slot, placed)

    def _claim_fences(self, meta: ItemMeta, whose: ItemGroup, placed: Placed) -> None:
        for source in sorted(rests_on(meta)):
            there = len(self._notebooks.fenced_positions(self._into.writer.find, whose, source))
            self._into.claim(self._notebooks.fence_name(whose, source, there + 1), placed)

    def _change(self, archived: ArchivedEvent) -> None:
        line, meta = archived.line, placed_in(archived.meta, self._into.space.name)
        span = span_of(line.refs)
        if line.reason != Transition.ERASE and any(span.includes(item) for item in self._fenced):
            meta = worded_no_more(meta)
        event = self._into.drafted(EventKind(line.kind), line.t, meta, line.reason)
        self._into.append(event, self._stream, target=line.target, refs=dict(line.refs))
