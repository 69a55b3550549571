"""How an index follows the log: every event that changes what a view shows of turns has these turns put in again.

1. Events are taken in the order of their positions, none may be missing, and each is opened, so that its columns are
   proved.
2. What they are about is read as it is in the reader's state of the log, which may know of later events already: these
   will only have it put in again. So an index that followed the log and one that was made anew are the same.
3. A long log is read in parts, each a snapshot of its own, so that an erasure never waits for a reader.
4. Where words were erased, what was taken out is purged before the part ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from muniment.errors import Corrupt
from muniment.events.changes import Custody, Transition, TurnSpan, span_of
from muniment.events.records import EventKind, TurnMeta
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import needs_content
from muniment.governance.listing import LISTABLE
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.projections.transcript import ReadTurn, Transcript
from muniment.search.documents import documents
from muniment.search.index import Index

TOLD = frozenset({EventKind.TURN_LIFECYCLE.value, EventKind.TURN_REDACTED.value})
CUSTODY = frozenset(each.value for each in Custody)  # changes nothing that is shown
TURNS_BATCH = 500


class AffectedTurns:
    """What a stretch of the log is about: turns that were committed, and turns that something was said of."""

    def __init__(self) -> None:
        self.commits: defaultdict[int, dict[int, SealedRow]] = defaultdict(dict)
        self.told: defaultdict[int, list[TurnSpan]] = defaultdict(list)
        self.erases = False

    def take(self, ledger: Ledger, row: SealedRow) -> None:
        """Take an event."""
        if row.turn_seq is not None:
            self.commits[row.stream][row.turn_seq] = row  # opened when it is read
            return
        ledger.keys_of(row)
        if row.kind in TOLD:
            header, _ = ledger.header(row)
            if header.reason not in CUSTODY:
                self.told[row.stream].append(span_of(header.refs))
                self.erases = self.erases or header.reason == Transition.ERASE


class IndexFollower:
    """Lets an index of a view follow a log."""

    def __init__(self, ledger: Ledger, transcript: Transcript, view: View, detection: ViewDetection) -> None:
        self.view = view
        self.detection = detection
        self._ledger = ledger
        self._transcript = transcript

    def follow(self, index: Index, reader: Reader, size: int) -> None:
        """Take the events up to a size."""
        heard, expected = AffectedTurns(), index.size
        for row in reader.sealed_events(index.size, size - 1):
            if row.position != expected:
                break
            expected += 1
            heard.take(self._ledger, row)
        if expected != size:
            raise Corrupt(at="events", problem="rows_missing", limit=size, found=expected)
        for stream in sorted(heard.commits.keys() | heard.told.keys()):
            head = self._transcript.head(reader, stream)
            self._take(index, reader, head, heard.commits.get(stream, {}), heard.told.get(stream, []))
        if heard.erases:
            index.purge()
        index.size = size

    def _take(
        self, index: Index, reader: Reader, head: StreamHead, commits: dict[int, SealedRow], told: list[TurnSpan]
    ) -> None:
        changes = self._transcript.changes(reader, head)
        for sequence, row in commits.items():
            self._put(index, self._transcript.read(row, sequence, changes, self._wanted))
        if told:
            for read in self._changed(reader, head, commits, told):
                self._put(index, read)

    def _changed(
        self, reader: Reader, head: StreamHead, commits: dict[int, SealedRow], told: list[TurnSpan]
    ) -> Iterator[ReadTurn]:
        """Yield the turns that something was said of, without those that were just committed."""
        about: set[int] = set()
        for span in told:
            about.update(range(span.first, (head.turns if span.last is None else span.last) + 1))
        left = sorted(about - commits.keys())
        while left:
            first = left[0]
            batch = [turn for turn in left[:TURNS_BATCH] if turn < first + TURNS_BATCH]
            page = self._transcript.page(reader, head, first, batch[-1], self._wanted)
            wanted = set(batch)
            yield from (read for read in page if read.record.sequence in wanted)
            left = left[len(batch) :]

    def _wanted(self, phase: Phase, meta: TurnMeta) -> bool:
        return phase in LISTABLE and needs_content(self.view, phase, meta)

    def _put(self, index: Index, read: ReadTurn) -> None:
        record = read.record
        found = documents(record, self.view, self.detection) if record.phase in LISTABLE else []
        index.put(read.opened.row.stream, record.sequence, found, archived=record.phase is Phase.ARCHIVED)


def erased(ledger: Ledger, since: int) -> Iterator[tuple[int, int, int]]:
    """Yield each turn of which words were erased from a position on: where that is said, its stream and sequence."""
    with ledger.reader() as reader:
        for row in reader.of_kind(EventKind.TURN_LIFECYCLE, since - 1):
            header, _ = ledger.header(row)
            if header.reason == Transition.ERASE:
                span = span_of(header.refs)
                assert span.last is not None, "what is erased was there"
                yield from ((row.position, row.stream, turn) for turn in range(span.first, span.last + 1))
