"""The tables of a space: one private database for each view that was asked, caught up with the log before each answer.

A caller that is kept to a subject or channels gets a database of its own for each statement (decision 0191).

1. Events are taken in the order of their positions and none may be missing. Turns that were committed are added; turns
   that changed are removed and added again, as the view shows them in the reader's state of the log.
2. What else may change what is shown (an erasure, an archive, a restored log) makes the database worthless: it is
   closed, and another one is made from the log alone. So a database that followed the log and one that was made from
   it hold the same rows.
3. Memory items are few, and what is shown of one may change with each of its turns. Where anything changed of an item
   or of a turn, all of them are shown again, as they are in the state of the log that the answer speaks of. So they are
   for another subject, who may know of others.
4. A long log is read in parts, each in a snapshot of its own, so that an erasure never waits for a reader.

Nothing is ever on a disk. `release` closes every database; an erasure calls it before it returns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from muniment.errors import Corrupt
from muniment.events.changes import Custody, Transition, TurnSpan, span_of
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import LIFECYCLES, NOTEBOOK, EventKind
from muniment.governance.detection.detection import Detection
from muniment.governance.views import View
from muniment.kernel.locks import new_lock
from muniment.ledger.ledger import SPACE_STREAM, Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.conversation import Conversation, shown_turns
from muniment.projections.evidence_links import Reference
from muniment.projections.transcript import Transcript
from muniment.tables.database import Bounds, PrivateDatabase, Scalar, Selected
from muniment.tables.rows import MemoryRows, link_row, rows_of
from muniment.tables.shown_part import WHOLE, ShownPart, link_of

PART_EVENTS = 2000  # read in one snapshot
SPAN_TURNS = 64  # shown at a time
PROGRESS_STAGE = "tables"

Progress = Callable[[str, int, int], None]

TOUCHES = frozenset({*LIFECYCLES, EventKind.TURN_REDACTED})
CUSTODY = frozenset(Custody)  # changes nothing that is shown
REPLACES = frozenset({EventKind.ARCHIVE_IMPORTED, EventKind.SPACE_RESTORED})


class TouchedTurns(NamedTuple):
    """What a part of the log adds or changes: turns by stream, links, and whether that takes another database."""

    added: defaultdict[int, list[int]]
    changed: defaultdict[int, list[TurnSpan]]
    links: list[Reference]
    is_radical: bool


class ViewTables:
    """The database of one view of a space. Thread-safe."""

    def __init__(
        self,
        ledger: Ledger,
        transcript: Transcript,
        view: View,
        detection: Detection,
        part: ShownPart = WHOLE,
    ) -> None:
        self._ledger = ledger
        self._part = part
        self._transcript = transcript
        self._view = view
        self._detection = detection.view(view)
        self._lock = new_lock()
        self._database: PrivateDatabase | None = None
        self._size = 0
        self._since = 0  # what happened before this position was true when the first row was made
        self._epoch = ""
        self._items_of: MemoryRows | None = None  # those that the database has, as they are in the state it has reached

    def select(
        self,
        statement: str,
        values: Mapping[str, Scalar],
        bounds: Bounds,
        memory: MemoryRows,
        bytes_max: int,
        progress: Progress,
    ) -> tuple[Selected, int]:
        """Return what a statement selects, and the size of the log that it speaks of."""
        with self._lock:
            database = self._caught_up(memory, bytes_max, progress)
            return database.select(statement, values, bounds), self._size

    def release(self) -> None:
        """Close the database, if there is one."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database, self._size, self._items_of = None, 0, None

    def _caught_up(self, memory: MemoryRows, bytes_max: int, progress: Progress) -> PrivateDatabase:
        while True:
            with self._ledger.reader() as reader:
                size, epoch = reader.frontier().size, self._ledger.life(reader)
                if epoch != self._epoch or self._database is None:
                    self._drop()
                    self._database, self._epoch, self._since = PrivateDatabase(bytes_max), epoch, size
                until = min(size, self._size + PART_EVENTS)
                touched = self._touched(reader, until)
                if touched.is_radical:
                    self._drop()
                    continue
                try:
                    with self._database.filling():
                        self._fill(self._database, reader, touched)
                        if until == size and (self._items_of is None or self._items_of.to != memory.to):
                            self._database.remove_items()
                            self._database.add(memory.rows(reader))
                            self._items_of = memory
                except BaseException:
                    self._drop()
                    raise
                self._size = until
                if until == size:
                    return self._database
            progress(PROGRESS_STAGE, self._size, size)

    def _touched(self, reader: Reader, until: int) -> TouchedTurns:
        """Read the events up to a size."""
        touched = TouchedTurns(defaultdict(list), defaultdict(list), [], False)
        expected = self._size
        for row in reader.sealed_events(self._size, until - 1) if until > self._size else ():
            if row.position != expected:
                break
            expected += 1
            if self._take(row, touched):
                return touched._replace(is_radical=True)
        if expected != until:
            raise Corrupt(at="events", problem="rows_missing", limit=until, found=expected)
        return touched

    def _take(self, row: SealedRow, touched: TouchedTurns) -> bool:
        """Note what an event changes; return whether the database is worthless now."""
        if row.turn_seq is not None:
            touched.added[row.stream].append(row.turn_seq)  # opened when it is read
            return False
        self._ledger.unsealed(row)  # proves its columns
        is_new = row.position >= self._since
        if row.kind in REPLACES:
            return is_new
        if row.kind == EventKind.REF_DERIVED:
            link = link_of(self._ledger, row, self._view)
            if link is not None:
                touched.links.append(link)
        elif row.kind in TOUCHES:
            header, _ = self._ledger.header(row)
            if header.reason == Transition.ERASE and is_new:
                return True
            if header.reason not in CUSTODY:
                touched.changed[row.stream].append(span_of(header.about))
        elif row.target_seq is not None and row.stream != SPACE_STREAM:  # what is said of the space shows in no turn
            touched.changed[row.stream].append(TurnSpan(row.target_seq, row.target_seq))
        return False

    def _fill(self, database: PrivateDatabase, reader: Reader, touched: TouchedTurns) -> None:
        for stream in sorted(touched.added.keys() | touched.changed.keys()):
            row = reader.sealed(stream)
            if row is None:
                raise Corrupt(at=f"position {stream}", problem="rows_missing")
            if row.kind == NOTEBOOK.opened or touched.changed[stream]:
                self._items_of = None
            if row.kind != EventKind.CONVERSATION_OPENED or not self._transcript.is_current(reader, row):
                continue
            names = self._transcript.names(row)
            key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
            if not self._part.conversation(key):
                continue
            conversation = Conversation(self._transcript, reader, key, stream)
            sequences = set(touched.added[stream])
            for span in touched.changed[stream]:
                last = conversation.head.turns if span.last is None else span.last
                database.remove(key.channel, key.conversation, span.first, last)
                sequences.update(range(span.first, last + 1))
            self._show(database, conversation, sorted(sequences))
        database.add(map(link_row, self._part.links(self._transcript, reader, touched.links)))

    def _show(self, database: PrivateDatabase, conversation: Conversation, sequences: Sequence[int]) -> None:
        for first, last in _spans(sequences):
            database.remove(conversation.key.channel, conversation.key.conversation, first, last)
            turns, items = shown_turns(conversation, [(first, last)], self._view, self._detection)
            withheld = defaultdict(list)
            for item in items:
                withheld[item.turn].append(item)
            shown = self._part.turns(turns)
            database.add(row for turn in shown for row in rows_of(conversation.key, turn, withheld[turn.turn]))


