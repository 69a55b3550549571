"""All items of a notebook without their words: what decides whether an item is shown, and in which order.

Who wants the best of many items chooses by these and reads the words of the chosen ones alone.

1. A notebook only grows, by items and by changes. What is known of one is grown by the rows that are new.
2. The leaf of the newest row that was taken commits to all before it: where that row is in the log, the rest is true.
   What was taken inside a transaction that failed is in no log, nor is what a restored log no longer has.
3. No word is kept, so that nothing that was erased stays in memory: an item has no content here, and the text of a
   correction is dropped when it is folded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from muniment.errors import Corrupt
from muniment.events.changes import span_of
from muniment.events.memory_items import NotebookOpened
from muniment.kernel.locks import new_lock
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.memory.fold import MemoryItem, folded
from muniment.projections.item_rows import change_of, item_of

ITEMS_KEPT_MAX = 200_000  # of all notebooks; about 1 KB each
BATCH = 500


class KnownItems(NamedTuple):
    """The items of a notebook up to a row of it: its place in the stream, its position and its leaf."""

    items: Sequence[MemoryItem] = ()
    changes: int = 0
    seq: int = 0
    position: int = 0
    leaf: bytes = b""


NONE_YET = KnownItems()


class ItemStandings:
    """The items of the notebooks that were read last, by their numbers, without words. Thread-safe."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = new_lock()
        self._known: OrderedDict[tuple[str, int], KnownItems] = OrderedDict()
        self._kept = 0

    def drop(self) -> None:
        """Drop everything that is kept; what is read next is read from the log."""
        with self._lock:
            self._known.clear()
            self._kept = 0

    def of(self, reader: Reader, head: StreamHead, opened: NotebookOpened) -> Sequence[MemoryItem]:
        """Return all items of a notebook as they are, the first one first; complete, or `Corrupt`."""
        place = (self._ledger.life(reader), head.stream)
        with self._lock:
            known = self._known.get(place, NONE_YET)
            if known.seq:
                self._known.move_to_end(place)
        if known.leaf == head.leaf:
            return known.items
        is_older = known.seq > head.seq
        if known.seq and (is_older or not _is_in(reader, head, known)):
            known = NONE_YET
        grown = self._grown(reader, head, opened, known)
        if not is_older:
            self._keep(place, grown)
        return grown.items

    def _grown(self, reader: Reader, head: StreamHead, opened: NotebookOpened, known: KnownItems) -> KnownItems:
        items, newest = list(known.items), known
        for first in range(len(items) + 1, head.turns + 1, BATCH):
            rows = reader.turns(head.stream, first, min(head.turns, first + BATCH - 1))
            items += [item_of(event, opened, None) for event in self._ledger.open_turns(rows)]
            newest = _newer(newest, rows[-1]) if rows else newest
        if len(items) != head.turns or any(item.number != number for number, item in enumerate(items, 1)):
            raise Corrupt(at=f"stream {head.stream}", problem="turns_missing", limit=head.turns, found=len(items))
        changes = known.changes
        for row in reader.changes(head.stream, known.seq) if changes < head.changes else ():
            if row.seq <= head.seq:
                changes, newest = changes + 1, _newer(newest, row)
                change, (first, last) = change_of(self._ledger, row), span_of(self._ledger.header(row)[0].about)
                for number in range(first, (last or first) + 1):
                    items[number - 1] = folded(items[number - 1], [change])
        if changes != head.changes:
            at = f"stream {head.stream}"
            raise Corrupt(at=at, problem="changes_missing", limit=head.changes, found=changes)
        return KnownItems(items, changes, newest.seq, newest.position, newest.leaf)

    def _keep(self, place: tuple[str, int], known: KnownItems) -> None:
        with self._lock:
            before = self._known.pop(place, NONE_YET)
            self._known[place] = known
            self._kept += len(known.items) - len(before.items)
            while self._kept > ITEMS_KEPT_MAX and self._known:
                _, dropped = self._known.popitem(last=False)
                self._kept -= len(dropped.items)


def _is_in(reader: Reader, head: StreamHead, known: KnownItems) -> bool:
    """Tell whether what was taken last is in this log."""
    row = reader.sealed(known.position)
    return row is not None and (row.stream, row.leaf) == (head.stream, known.leaf)


def _newer(known: KnownItems, row: SealedRow) -> KnownItems:
    return known if row.seq < known.seq else known._replace(seq=row.seq, position=row.position, leaf=row.leaf)
