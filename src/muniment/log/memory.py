"""The store in memory: the same port over plain lists and dicts. For `memory:` stores, demonstrations and tests.

Nothing is durable and nothing is scrubbed, apart from that all behaves as in a file. A plan works on the state itself
and notes how to undo each step. A snapshot holds the state it was taken of; while anybody holds one, the next plan
works on a copy. One lock makes plans and the taking of snapshots wait for each other.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from muniment.errors import Conflict, StoreClosed
from muniment.evidence.tree import LEVEL_STEP, Frontier, Node
from muniment.kernel.locks import new_lock
from muniment.kernel.one_process import OneProcess
from muniment.log.port import (
    BATCH_EVENTS_MAX,
    CheckpointRow,
    EnvelopeRow,
    EventRow,
    PartRow,
    Reader,
    ScrubReport,
    SealedRow,
    SegmentsRow,
    StreamHead,
    Transaction,
)
from muniment.log.tail import agrees, follows, longer

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

TABLES = ("segments", "parts", "chunks", "checkpoints", "meta")


class _State:
    """All that the store holds. Lists of positions are ascending; those by stream are dense from seq or turn_seq 1."""

    def __init__(self) -> None:
        self.frontier = Frontier()
        self.seal = b""
        self.rows: list[EventRow] = []
        self.contents: dict[int, bytes] = {}
        self.envelopes: dict[int, bytes] = {}
        self.segments: dict[int, bytes] = {}
        self.parts: dict[int, PartRow | int] = {}  # the event it belongs to, or since when it belongs to none
        self.chunks: dict[tuple[int, int], bytes] = {}
        self.streams: dict[int, list[int]] = {}
        self.turns: dict[int, list[int]] = {}
        self.changes: dict[int, list[int]] = {}
        self.heads: dict[int, StreamHead] = {}
        self.kinds: dict[str, list[int]] = {}
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.buckets: dict[int, bytes] = {}
        self.checkpoints: dict[int, str] = {}
        self.meta: dict[str, bytes] = {}

    def copy(self) -> _State:
        """Return a state that can be changed without this one noticing."""
        other = _State()
        other.frontier, other.seal = self.frontier, self.seal
        other.rows = self.rows.copy()
        for name in ("streams", "turns", "changes", "kinds"):
            lists: dict[object, list[int]] = getattr(self, name)
            setattr(other, name, {key: positions.copy() for key, positions in lists.items()})
        for name in (*TABLES, "heads", "contents", "envelopes", "nodes", "buckets"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def become(self, other: _State) -> None:
        """Hold what another state holds: the same tables, not copies."""
        self.__dict__.update(other.__dict__)


class MemoryReader:
    """A snapshot of a state."""

    def __init__(self, state: _State) -> None:
        self._held: _State | None = state

    def close(self) -> None:
        """End the use of the state; whatever still reads from this snapshot gets `StoreClosed`."""
        self._held = None

    @property
    def _state(self) -> _State:
        if self._held is None:
            raise StoreClosed(at="snapshot")
        return self._held

    def _sealed(self, position: int) -> SealedRow:
        state = self._state
        values = msgspec.structs.asdict(state.rows[position])
        envelope, content = state.envelopes.get(position), state.contents.get(position)
        return SealedRow(**values, envelope=envelope, content=content)

    def _sealed_rows(self, positions: Sequence[int]) -> list[SealedRow]:
        return [self._sealed(position) for position in positions]

    def frontier(self) -> Frontier:
        """Return the compact range of the tree."""
        return self._state.frontier

    def log_seal(self) -> bytes:
        """Return the seal of the log."""
        return self._state.seal

    def stream_head(self, stream: int) -> StreamHead | None:
        """Return the head of a stream."""
        return self._state.heads.get(stream)

    def stream_heads(self) -> Iterator[StreamHead]:
        """Yield all heads, by stream."""
        yield from (self._state.heads[stream] for stream in sorted(self._state.heads))

    def bucket(self, number: int) -> bytes | None:
        """Return a bucket of names."""
        return self._state.buckets.get(number)

    def buckets(self) -> Iterator[tuple[int, bytes]]:
        """Yield the buckets of names, in the order of their numbers."""
        yield from sorted(self._state.buckets.items())

    def sealed(self, position: int) -> SealedRow | None:
        """Return the event at a position."""
        return self._sealed(position) if 0 <= position < len(self._state.rows) else None

    def events(self, first: int, last: int) -> Iterator[EventRow]:
        """Yield the events of a range of positions."""
        size = self.frontier().size
        return (self._state.rows[position] for position in range(max(first, 0), min(last + 1, size)))

    def sealed_events(self, first: int, last: int) -> Iterator[SealedRow]:
        """Yield the events of a range of positions with what is sealed."""
        size = self.frontier().size
        return (self._sealed(position) for position in range(max(first, 0), min(last + 1, size)))

    def in_stream(self, stream: int, first_seq: int, last_seq: int) -> Iterator[SealedRow]:
        """Yield the events of a stream in a range of seq."""
        positions = self._state.streams.get(stream, [])[max(first_seq - 1, 0) : max(last_seq, 0)]
        return (self._sealed(position) for position in positions)

    def turns(self, stream: int, first: int, last: int) -> list[SealedRow]:
        """Return the turns of a stream in a range of turn_seq."""
        return self._sealed_rows(self._state.turns.get(stream, [])[max(first - 1, 0) : max(last, 0)])

    def changes(self, stream: int, after_seq: int) -> Iterator[SealedRow]:
        """Yield the events of a stream that target a turn or all of them."""
        state = self._state
        start = bisect_right(state.changes.get(stream, []), after_seq, key=lambda position: state.rows[position].seq)
        return iter(self._sealed_rows(state.changes.get(stream, [])[start:]))

    def of_kind(self, kind: str, after: int = -1) -> Iterator[SealedRow]:
        """Yield events of a kind that is not a turn."""
        positions = self._state.kinds.get(kind, [])
        return iter(self._sealed_rows(positions[bisect_right(positions, after) :]))

    def envelopes(self, first: int, last: int) -> list[EnvelopeRow]:
        """Return the events of a range of positions that have an envelope."""
        here = range(max(first, 0), min(last + 1, self.frontier().size))
        positions = [position for position in here if position in self._state.envelopes]
        rows = ((self._state.rows[position], self._state.envelopes[position]) for position in positions)
        return [EnvelopeRow(**msgspec.structs.asdict(row), envelope=envelope) for row, envelope in rows]

    def segments(self, row: int) -> bytes | None:
        """Return the sealed segment keys of a row."""
        return self._state.segments.get(row)

    def parts(self, first: int, last: int) -> list[PartRow]:
        """Return the attachments of the events of a range of positions."""
        rows = [row for row in self._state.parts.values() if isinstance(row, PartRow) and first <= row.position <= last]
        return sorted(rows, key=lambda row: (row.position, row.field))

    def chunks(self, part: int, first: int, count: int) -> list[bytes]:
        """Return chunks of an attachment."""
        chunks = (self._state.chunks.get((part, number)) for number in range(first, first + count))
        return [chunk for chunk in chunks if chunk is not None]

    def has_loose_parts(self, before_ms: int) -> bool:
        """Tell whether there are attachments of no event that were begun before a time."""
        return any(isinstance(row, int) and row < before_ms for row in self._state.parts.values())

    def segment_rows(self) -> list[SegmentsRow]:
        """Return all rows of segment keys."""
        return [SegmentsRow(row=row, sealed=sealed) for row, sealed in sorted(self._state.segments.items())]

    def hashes(self, level: int, first: int, count: int) -> list[bytes]:
        """Return hashes of a stored level."""
        assert level % LEVEL_STEP == 0, "only every fourth level is stored"
        if level == 0:
            return [row.leaf for row in self._state.rows[first : first + count]]
        nodes = (self._state.nodes.get((level, index)) for index in range(first, first + count))
        return [node for node in nodes if node is not None]

    def meta(self, name: str) -> bytes | None:
        """Return a named value."""
        return self._state.meta.get(name)

    def latest_checkpoint(self) -> CheckpointRow | None:
        """Return the checkpoint of the largest size."""
        rows = self.checkpoints()
        return rows[-1] if rows else None

    def checkpoints(self) -> list[CheckpointRow]:
        """Return all checkpoints, smallest size first."""
        return [CheckpointRow(size=size, note=note) for size, note in sorted(self._state.checkpoints.items())]

    def count(self) -> int:
        """Return how many event rows there are."""
        return len(self._state.rows)

    def orphans(self) -> int:
        """Return 0: envelopes are only ever put beside an event."""
        return 0

    def size_bytes(self) -> int:
        """Return the memory that headers, contents and envelopes take."""
        state = self._state
        blobs = [*(row.header for row in state.rows), *state.contents.values(), *state.envelopes.values()]
        return sum(map(len, blobs))


class MemoryTransaction(MemoryReader):
    """A plan's view of the state. `spoiled` is the write that did not fit; the plan is undone for it."""

    def __init__(self, state: _State) -> None:
        super().__init__(state)
        self.spoiled: Conflict | None = None
        self._tails: dict[int, StreamHead] = {}  # of the streams whose heads are behind their rows
        self._undoing: list[Callable[[], object]] = []

    def settle(self) -> Conflict | None:
        """Return why a plan that ended well has to be undone, if it has to."""
        if self._tails and self.spoiled is None:
            self.spoiled = Conflict(at=f"stream {min(self._tails)}", problem="head_not_put")
        return self.spoiled

    def undo(self) -> None:
        """Take everything back, newest first."""
        while self._undoing:
            self._undoing.pop()()

    def _demand(self, fits: bool, at: str, problem: str) -> None:
        if not fits:
            self.spoiled = Conflict(at=at, problem=problem)
            raise self.spoiled

    def _set(self, table: dict[K, V], key: K, value: V) -> None:
        """Put a value into a table."""
        if key in table:
            old = table[key]
            self._undoing.append(lambda: table.__setitem__(key, old))
        else:
            self._undoing.append(lambda: table.pop(key))
        table[key] = value

    def _add(self, items: list[T], item: T) -> None:
        self._undoing.append(items.pop)
        items.append(item)

    def append(self, rows: Sequence[SealedRow], nodes: Sequence[Node], frontier: Frontier, seal: bytes) -> None:
        """Append rows with the nodes that they complete, the frontier behind them and the seal of the log."""
        state, before, sealed = self._state, self.frontier(), self.log_seal()
        self._demand(frontier.size == before.size + len(rows), "frontier", "not_next")
        for position, row in enumerate(rows, before.size):
            self._demand(row.position == position, "position", "not_next")
            tail = self._tails.get(row.stream) or self.stream_head(row.stream)
            self._demand(follows(tail, row), f"position {position}", "not_next_of_stream")
            self._tails[row.stream] = longer(tail, row)
            self._append(row)
        for node in nodes:
            self._demand((node.level, node.index) not in state.nodes, "node", "not_next")
            self._set(state.nodes, (node.level, node.index), node.hash)
        self._undoing.append(lambda: setattr(state, "frontier", before))
        self._undoing.append(lambda: setattr(state, "seal", sealed))
        state.frontier, state.seal = frontier, seal

    def put_stream_head(self, head: StreamHead) -> None:
        """Set the head of a stream."""
        tail = self._tails.pop(head.stream, None) or self.stream_head(head.stream)
        self._demand(agrees(head, tail), f"stream {head.stream}", "head_disagrees")
        self._set(self._state.heads, head.stream, head)

    def _append(self, row: SealedRow) -> None:
        state, position = self._state, row.position
        event = {name: getattr(row, name) for name in EventRow.__struct_fields__}
        self._add(state.rows, EventRow(**event))
        self._add(state.streams.setdefault(row.stream, []), position)
        if row.turn_seq is None:
            self._add(state.kinds.setdefault(row.kind, []), position)
        else:
            self._add(state.turns.setdefault(row.stream, []), position)
        if row.target_seq is not None:
            self._add(state.changes.setdefault(row.stream, []), position)
        if row.content is not None:
            self._set(state.contents, position, row.content)
        if row.envelope is not None:
            self._set(state.envelopes, position, row.envelope)

    def put_buckets(self, buckets: Sequence[tuple[int, bytes]]) -> None:
        """Put buckets of names in place of those with the same numbers, or beside the others."""
        for number, body in buckets:
            self._set(self._state.buckets, number, body)

    def put_meta(self, name: str, value: bytes) -> None:
        """Set a named value."""
        self._set(self._state.meta, name, value)

    def put_envelopes(self, envelopes: Sequence[tuple[int, bytes]]) -> None:
        """Replace envelopes, by the position of their event."""
        for position, envelope in envelopes:
            self._demand(position in self._state.envelopes, f"position {position}", "no_envelope")
            self._set(self._state.envelopes, position, envelope)

    def put_segments(self, row: int, sealed: bytes) -> None:
        """Set the sealed segment keys of a row."""
        self._set(self._state.segments, row, sealed)

    def put_content(self, position: int, cell: bytes) -> None:
        """Replace the content of an event."""
        self._demand(position in self._state.contents, f"position {position}", "no_content")
        self._set(self._state.contents, position, cell)

    def destroy_content(self, position: int) -> bool:
        """Remove the content of an event, and let go of its attachments."""
        self.let_go([row.part for row in self.parts(position, position)])
        return self._remove(self._state.contents, position)

    def begin_part(self, part: int, time_ms: int) -> None:
        """Begin an attachment that belongs to no event yet."""
        self._demand(part not in self._state.parts, "part", "not_next")
        self._set(self._state.parts, part, time_ms)

    def put_chunks(self, part: int, first: int, sealed: Sequence[bytes], time_ms: int) -> None:
        """Add chunks to an attachment."""
        known = self._state.parts.get(part, 0)
        self._demand(known != 0, "part", "not_next")
        if isinstance(known, int):
            self._set(self._state.parts, part, time_ms)
        for number, chunk in enumerate(sealed, first):
            self._demand((part, number) not in self._state.chunks, "chunk", "not_next")
            self._set(self._state.chunks, (part, number), chunk)

    def attach(self, row: PartRow) -> bool:
        """Let an attachment belong to an event."""
        if not (isinstance(known := self._state.parts.get(row.part), int) and known > 0):
            return False
        self._set(self._state.parts, row.part, row)
        return True

    def let_go(self, parts: Sequence[int]) -> None:
        """Let attachments belong to no event any more."""
        for part in parts:
            if part in self._state.parts:
                self._set(self._state.parts, part, 0)

    def drop_chunks(self, before_ms: int, most: int) -> int:
        """Remove attachments of no event that were begun before a time, but at most so many chunks."""
        parts, dropped = self._state.parts, 0
        loose = {part: row for part, row in parts.items() if isinstance(row, int) and row < before_ms}
        for part in sorted(loose, key=lambda part: (loose[part], part)):
            self._set(parts, part, 0)  # nothing may take over what is removed in part
            numbers = sorted(number for of, number in self._state.chunks if of == part)
            for number in numbers[: most - dropped]:
                dropped += self._remove(self._state.chunks, (part, number))
            if dropped == most:
                break
            self._remove(parts, part)
        return dropped

    def _remove(self, table: dict[K, V], key: K) -> bool:
        if key not in table:
            return False
        value = table.pop(key)
        self._undoing.append(lambda: table.__setitem__(key, value))
        return True

    def destroy_envelope(self, position: int) -> bool:
        """Remove the envelope of an event; return whether it was there."""
        return self._remove(self._state.envelopes, position)

    def put_checkpoint(self, size: int, note: str) -> None:
        """Keep the checkpoint of a size, in place of an earlier one."""
        self._demand(size <= self.frontier().size, "checkpoint", "beyond_the_log")
        self._set(self._state.checkpoints, size, note)

    def clear(self) -> None:
        """Remove everything."""
        state, before = self._state, _State()
        before.become(state)
        self._undoing.append(lambda: state.become(before))
        state.become(_State())
        self._tails.clear()


