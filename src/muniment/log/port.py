"""What a store is: the append-only port on two pages.

- A store keeps rows: events in the order of their positions (dense from 0), the sealed content and the envelope of
  each, the sealed chunks of attachments, rows of sealed segment keys, the heads of the streams, the nodes and the
  frontier of the tree, buckets of names, checkpoints and a few named values. It never sees a key.
- All writing happens in *plans*: functions that the store runs inside one write transaction. A plan reads the present
  state and writes what follows from it, so that no decision is ever stale. Plans that arrive together share a
  transaction and its fsync; a plan that raises is undone alone. A plan is quick, does not block, uses nothing of the
  store but the transaction that it is given, and may be run in another thread than the one that waits for it.
- All reading happens in a *reader*: one consistent snapshot, used by one thread, closed soon. A transaction is a
  reader too.
- Ranges include both ends. Rows come in the order of their position unless the method says otherwise. What is not
  there is left out: a store does not judge whether something is missing, the proofs above it do.

Methods that read or write raise the `store.*` errors of `muniment.errors`; a write that does not fit what is there
raises `Conflict`, and the plan that asked for it is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from msgspec import Struct

from muniment.evidence.tree import Frontier, Hashes, Node

T = TypeVar("T")

WHOLE_CONVERSATION = 0  # the target_seq of an event that targets every turn so far
BATCH_EVENTS_MAX = 500  # rows in memory at a time while a range is read
BATCH_SEALED_MAX = 64  # the same for rows with content, which may be large


class EventRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """An event as it is ordered and found: the columns in clear and its header at rest.

    `seq` is the place in the stream, `turn_seq` the place of a turn among the turns of the stream (both dense from 1).
    `target_seq` is the turn that a later event speaks of, or `WHOLE_CONVERSATION`. `time` is UTC milliseconds.
    """

    position: int
    stream: int
    seq: int
    kind: str
    turn_seq: int | None
    target_seq: int | None
    time: int
    leaf: bytes
    header: bytes


class EnvelopeRow(EventRow, frozen=True, kw_only=True, array_like=True, gc=False):
    """An event with its envelope, without its content."""

    envelope: bytes | None


class SealedRow(EnvelopeRow, frozen=True, kw_only=True, array_like=True, gc=False):
    """An event with all that is sealed of it; its content is None when there was none or when it was destroyed."""

    content: bytes | None


class SegmentsRow(Struct, frozen=True, kw_only=True, array_like=True):
    """The sealed keys of some segments that follow each other; rows are numbered from 0."""

    row: int
    sealed: bytes


class StreamHead(Struct, frozen=True, kw_only=True, array_like=True):
    """The newest event of a stream, and what the stream amounts to.

    `seq` events, `turns` of them entries, `changes` of them with a target. The store checks these against the rows that
    it is given. `type` (conversation, ...), `messages`, `names` (how many the stream has claimed) and `tag` (a MAC
    over the rest) belong to the layer above and are only kept.
    """

    stream: int
    seq: int = 0
    turns: int = 0
    messages: int = 0
    changes: int = 0
    names: int = 0
    leaf: bytes = b""
    tag: bytes = b""
    type: str = ""


class PartRow(Struct, frozen=True, kw_only=True, array_like=True):
    """An attachment of an event: the number of its chunks, and the field of the event that commits to it."""

    part: int
    position: int
    field: str


class CheckpointRow(Struct, frozen=True, kw_only=True, array_like=True):
    """A signed note over the tree of this size."""

    size: int
    note: str


class ScrubReport(Struct, frozen=True, kw_only=True):
    """What a scrub did: the places that were written out, and what is left of the write-ahead log."""

    flushed: tuple[str, ...]
    wal_bytes: int


class Reader(Hashes, Protocol):
    """One consistent snapshot. `hashes` (levels 0, 4, 8, ...) makes it what proofs are made from."""

    def frontier(self) -> Frontier:
        """Return the compact range of the tree; its size is the number of events and the next position."""
        ...

    def log_seal(self) -> bytes:
        """Return what the layer above says of the whole log with this frontier; empty while it has said nothing."""
        ...

    def stream_head(self, stream: int) -> StreamHead | None:
        """Return the head of a stream, or None while it has no event."""
        ...

    def stream_heads(self) -> Iterator[StreamHead]:
        """Yield all heads, by stream; reads in bounded batches."""
        ...

    def bucket(self, number: int) -> bytes | None:
        """Return a bucket of names."""
        ...

    def buckets(self) -> Iterator[tuple[int, bytes]]:
        """Yield the buckets of names in the order of their numbers; reads in bounded batches."""
        ...

    def sealed(self, position: int) -> SealedRow | None:
        """Return the event at a position."""
        ...

    def events(self, first: int, last: int) -> Iterator[EventRow]:
        """Yield the events of a range of positions without what is sealed; reads in bounded batches."""
        ...

    def sealed_events(self, first: int, last: int) -> Iterator[SealedRow]:
        """Yield the events of a range of positions; reads in bounded batches."""
        ...

    def in_stream(self, stream: int, first_seq: int, last_seq: int) -> Iterator[SealedRow]:
        """Yield the events of a stream in a range of seq; reads in bounded batches."""
        ...

    def turns(self, stream: int, first: int, last: int) -> list[SealedRow]:
        """Return the turns of a stream in a range of turn_seq: a page."""
        ...

    def changes(self, stream: int, after_seq: int) -> Iterator[SealedRow]:
        """Yield the events of a stream that target a turn or all of them, behind a seq (0: from the first).

        Reads in bounded batches: some have content of their own.
        """
        ...

    def of_kind(self, kind: str, after: int = -1) -> Iterator[SealedRow]:
        """Yield events without turn_seq of a kind, from the position behind `after`; reads in bounded batches."""
        ...

    def envelopes(self, first: int, last: int) -> list[EnvelopeRow]:
        """Return the events of a range of positions that have an envelope, without their content."""
        ...

    def segments(self, row: int) -> bytes | None:
        """Return the sealed segment keys of a row."""
        ...

    def segment_rows(self) -> list[SegmentsRow]:
        """Return all rows of segment keys, in their order."""
        ...

    def parts(self, first: int, last: int) -> list[PartRow]:
        """Return the attachments of the events of a range of positions, by position and field."""
        ...

    def chunks(self, part: int, first: int, count: int) -> list[bytes]:
        """Return chunks of an attachment that follow each other."""
        ...

    def has_loose_parts(self, before_ms: int) -> bool:
        """Tell whether there are attachments of no event that were begun before a time."""
        ...

    def meta(self, name: str) -> bytes | None:
        """Return a named value."""
        ...

    def latest_checkpoint(self) -> CheckpointRow | None:
        """Return the checkpoint of the largest size."""
        ...

    def checkpoints(self) -> list[CheckpointRow]:
        """Return all checkpoints, smallest size first."""
        ...

    def count(self) -> int:
        """Return how many event rows there really are, by counting them."""
        ...

    def orphans(self) -> int:
        """Return how many envelopes there are that belong to no event, by counting them."""
        ...

    def size_bytes(self) -> int:
        """Return the disk space that the store takes, without its write-ahead log."""
        ...


class Transaction(Reader, Protocol):
    """The state that a plan decides on, its own writes included, and the ways to change it."""

    def append(self, rows: Sequence[SealedRow], nodes: Sequence[Node], frontier: Frontier, seal: bytes) -> None:
        """Append rows with the nodes that they complete, the frontier behind them and the seal of the log.

        Positions continue the log, seq and turn_seq continue their streams; anything else is a `Conflict`. The plan
        puts the new head of every stream that it appended to before it ends.
        """
        ...

    def put_stream_head(self, head: StreamHead) -> None:
        """Set the head of a stream; one that does not agree with the rows is a `Conflict`."""
        ...

    def put_buckets(self, buckets: Sequence[tuple[int, bytes]]) -> None:
        """Put buckets of names in place of those with the same numbers, or beside the others."""
        ...

    def put_meta(self, name: str, value: bytes) -> None:
        """Set a named value."""
        ...

    def put_envelopes(self, envelopes: Sequence[tuple[int, bytes]]) -> None:
        """Replace envelopes, by the position of their event; an event without one is a `Conflict`."""
        ...

    def put_segments(self, row: int, sealed: bytes) -> None:
        """Set the sealed segment keys of a row."""
        ...

    def put_content(self, position: int, cell: bytes) -> None:
        """Replace the content of an event; one that is not there is a `Conflict`."""
        ...

    def destroy_content(self, position: int) -> bool:
        """Remove the content of an event, and let go of its attachments; return whether there was content."""
        ...

    def begin_part(self, part: int, time_ms: int) -> None:
        """Begin an attachment that belongs to no event yet; a number that is taken is a `Conflict`."""
        ...

    def put_chunks(self, part: int, first: int, sealed: Sequence[bytes], time_ms: int) -> None:
        """Add chunks to an attachment, the first of them with this number; it counts as begun at this time.

        A chunk that is there is a `Conflict`, and so is an attachment that is not there, or was let go of.
        """
        ...

    def attach(self, row: PartRow) -> bool:
        """Let an attachment belong to an event; return whether it was there and belonged to none."""
        ...

    def let_go(self, parts: Sequence[int]) -> None:
        """Let attachments belong to no event any more, as if they had been begun at time 0."""
        ...

    def drop_chunks(self, before_ms: int, most: int) -> int:
        """Remove attachments of no event that were begun before a time, but at most so many chunks; return how many."""
        ...

    def destroy_envelope(self, position: int) -> bool:
        """Remove the envelope of an event; return whether it was there."""
        ...

    def put_checkpoint(self, size: int, note: str) -> None:
        """Keep the checkpoint of a size, in place of an earlier one; a size beyond the log is a `Conflict`."""
        ...

    def clear(self) -> None:
        """Remove everything: what the plan writes from now on is all that there is. For a restore alone."""
        ...


class Store(Protocol):
    """One log at rest. All methods may be called from any thread."""

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        """Run a plan in a write transaction; return its result once it is durable, or raise its error, undone.

        When the transaction itself fails, all plans in it fail with the same error. After `StoreFault` a write may turn
        out to be there or not; asking again for the same thing (by its name) tells which.
        """
        ...

    def reader(self) -> AbstractContextManager[Reader]:
        """Return a snapshot of the present state, for one thread."""
        ...

    def subscribe(self, after: int) -> Iterator[Sequence[EventRow]]:
        """Yield batches of the events behind a position (-1: from the first), until the head is reached.

        Each batch is a snapshot of its own: the log may grow, and its writer may work, between two batches.
        """
        ...

    def scrub(self) -> ScrubReport:
        """Make what was removed unreadable at rest: empty the write-ahead log, flush everything, then report.

        Raises `StoreBusy` when others read old snapshots for longer than the patience.
        """
        ...

    def keep_reserve(self) -> None:
        """Keep a reserve for erasures on a full disk, where a store has a disk; a repeat does nothing."""
        ...

    def release_reserve(self) -> bool:
        """Give up the reserve; return whether there was any."""
        ...

    def close(self) -> None:
        """Leave nothing open; a second call does nothing. Any other call afterwards raises `StoreClosed`."""
        ...
