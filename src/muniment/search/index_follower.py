"""How an index follows the log: the entries of every event that changes what a view shows are indexed again.

1. Events come in the order of their positions, none may be missing, and each is opened, which proves its columns.
2. Their entries are read in the reader's state of the log, which may include later events already: these will only
   index the entries once more. So an index that followed the log and one that was made from it are the same.
3. A long log is read in parts, each in a snapshot of its own, so that an erasure never waits for a reader.
4. Where content was erased, removed entries are purged before the part ends.

Entries are turns (`search.turn_follower`) or memory items (`search.item_follower`). An index keeps no text:
`passage_texts` reads it again from the very state of the log that the index is caught up with, so that it is the text
that was indexed; what is hidden or erased by then is in no index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Protocol

import numpy as np

from muniment.errors import Corrupt
from muniment.events.changes import Custody, Transition, TurnSpan, span_of
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.ranking.columns import Rows
from muniment.search.document_table import SearchDocument, split_passages
from muniment.search.index import Index

CUSTODY = frozenset(custody.value for custody in Custody)  # changes nothing that is shown


class IndexFollower(Protocol):
    """Keeps an index of what a view shows up to date with the log."""

    @property
    def name(self) -> str:
        """The name of the index, unique in its space."""
        ...

    @property
    def view(self) -> View:
        """The view."""
        ...

    @property
    def detection(self) -> ViewDetection:
        """What the view withholds."""
        ...

    @property
    def linked(self) -> bool:
        """Whether documents are linked to those before and after them."""
        ...

    @property
    def changes(self) -> frozenset[str]:
        """The kinds of event that change entries."""
        ...

    def put(self, index: Index, reader: Reader, stream: int, affected: AffectedEntries) -> None:
        """Index the affected entries of a stream again, if it is one that the index is about."""
        ...

    def documents_of(
        self, reader: Reader, stream: int, entries: Collection[int]
    ) -> Iterator[tuple[int, list[SearchDocument]]]:
        """Yield entries of a stream that are indexed, each with its documents."""
        ...


class AffectedEntries:
    """The entries that a part of the log commits or changes."""

    def __init__(self) -> None:
        self.committed: defaultdict[int, dict[int, SealedRow]] = defaultdict(dict)
        self.changed: defaultdict[int, list[TurnSpan]] = defaultdict(list)
        self.erases = False

    def add(self, ledger: Ledger, row: SealedRow, changes: frozenset[str]) -> None:
        """Add the entries of an event; `changes` are the kinds that change some."""
        if row.turn_seq is not None:
            self.committed[row.stream][row.turn_seq] = row  # opened when it is read
            return
        ledger.unsealed(row)
        if row.kind in changes:
            header, _ = ledger.header(row)
            if header.reason not in CUSTODY:
                self.changed[row.stream].append(span_of(header.about))
                self.erases = self.erases or header.reason == Transition.ERASE

    def streams(self) -> list[int]:
        """Return the streams with such entries, in log order."""
        return sorted(self.committed.keys() | self.changed.keys())

    def changed_in(self, head: StreamHead) -> set[int]:
        """Return the numbers of the entries of a stream that were changed, and not committed, in this part."""
        numbers: set[int] = set()
        for span in self.changed[head.stream]:
            numbers.update(range(span.first, (head.turns if span.last is None else span.last) + 1))
        return numbers - self.committed[head.stream].keys()


def follow(follower: IndexFollower, ledger: Ledger, index: Index, reader: Reader, size: int) -> None:
    """Index the events up to a size of the log."""
    if index.size == size:
        return
    affected, expected = AffectedEntries(), index.size
    for row in reader.sealed_events(index.size, size - 1):
        if row.position != expected:
            break
        expected += 1
        affected.add(ledger, row, follower.changes)
    if expected != size:
        raise Corrupt(at="events", problem="rows_missing", limit=size, found=expected)
    for stream in affected.streams():
        follower.put(index, reader, stream, affected)
    if affected.erases:
        index.purge()
    index.size = size


def passage_texts(follower: IndexFollower, index: Index, reader: Reader, passages: Rows) -> list[str]:
    """Return the text of each of these passages of an index that is caught up with the reader."""
    row_of, columns = index.passage_rows(), index.columns
    rows = row_of[passages]
    ordinals = passages - np.searchsorted(row_of, rows, "left")
    places = np.stack([columns.stream[rows], columns.turn[rows], columns.message[rows]], axis=1)
    keys = [(stream, turn, message) for stream, turn, message in places.tolist()]
    entries: defaultdict[int, set[int]] = defaultdict(set)
    for stream, entry, _ in keys:
        entries[stream].add(entry)
    texts: dict[tuple[int, int, int], list[str]] = {}
    for stream, numbers in entries.items():
        for entry, shown in follower.documents_of(reader, stream, numbers):
            for document in shown:
                pieces = [text for text in split_passages(document.text) if index.terms(text)]
                texts[stream, entry, document.message] = pieces
    return [texts[key][int(ordinal)] for key, ordinal in zip(keys, ordinals, strict=True)]
