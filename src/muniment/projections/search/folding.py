"""How an index follows the log: every event that changes what a view shows of turns has these turns put in again.

1. Events are taken in the order of their positions, none may be missing, and each is opened, so that its columns are
   proved.
2. What they are about is read as it is in the reader's state of the log, which may know of later events already: these
   will only have it put in again. So an index that followed the log and one that was made anew are the same.
3. A long log is read in parts, each a snapshot of its own, so that an erasure never waits for a reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from muniment.errors import Corrupt
from muniment.events.changes import span_of
from muniment.events.records import EventKind, TurnMeta
from muniment.governance.detection.policy import Looking
from muniment.governance.judgement import needs_content
from muniment.governance.lifecycle import Phase
from muniment.governance.listing import LISTABLE
from muniment.governance.views import View
from muniment.log.ledger import Ledger
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.projections.search.documents import documents
from muniment.projections.search.index import Index
from muniment.projections.transcript import ReadTurn, Transcript

TOLD = frozenset({EventKind.TURN_LIFECYCLE.value, EventKind.TURN_REDACTED.value})
TURNS_BATCH = 500


class Following:
    """Lets an index of a view follow a log."""

    def __init__(self, ledger: Ledger, transcript: Transcript, view: View, looking: Looking) -> None:
        self._ledger = ledger
        self._transcript = transcript
        self._view = view
        self._looking = looking

    def follow(self, index: Index, reader: Reader, size: int) -> None:
        """Take the events up to a size."""
        commits: defaultdict[int, dict[int, SealedRow]] = defaultdict(dict)
        told: defaultdict[int, list[SealedRow]] = defaultdict(list)
        expected = index.size
        for row in reader.sealed_events(index.size, size - 1):
            if row.position != expected:
                break
            expected += 1
            if row.turn_seq is not None:
                commits[row.stream][row.turn_seq] = row
            elif row.kind in TOLD:
                told[row.stream].append(row)
        if expected != size:
            raise Corrupt(at="events", problem="rows_missing", limit=size, found=expected)
        for stream in sorted(commits.keys() | told.keys()):
            self._take(index, reader, self._transcript.head(reader, stream), commits[stream], told[stream])
        index.size = size

    def _take(
        self, index: Index, reader: Reader, head: StreamHead, commits: dict[int, SealedRow], told: list[SealedRow]
    ) -> None:
        changes = self._transcript.changes(reader, head)
        for sequence, row in commits.items():
            self._put(index, self._transcript.read(row, sequence, changes, self._wanted))
        for read in self._changed(reader, head, commits, told):
            self._put(index, read)

    def _changed(
        self, reader: Reader, head: StreamHead, commits: dict[int, SealedRow], told: list[SealedRow]
    ) -> Iterator[ReadTurn]:
        """Yield the turns that something was said of, without those that were just committed."""
        about: set[int] = set()
        for row in told:
            span = span_of(self._ledger.header(row)[0].refs)
            about.update(range(span.first, (head.turns if span.last is None else span.last) + 1))
        left = sorted(about - commits.keys())
        while left:
            first = left[0]
            batch = [turn for turn in left if turn < first + TURNS_BATCH]
            page = self._transcript.page(reader, head, first, batch[-1], self._wanted)
            yield from (read for read in page if read.record.sequence in about and read.record.sequence not in commits)
            left = left[len(batch) :]

    def _wanted(self, phase: Phase, meta: TurnMeta) -> bool:
        return phase in LISTABLE and needs_content(self._view, phase, meta)

    def _put(self, index: Index, read: ReadTurn) -> None:
        record = read.record
        found = documents(record, self._view, self._looking) if record.phase in LISTABLE else []
        index.put(read.opened.row.stream, record.sequence, found, archived=record.phase is Phase.ARCHIVED)
