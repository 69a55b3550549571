"""How an index follows the log: the entries of every event that changes what a view shows are indexed again.

1. Events come in the order of their positions, none may be missing, and each is opened, which proves its columns.
2. Their entries are read in the reader's state of the log, which may include later events already: these will only
   index the entries once more. So an index that followed the log and one that was made from it are the same.
3. A long log is read in parts, each in a snapshot of its own, so that an erasure never waits for a reader.
4. Where content was erased, removed entries are purged before the part ends.

Entries are turns (`TurnFollower`) or memory items (`search.item_follower`). An index keeps no text: `passage_texts`
reads it again from the very state of the log that the index is caught up with, so that it is the text that was indexed;
what is hidden or erased by then is in no index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Protocol

import numpy as np

from muniment.errors import Corrupt
from muniment.events.changes import Custody, Transition, TurnSpan, span_of
from muniment.events.records import CONVERSATION, EventKind, TurnMeta
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import needs_content
from muniment.governance.listing import LISTABLE
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.projections.transcript import ReadTurn, Transcript
from muniment.ranking.columns import Rows
from muniment.search.document_table import SearchDocument, split_passages
from muniment.search.documents import documents
from muniment.search.index import Index

CHANGES = frozenset({EventKind.TURN_LIFECYCLE.value, EventKind.TURN_REDACTED.value})
CUSTODY = frozenset(custody.value for custody in Custody)  # changes nothing that is shown
BATCH = 500


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

    def follow(self, index: Index, reader: Reader, size: int) -> None:
        """Index the events up to a size."""
        ...

    def documents_of(
        self, reader: Reader, stream: int, entries: Collection[int]
    ) -> Iterator[tuple[int, list[SearchDocument]]]:
        """Yield entries of a stream that are indexed, each with its documents."""
        ...


class AffectedEntries:
    """The entries that a part of the log commits or changes; `changes` are the kinds of event that change some."""

    def __init__(self, changes: frozenset[str]) -> None:
        self.committed: defaultdict[int, dict[int, SealedRow]] = defaultdict(dict)
        self.changed: defaultdict[int, list[TurnSpan]] = defaultdict(list)
        self.erases = False
        self._changes = changes

    def take(self, ledger: Ledger, reader: Reader, first: int, size: int) -> None:
        """Take the events from a position up to a size of the log."""
        expected = first
        for row in reader.sealed_events(first, size - 1):
            if row.position != expected:
                break
            expected += 1
            self._add(ledger, row)
        if expected != size:
            raise Corrupt(at="events", problem="rows_missing", limit=size, found=expected)

    def _add(self, ledger: Ledger, row: SealedRow) -> None:
        if row.turn_seq is not None:
            self.committed[row.stream][row.turn_seq] = row  # opened when it is read
            return
        ledger.unsealed(row)
        if row.kind in self._changes:
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


class TurnFollower:
    """Lets an index of the messages that a view shows follow a log."""

    def __init__(self, ledger: Ledger, transcript: Transcript, view: View, detection: ViewDetection) -> None:
        self.name: str = view
        self.linked = True
        self.view = view
        self.detection = detection
        self._ledger = ledger
        self._transcript = transcript

    def follow(self, index: Index, reader: Reader, size: int) -> None:
        """Index the events up to a size."""
        if index.size == size:
            return
        affected = AffectedEntries(CHANGES)
        affected.take(self._ledger, reader, index.size, size)
        for stream in affected.streams():
            head = self._transcript.head(reader, stream)
            if head.type != CONVERSATION.type:
                continue
            for read in self._turns(reader, head, affected):
                record = read.record
                shown = documents(record, self.view, self.detection) if record.phase in LISTABLE else []
                index.put(stream, record.sequence, shown, archived=record.phase is Phase.ARCHIVED)
        if affected.erases:
            index.purge()
        index.size = size

    def documents_of(
        self, reader: Reader, stream: int, entries: Collection[int]
    ) -> Iterator[tuple[int, list[SearchDocument]]]:
        """Yield turns of a conversation with their documents."""
        head = self._transcript.head(reader, stream)
        for batch in batches(set(entries)):
            for read in self._transcript.shown(reader, head, batch[0], batch[-1], self.view):
                if read.record.sequence in entries:
                    yield read.record.sequence, documents(read.record, self.view, self.detection)

    def _turns(self, reader: Reader, head: StreamHead, affected: AffectedEntries) -> Iterator[ReadTurn]:
        """Yield the turns that were committed, then those that were changed and are not among these."""
        changes, mark = self._transcript.changes(reader, head), self._transcript.mark(reader, head)
        for sequence, row in affected.committed[head.stream].items():
            yield self._transcript.read(row, sequence, changes, mark, self._wanted)
        for batch in batches(affected.changed_in(head)):
            page = self._transcript.page(reader, head, batch[0], batch[-1], self._wanted)
            wanted = set(batch)
            yield from (read for read in page if read.record.sequence in wanted)

    def _wanted(self, phase: Phase, meta: TurnMeta) -> bool:
        return phase in LISTABLE and needs_content(self.view, phase, meta)


def batches(numbers: set[int]) -> Iterator[list[int]]:
    """Yield numbers in ascending order, in batches that a page of `BATCH` entries covers."""
    remaining = sorted(numbers)
    while remaining:
        batch = [number for number in remaining[:BATCH] if number < remaining[0] + BATCH]
        yield batch
        remaining = remaining[len(batch) :]


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
