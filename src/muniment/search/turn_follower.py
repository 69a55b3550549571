"""Lets an index of the messages that a view shows follow a log."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from muniment.events.records import CONVERSATION, EventKind, TurnMeta
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import needs_content
from muniment.governance.listing import LISTABLE
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.log.port import Reader, StreamHead
from muniment.projections.transcript import ReadTurn, Transcript
from muniment.search.document_table import SearchDocument
from muniment.search.documents import documents
from muniment.search.index import Index
from muniment.search.index_follower import AffectedEntries
from muniment.search.index_status import Indexed, index_name

BATCH = 500


class TurnFollower:
    """An `IndexFollower` of messages. Their documents are linked: those around one are its context."""

    linked = True
    changes = frozenset({EventKind.TURN_LIFECYCLE.value, EventKind.TURN_REDACTED.value})

    def __init__(self, transcript: Transcript, view: View, detection: ViewDetection) -> None:
        self.name = index_name(view, Indexed.MESSAGES)
        self.view = view
        self.detection = detection
        self._transcript = transcript

    def put(self, index: Index, reader: Reader, stream: int, affected: AffectedEntries) -> None:
        """Index the affected turns of a conversation again."""
        head = self._transcript.head(reader, stream)
        if head.type != CONVERSATION.type:
            return
        for read in self._turns(reader, head, affected):
            record = read.record
            shown = documents(record, self.view, self.detection) if record.phase in LISTABLE else []
            index.put(stream, record.sequence, shown, archived=record.phase is Phase.ARCHIVED)

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