class SpaceTables:
    """The tables of one space, by view. Thread-safe."""

    def __init__(self, ledger: Ledger, transcript: Transcript, detection: Detection) -> None:
        self._made = partial(ViewTables, ledger, transcript, detection=detection)
        self._of_views: dict[View, ViewTables] = {}  # of those that somebody asked
        self._apart: list[ViewTables] = []  # each for one statement of a caller that is kept to a part
        self._lock = new_lock()

    def of(self, view: View) -> ViewTables:
        """Return the tables of a view."""
        with self._lock:
            if view not in self._of_views:
                self._of_views[view] = self._made(view=view)
            return self._of_views[view]

    @contextmanager
    def shown(self, view: View, part: ShownPart) -> Iterator[ViewTables]:
        """Give the tables of a view; of a part of the space tables of their own, which are closed after use."""
        if part.is_whole:
            yield self.of(view)
            return
        tables = self._made(view=view, part=part)
        with self._lock:
            self._apart.append(tables)
        try:
            yield tables
        finally:
            tables.release()
            with self._lock:
                self._apart.remove(tables)

    def release(self) -> None:
        """Close every database."""
        with self._lock:
            every = [*self._of_views.values(), *self._apart]
        for tables in every:
            tables.release()


def _spans(sequences: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield runs of sequences without a gap, none longer than `SPAN_TURNS`."""
    first = last = 0
    for sequence in sequences:
        if last and sequence == last + 1 and sequence - first < SPAN_TURNS:
            last = sequence
            continue
        if last:
            yield first, last
        first = last = sequence
    if last:
        yield first, last