class MemoryStore(OneProcess):
    """A log that lives as long as this object."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = new_lock()
        self._state = _State()
        self._snapshots = 0  # of the present state
        self._closed = False

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        """Run a plan; return its result, or raise its error with everything undone."""
        self.require_own_process()
        with self._lock:
            self._open()
            if self._snapshots:
                self._state, self._snapshots = self._state.copy(), 0
            transaction = MemoryTransaction(self._state)
            done = False
            try:
                result = plan(transaction)
                done = transaction.settle() is None
            finally:
                if not done:
                    transaction.undo()
                transaction.close()
            if transaction.spoiled is not None:
                raise transaction.spoiled
            return result

    @contextlib.contextmanager
    def reader(self) -> Iterator[Reader]:
        """Return a snapshot of the present state, for one thread."""
        self.require_own_process()
        with self._lock:
            self._open()
            state = self._state
            self._snapshots += 1
        reader = MemoryReader(state)
        try:
            yield reader
        finally:
            reader.close()
            with self._lock:
                if state is self._state:
                    self._snapshots -= 1

    def subscribe(self, after: int) -> Iterator[Sequence[EventRow]]:
        """Yield batches of the events behind a position, until the head is reached."""
        while True:
            with self.reader() as reader:
                batch = list(reader.events(after + 1, after + BATCH_EVENTS_MAX))
            if not batch:
                return
            yield batch
            after = batch[-1].position

    def scrub(self) -> ScrubReport:
        """Report that nothing is at rest."""
        self.require_own_process()
        self._open()
        return ScrubReport(flushed=(), wal_bytes=0)

    def keep_reserve(self) -> None:
        """Keep nothing: there is no disk."""

    def release_reserve(self) -> bool:
        """Return that nothing was kept."""
        return False

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._state = _State()

    def _open(self) -> None:
        if self._closed:
            raise StoreClosed
