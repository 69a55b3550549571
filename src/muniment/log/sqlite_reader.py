"""Reading a log in SQLite: one statement for each question, each answered from an index.

Rows are turned into structs by `msgspec.convert`, which checks the type of every column: a row of the wrong shape was
edited at rest and is `Corrupt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import apsw
import msgspec

from muniment.errors import Corrupt, MunimentError, StoreClosed
from muniment.evidence.tree import LEVEL_STEP, Frontier
from muniment.log.faults import STORE_ERRORS, fault_of
from muniment.log.port import (
    BATCH_EVENTS_MAX,
    BATCH_SEALED_MAX,
    CheckpointRow,
    EnvelopeRow,
    EventRow,
    PartRow,
    SealedRow,
    SegmentsRow,
    StreamHead,
)
from muniment.log.schema import CHUNK_BITS, NODE_LEVEL_BITS

T = TypeVar("T")
BEFORE_ALL = -(2**63)  # numbers below zero are edits: they are shown, not skipped
Bindings = tuple[int | str | bytes | None, ...]

FRONTIER = "SELECT range, seal FROM frontier"
STREAM_HEAD = "SELECT stream, seq, turns, messages, changes, names, leaf, tag, type FROM streams WHERE stream = ?"
STREAM_HEADS = """
SELECT stream, seq, turns, messages, changes, names, leaf, tag, type
FROM streams WHERE stream > ? ORDER BY stream LIMIT ?"""
BUCKET = "SELECT body FROM names WHERE bucket = ?"
BUCKETS = "SELECT bucket, body FROM names WHERE bucket > ? ORDER BY bucket LIMIT ?"
EVENTS = """
SELECT position, stream, seq, kind, turn_seq, target_seq, time, leaf, header
FROM events WHERE position BETWEEN ? AND ? ORDER BY position"""
SEALED = "SELECT * FROM sealed WHERE position BETWEEN ? AND ? ORDER BY position"
OTHERS = "SELECT * FROM sealed WHERE stream = ? AND turn_seq IS NULL AND seq BETWEEN ? AND ? ORDER BY seq"
OTHERS_BEFORE = "SELECT count(*) FROM events WHERE stream = ? AND turn_seq IS NULL AND seq < ?"
TURNS = "SELECT * FROM sealed WHERE stream = ? AND turn_seq BETWEEN ? AND ? ORDER BY turn_seq"
CHANGES = """
SELECT * FROM sealed WHERE stream = ? AND turn_seq IS NULL AND seq > ? AND target_seq IS NOT NULL
ORDER BY seq LIMIT ?"""
OF_KIND = "SELECT * FROM sealed WHERE kind = ? AND turn_seq IS NULL AND position > ? ORDER BY position LIMIT ?"
ENVELOPES = """
SELECT e.position, e.stream, e.seq, e.kind, e.turn_seq, e.target_seq, e.time, e.leaf, e.header, k.sealed AS envelope
FROM envelopes AS k JOIN events AS e ON e.position = k.position WHERE k.position BETWEEN ? AND ? ORDER BY k.position"""
PARTS = "SELECT part, position, field FROM parts WHERE position BETWEEN ? AND ? ORDER BY position, field"
LOOSE_PARTS = "SELECT 1 FROM parts WHERE position IS NULL AND time < ? LIMIT 1"
CHUNKS = "SELECT sealed FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id"
SEGMENTS = "SELECT keys FROM segments WHERE id = ?"
SEGMENT_ROWS = "SELECT id, keys FROM segments ORDER BY id"
LEAVES = "SELECT leaf FROM events WHERE position BETWEEN ? AND ? ORDER BY position"
NODES = "SELECT hash FROM nodes WHERE id BETWEEN ? AND ? ORDER BY id"
META = "SELECT value FROM meta WHERE name = ?"
CHECKPOINT = "SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1"
CHECKPOINTS = "SELECT size, note FROM checkpoints ORDER BY size"
COUNT = "SELECT count(*) FROM events"
ORPHANS = """
SELECT count(*) FROM envelopes AS k LEFT JOIN events AS e ON e.position = k.position WHERE e.position IS NULL"""
POSITION_MAX = 2**63 - 1  # of an integer in SQLite
SIZE_BYTES = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

# msgspec learns a type when it meets it first, and two threads that both learn would crash: these are learned here.
for _met in (EventRow, EnvelopeRow, SealedRow, PartRow, SegmentsRow, StreamHead, CheckpointRow):
    msgspec.convert([], list[_met])  # type: ignore[valid-type]  # the types of a loop


def batches(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range, each of at most `size`."""
    for start in range(first, last + 1, size):
        yield start, min(start + size - 1, last)


