"""Writing to a log in SQLite: the transaction that plans run in, one after the other.

A transaction serves a group of plans. What one plan wrote is undone alone when that plan raises: by a savepoint when
another plan of the group wrote before it, else by rolling the transaction back, which then has nothing else in it. A
savepoint is set only when a plan begins to write. The frontier and the heads of streams are remembered from plan to
plan, because nobody else can change them while the transaction lasts.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec.structs import astuple

from muniment.errors import Conflict, MunimentError
from muniment.evidence.tree import Frontier, Node
from muniment.log.faults import PRIVATE, STORE_ERRORS, fault_of
from muniment.log.port import PartRow, SealedRow, StreamHead
from muniment.log.schema import CHUNK_BITS, NODE_LEVEL_BITS
from muniment.log.sqlite_reader import Bindings, SqliteReader
from muniment.log.tail import agrees, follows, longer

ENVELOPE_AT = 9  # its place among what a sealed row holds; all the rest is a row of events

INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_ENVELOPE = "INSERT INTO envelopes VALUES (?, ?)"
INSERT_NODE = "INSERT INTO nodes VALUES (?, ?)"
PUT_BUCKET = "INSERT INTO names VALUES (?, ?) ON CONFLICT (bucket) DO UPDATE SET body = excluded.body"
UPDATE_FRONTIER = "UPDATE frontier SET range = ?, seal = ? WHERE id = 0"
UPDATE_ENVELOPE = "UPDATE envelopes SET sealed = ?2 WHERE position = ?1"
PUT_SEGMENTS = "INSERT INTO segments VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET keys = excluded.keys"
PUT_STREAM_HEAD = """
INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE SET
seq = excluded.seq, turns = excluded.turns, messages = excluded.messages, changes = excluded.changes,
names = excluded.names, leaf = excluded.leaf, tag = excluded.tag, type = excluded.type"""
UPDATE_CONTENT = "UPDATE events SET content = ?2 WHERE position = ?1 AND content IS NOT NULL"
LET_GO_OF_EVENT = "UPDATE parts SET time = 0, position = NULL, field = NULL WHERE position = ?"
LET_GO = "UPDATE parts SET time = 0, position = NULL, field = NULL WHERE part = ?"
BEGIN_PART = "INSERT INTO parts (part, time) VALUES (?, ?)"
GROW_PART = "UPDATE parts SET time = ?2 WHERE part = ?1 AND time > 0"
INSERT_CHUNK = "INSERT INTO chunks VALUES (?, ?)"
ATTACH = "UPDATE parts SET position = ?2, field = ?3 WHERE part = ?1 AND position IS NULL AND time > 0"
LOOSE = "SELECT part FROM parts WHERE position IS NULL AND time < ? ORDER BY time LIMIT 1"
DROP_CHUNKS = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)"
DROP_PART = "DELETE FROM parts WHERE part = ?"
DELETE_ENVELOPE = "DELETE FROM envelopes WHERE position = ?"
PUT_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
TABLES = ("envelopes", "parts", "chunks", "segments", "events", "streams", "nodes", "names", "checkpoints", "meta")
CLEAR = [f"DELETE FROM {table}" for table in TABLES]  # noqa: S608 - names of our own tables
PUT_CHECKPOINT = "INSERT INTO checkpoints VALUES (?, ?) ON CONFLICT (size) DO UPDATE SET note = excluded.note"


class SqliteTransaction(SqliteReader):
    """The write transaction of a group. `spoiled` is the write that did not fit; the present plan is undone for it."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self.spoiled: Conflict | None = None
        self._heads: dict[int, StreamHead | None] = {}
        self._tails: dict[int, StreamHead] = {}  # of the streams whose heads are behind their rows
        self._dirty = False  # plans before this one have written
        self._writing = False
        self._guarded = False

    # --- plan by plan -------------------------------------------------------------------------------------------------

    def settle(self) -> Conflict | None:
        """Return why a plan that ended well has to be undone, if it has to."""
        if self._tails and self.spoiled is None:
            self.spoiled = Conflict(at=f"stream {min(self._tails)}", problem="head_not_put")
        return self.spoiled

    def keep(self) -> None:
        """End a plan that succeeded."""
        if self._guarded:
            self.run("RELEASE plan")
        self._dirty = self._dirty or self._writing
        self._writing = self._guarded = False

    def undo(self) -> None:
        """End a plan that failed, leaving nothing of it. The transaction is over when nothing else is in it."""
        if self._guarded:
            self.run("ROLLBACK TO plan")
            self.run("RELEASE plan")
        elif self._writing:
            self.run("ROLLBACK")
        self._writing = self._guarded = False
        self.spoiled = None
        self._log = None
        self._heads.clear()
        self._tails.clear()

    def _write(self, sql: str, rows: Sequence[Bindings]) -> None:
        assert self._cursor is not None, "a transaction is used while its plan runs"
        if not self._writing:
            self._writing = True
            if self._dirty:
                self.run("SAVEPOINT plan")
                self._guarded = True
        try:
            if len(rows) == 1:  # `executemany` of one row takes as long as two statements
                self._cursor.execute(sql, rows[0])
            else:
                self._cursor.executemany(sql, rows)
        except STORE_ERRORS as error:
            raise self._unwritten(fault_of(error)) from None

    def _unwritten(self, error: MunimentError) -> MunimentError:
        if isinstance(error, PRIVATE):
            self.spoiled = error
        else:
            self.failed = error
        return error

    def _conflict(self, at: str, problem: str) -> MunimentError:
        return self._unwritten(Conflict(at=at, problem=problem))

    # --- the port -----------------------------------------------------------------------------------------------------

    def stream_head(self, stream: int) -> StreamHead | None:
        """Return the head of a stream."""
        if stream not in self._heads:
            self._heads[stream] = super().stream_head(stream)
        return self._heads[stream]

    def append(self, rows: Sequence[SealedRow], nodes: Sequence[Node], frontier: Frontier, seal: bytes) -> None:
        """Append rows with the nodes that they complete, the frontier behind them and the seal of the log."""
        size = self.frontier().size
        if frontier.size != size + len(rows):
            raise self._conflict("frontier", "not_next")
        for position, row in enumerate(rows, size):
            if row.position != position:
                raise self._conflict("position", "not_next")
            tail = self._tails.get(row.stream) or self.stream_head(row.stream)
            if not follows(tail, row):
                raise self._conflict(f"position {position}", "not_next_of_stream")
            self._tails[row.stream] = longer(tail, row)
        self._insert(rows, nodes)
        self._write(UPDATE_FRONTIER, [(frontier.to_bytes(), seal)])
        self._log = frontier, seal

    def put_stream_head(self, head: StreamHead) -> None:
        """Set the head of a stream."""
        tail = self._tails.pop(head.stream, None) or self.stream_head(head.stream)
        if not agrees(head, tail):
            raise self._conflict(f"stream {head.stream}", "head_disagrees")
        self._write(PUT_STREAM_HEAD, [astuple(head)])
        self._heads[head.stream] = head

    def _insert(self, rows: Sequence[SealedRow], nodes: Sequence[Node]) -> None:
        whole = map(astuple, rows)
        self._write(INSERT_EVENT, [columns[:ENVELOPE_AT] + columns[ENVELOPE_AT + 1 :] for columns in whole])
        self._write(INSERT_ENVELOPE, [(row.position, row.envelope) for row in rows if row.envelope is not None])
        if nodes:
            self._write(INSERT_NODE, [(node.level << NODE_LEVEL_BITS | node.index, node.hash) for node in nodes])

    def put_buckets(self, buckets: Sequence[tuple[int, bytes]]) -> None:
        """Put buckets of names in place of those with the same numbers, or beside the others."""
        self._write(PUT_BUCKET, buckets)

    def put_meta(self, name: str, value: bytes) -> None:
        """Set a named value."""
        self._write(PUT_META, [(name, value)])

    def put_envelopes(self, envelopes: Sequence[tuple[int, bytes]]) -> None:
        """Replace envelopes, by the position of their event."""
        before = self._connection.total_changes()
        self._write(UPDATE_ENVELOPE, envelopes)
        replaced = self._connection.total_changes() - before
        if replaced != len(envelopes):
            raise self._conflict("envelopes", "no_envelope")

    def put_segments(self, row: int, sealed: bytes) -> None:
        """Set the sealed segment keys of a row."""
        self._write(PUT_SEGMENTS, [(row, sealed)])

    def put_content(self, position: int, cell: bytes) -> None:
        """Replace the content of an event."""
        self._write(UPDATE_CONTENT, [(position, cell)])
        if self._connection.changes() != 1:
            raise self._conflict(f"position {position}", "no_content")

    def destroy_content(self, position: int) -> bool:
        """Remove the content of an event, and let go of its attachments."""
        self._write(UPDATE_CONTENT, [(position, None)])
        was_there = self._connection.changes() == 1
        self._write(LET_GO_OF_EVENT, [(position,)])
        return was_there

    def begin_part(self, part: int, time_ms: int) -> None:
        """Begin an attachment that belongs to no event yet."""
        self._write(BEGIN_PART, [(part, time_ms)])

    def put_chunks(self, part: int, first: int, sealed: Sequence[bytes], time_ms: int) -> None:
        """Add chunks to an attachment."""
        self._write(GROW_PART, [(part, time_ms)])
        if self._connection.changes() != 1:
            raise self._conflict("part", "not_next")
        start = part << CHUNK_BITS | first
        self._write(INSERT_CHUNK, list(enumerate(sealed, start)))

    def attach(self, row: PartRow) -> bool:
        """Let an attachment belong to an event."""
        self._write(ATTACH, [(row.part, row.position, row.field)])
        return self._connection.changes() == 1

    def let_go(self, parts: Sequence[int]) -> None:
        """Let attachments belong to no event any more."""
        self._write(LET_GO, [(part,) for part in parts])

    def drop_chunks(self, before_ms: int, most: int) -> int:
        """Remove attachments of no event that were begun before a time, but at most so many chunks."""
        dropped = 0
        while dropped < most and (loose := self.run(LOOSE, (before_ms,))):
            part, left = loose[0][0], most - dropped
            start = part << CHUNK_BITS
            self._write(LET_GO, [(part,)])  # nothing may take over what is removed in part
            self._write(DROP_CHUNKS, [(start, start + (1 << CHUNK_BITS) - 1, left)])
            chunks = self._connection.changes()
            if chunks < left:
                self._write(DROP_PART, [(part,)])
            dropped += chunks
        return dropped

    def destroy_envelope(self, position: int) -> bool:
        """Remove the envelope of an event; return whether it was there."""
        self._write(DELETE_ENVELOPE, [(position,)])
        return self._connection.changes() == 1

    def put_checkpoint(self, size: int, note: str) -> None:
        """Keep the checkpoint of a size, in place of an earlier one."""
        if size > self.frontier().size:
            raise self._conflict("checkpoint", "beyond_the_log")
        self._write(PUT_CHECKPOINT, [(size, note)])

    def clear(self) -> None:
        """Remove everything."""
        for statement in CLEAR:
            self._write(statement, [()])
        self._log = Frontier(), b""
        self._write(UPDATE_FRONTIER, [(Frontier().to_bytes(), b"")])
        self._heads.clear()
        self._tails.clear()
