"""How an index follows the log: the turns of every event that changes what a view shows are indexed again.

1. Events come in the order of their positions, none may be missing, and each is opened, which proves its columns.
2. Their turns are read in the reader's state of the log, which may include later events already: these will only index
   the turns once more. So an index that followed the log and one that was made from it are the same.
3. A long log is read in parts, each in a snapshot of its own, so that an erasure never waits for a reader.
4. Where content was erased, removed turns are purged before the part ends.

An index keeps no text. `passage_texts` reads it again from the very state of the log that the index is caught up with,
so that it is the text that was indexed; what is hidden or erased by then is in no index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

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
from muniment.search.document_table import split_passages
from muniment.search.documents import documents
from muniment.search.index import Index

CHANGES = frozenset({EventKind.TURN_LIFECYCLE.value, EventKind.TURN_REDACTED.value})
CUSTODY = frozenset(custody.value for custody in Custody)  # changes nothing that is shown
TURNS_BATCH = 500


class AffectedTurns:
    """The turns that a part of the log commits or changes."""

    def __init__(self) -> None:
        self.committed: defaultdict[int, dict[int, SealedRow]] = defaultdict(dict)
        self.changed: defaultdict[int, list[TurnSpan]] = defaultdict(list)
        self.erases = False

    def add(self, ledger: Ledger, row: SealedRow) -> None:
        """Add the turns of an event."""
        if row.turn_seq is not None:
            self.committed[row.stream][row.turn_seq] = row  # opened when it is read
            return
        ledger.unsealed(row)
        if row.kind in CHANGES:
            header, _ = ledger.header(row)
            if header.reason not in CUSTODY:
                self.changed[row.stream].append(span_of(header.about))
                self.erases = self.erases or header.reason == Transition.ERASE


class IndexFollower:
    """Lets an index of a view follow a log."""

    def __init__(self, ledger: Ledger, transcript: Transcript, view: View, detection: ViewDetection) -> None:
        self.view = view
        self.detection = detection
        self._ledger = ledger
        self._transcript = transcript

    def follow(self, index: Index, reader: Reader, size: int) -> None:
        """Index the events up to a size."""
        if index.size == size:
            return
        affected, expected = AffectedTurns(), index.size
        for row in reader.sealed_events(index.size, size - 1):
            if row.position != expected:
                break
            expected += 1
            affected.add(self._ledger, row)
        if expected != size:
            raise Corrupt(at="events", problem="rows_missing", limit=size, found=expected)
        for stream in sorted(affected.committed.keys() | affected.changed.keys()):
            head = self._transcript.head(reader, stream)
            if head.type != CONVERSATION.type:
                continue
            for read in self._turns(reader, head, affected.committed[stream], affected.changed[stream]):
                record = read.record
                shown = documents(record, self.view, self.detection) if record.phase in LISTABLE else []
                index.put(stream, record.sequence, shown, archived=record.phase is Phase.ARCHIVED)
        if affected.erases:
            index.purge()
        index.size = size

    def _turns(
        self, reader: Reader, head: StreamHead, committed: dict[int, SealedRow], changed: list[TurnSpan]
    ) -> Iterator[ReadTurn]:
        """Yield the turns that were committed, then those that were changed and are not among these."""
        changes, mark = self._transcript.changes(reader, head), self._transcript.mark(reader, head)
        for sequence, row in committed.items():
            yield self._transcript.read(row, sequence, changes, mark, self._wanted)
        sequences: set[int] = set()
        for span in changed:
            sequences.update(range(span.first, (head.turns if span.last is None else span.last) + 1))
        for batch in batches(sequences - committed.keys()):
            page = self._transcript.page(reader, head, batch[0], batch[-1], self._wanted)
            wanted = set(batch)
            yield from (read for read in page if read.record.sequence in wanted)

    def _wanted(self, phase: Phase, meta: TurnMeta) -> bool:
        return phase in LISTABLE and needs_content(self.view, phase, meta)


def batches(sequences: set[int]) -> Iterator[list[int]]:
    """Yield sequences in ascending order, in batches that a page of `TURNS_BATCH` turns covers."""
    remaining = sorted(sequences)
    while remaining:
        batch = [sequence for sequence in remaining[:TURNS_BATCH] if sequence < remaining[0] + TURNS_BATCH]
        yield batch
        remaining = remaining[len(batch) :]


def passage_texts(
    transcript: Transcript, view: View, detection: ViewDetection, index: Index, reader: Reader, passages: Rows
) -> list[str]:
    """Return the text of each of these passages of an index of a view that is caught up with the reader."""
    row_of, columns = index.passage_rows(), index.columns
    rows = row_of[passages]
    ordinals = passages - np.searchsorted(row_of, rows, "left")
    places = np.stack([columns.stream[rows], columns.turn[rows], columns.message[rows]], axis=1)
    keys = [(stream, turn, message) for stream, turn, message in places.tolist()]
    turns: defaultdict[int, set[int]] = defaultdict(set)
    for stream, turn, _ in keys:
        turns[stream].add(turn)
    texts: dict[tuple[int, int, int], list[str]] = {}
    for stream, sequences in turns.items():
        head = transcript.head(reader, stream)
        for batch in batches(sequences):
            for read in transcript.shown(reader, head, batch[0], batch[-1], view):
                turn = read.record.sequence
                for document in documents(read.record, view, detection) if turn in sequences else []:
                    pieces = [text for text in split_passages(document.text) if index.terms(text)]
                    texts[stream, turn, document.message] = pieces
    return [texts[key][int(ordinal)] for key, ordinal in zip(keys, ordinals, strict=True)]