class SqliteReader:
    """A snapshot: the read transaction that its connection is in. `failed` is what the disk refused, if anything."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor: apsw.Cursor | None = connection.cursor()
        self._log: tuple[Frontier, bytes] | None = None
        self.failed: MunimentError | None = None

    def close(self) -> None:
        """End the use of the connection; whatever still reads from this snapshot gets `StoreClosed`."""
        self._cursor = self._log = None

    def run(self, sql: str, bindings: Bindings = ()) -> list[Any]:
        """Return the rows of a statement."""
        if self._cursor is None:
            raise StoreClosed(at="snapshot")
        try:
            return self._cursor.execute(sql, bindings).fetchall()
        except STORE_ERRORS as error:
            raise self.fault(error) from None

    def fault(self, error: Exception) -> MunimentError:
        """Return our error for one of SQLite's, and remember it."""
        self.failed = fault_of(error)
        return self.failed

    def _rows(self, rows_type: type[T], sql: str, bindings: Bindings = ()) -> T:
        if self._cursor is None:
            raise StoreClosed(at="snapshot")
        try:
            return msgspec.convert(self._cursor.execute(sql, bindings).fetchall(), rows_type)
        except (*STORE_ERRORS, msgspec.ValidationError) as error:
            raise self.fault(error) from None

    def _one(self, row_type: type[T], sql: str, bindings: Bindings = ()) -> T | None:
        """Return the first row, if there is one; by itself it is converted in an eighth of the time of a list."""
        rows = self.run(sql, bindings)
        try:
            return msgspec.convert(rows[0], row_type) if rows else None
        except msgspec.ValidationError as error:
            raise self.fault(error) from None

    def _blob(self, sql: str, bindings: Bindings = ()) -> bytes | None:
        rows = self.run(sql, bindings)
        if not rows:
            return None
        [body] = rows[0]
        if type(body) is not bytes:
            raise self.fault(msgspec.ValidationError())
        return body

    def _number(self, sql: str, bindings: Bindings = ()) -> int:
        [[number]] = self._rows(list[tuple[int]], sql, bindings)
        return number

    # --- the port -----------------------------------------------------------------------------------------------------

    def frontier(self) -> Frontier:
        """Return the compact range of the tree."""
        return (self._log or self._read_log())[0]

    def log_seal(self) -> bytes:
        """Return the seal of the log."""
        return (self._log or self._read_log())[1]

    def _read_log(self) -> tuple[Frontier, bytes]:
        stored = self._one(tuple[bytes, bytes], FRONTIER)
        if stored is None:
            raise Corrupt(at="frontier", problem="missing")
        self._log = Frontier.from_bytes(stored[0]), stored[1]
        return self._log

    def stream_head(self, stream: int) -> StreamHead | None:
        """Return the head of a stream."""
        return self._one(StreamHead, STREAM_HEAD, (stream,))

    def stream_heads(self) -> Iterator[StreamHead]:
        """Yield all heads, by stream."""
        after = BEFORE_ALL
        while rows := self._rows(list[StreamHead], STREAM_HEADS, (after, BATCH_EVENTS_MAX)):
            yield from rows
            after = rows[-1].stream

    def bucket(self, number: int) -> bytes | None:
        """Return a bucket of names."""
        return self._blob(BUCKET, (number,))

    def buckets(self) -> Iterator[tuple[int, bytes]]:
        """Yield the buckets of names, in the order of their numbers."""
        after = BEFORE_ALL
        while rows := self._rows(list[tuple[int, bytes]], BUCKETS, (after, BATCH_EVENTS_MAX)):
            yield from rows
            after = rows[-1][0]

    def sealed(self, position: int) -> SealedRow | None:
        """Return the event at a position."""
        if not 0 <= position <= POSITION_MAX:  # a caller may name any number
            return None
        return self._one(SealedRow, SEALED, (position, position))

    def events(self, first: int, last: int) -> Iterator[EventRow]:
        """Yield the events of a range of positions."""
        spans = batches(first, min(last, self.frontier().size - 1), BATCH_EVENTS_MAX)
        return chain.from_iterable(self._rows(list[EventRow], EVENTS, span) for span in spans)

    def sealed_events(self, first: int, last: int) -> Iterator[SealedRow]:
        """Yield the events of a range of positions with what is sealed."""
        spans = batches(first, min(last, self.frontier().size - 1), BATCH_SEALED_MAX)
        return chain.from_iterable(self._rows(list[SealedRow], SEALED, span) for span in spans)

    def in_stream(self, stream: int, first_seq: int, last_seq: int) -> Iterator[SealedRow]:
        """Yield the events of a stream in a range of seq."""
        head = self.stream_head(stream)
        first, last = max(first_seq, 1), min(last_seq, head.seq if head else 0)
        before = self._number(OTHERS_BEFORE, (stream, first)) if first <= last else 0
        for start, end in batches(first, last, BATCH_SEALED_MAX):
            others = self._rows(list[SealedRow], OTHERS, (stream, start, end))
            turns = [row for row in self.turns(stream, start - before, end - before) if start <= row.seq <= end]
            yield from sorted(others + turns, key=attrgetter("seq"))
            before += len(others)

    def turns(self, stream: int, first: int, last: int) -> list[SealedRow]:
        """Return the turns of a stream in a range of turn_seq."""
        return self._rows(list[SealedRow], TURNS, (stream, first, last))

    def changes(self, stream: int, after_seq: int) -> Iterator[SealedRow]:
        """Yield the events of a stream that target a turn or all of them."""
        rows = None
        while rows is None or len(rows) == BATCH_SEALED_MAX:
            rows = self._rows(list[SealedRow], CHANGES, (stream, after_seq, BATCH_SEALED_MAX))
            yield from rows
            after_seq = rows[-1].seq if rows else after_seq

    def of_kind(self, kind: str, after: int = -1) -> Iterator[SealedRow]:
        """Yield events of a kind that is not a turn."""
        rows = None
        while rows is None or len(rows) == BATCH_SEALED_MAX:
            rows = self._rows(list[SealedRow], OF_KIND, (kind, after, BATCH_SEALED_MAX))
            yield from rows
            after = rows[-1].position if rows else after

    def envelopes(self, first: int, last: int) -> list[EnvelopeRow]:
        """Return the events of a range of positions that have an envelope."""
        return self._rows(list[EnvelopeRow], ENVELOPES, (first, last))

    def segments(self, row: int) -> bytes | None:
        """Return the sealed segment keys of a row."""
        return self._blob(SEGMENTS, (row,))

    def segment_rows(self) -> list[SegmentsRow]:
        """Return all rows of segment keys."""
        return self._rows(list[SegmentsRow], SEGMENT_ROWS)

    def parts(self, first: int, last: int) -> list[PartRow]:
        """Return the attachments of the events of a range of positions."""
        return self._rows(list[PartRow], PARTS, (first, last))

    def chunks(self, part: int, first: int, count: int) -> list[bytes]:
        """Return chunks of an attachment."""
        start = part << CHUNK_BITS | first
        return [row[0] for row in self._rows(list[tuple[bytes]], CHUNKS, (start, start + count - 1))]

    def has_loose_parts(self, before_ms: int) -> bool:
        """Tell whether there are attachments of no event that were begun before a time."""
        return bool(self.run(LOOSE_PARTS, (before_ms,)))

    def hashes(self, level: int, first: int, count: int) -> list[bytes]:
        """Return hashes of a stored level."""
        assert level % LEVEL_STEP == 0, "only every fourth level is stored"
        start = level << NODE_LEVEL_BITS | first  # level 0: the position
        rows = self._rows(list[tuple[bytes]], NODES if level else LEAVES, (start, start + count - 1))
        return [row[0] for row in rows]

    def meta(self, name: str) -> bytes | None:
        """Return a named value."""
        return self._blob(META, (name,))

    def latest_checkpoint(self) -> CheckpointRow | None:
        """Return the checkpoint of the largest size."""
        return self._one(CheckpointRow, CHECKPOINT)

    def checkpoints(self) -> list[CheckpointRow]:
        """Return all checkpoints, smallest size first."""
        return self._rows(list[CheckpointRow], CHECKPOINTS)

    def count(self) -> int:
        """Return how many event rows there are."""
        return self._number(COUNT)

    def orphans(self) -> int:
        """Return how many envelopes belong to no event."""
        return self._number(ORPHANS)

    def size_bytes(self) -> int:
        """Return the disk space that the database takes."""
        return self._number(SIZE_BYTES)
