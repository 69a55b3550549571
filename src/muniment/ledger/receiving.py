"""Receiving a whole log, frame by frame: what is believed of it, and how it is written.

Every frame is checked before it is handed on: each header against its leaf and its columns, streams and
chains (`evidence.audit`), each envelope against the key of its segment, each checkpoint against the root at its size,
the heads against the rows and their MAC, as many names as the heads have claimed, and the signed head at the end. A
cell that does not open is no reason to lose the others: it is counted. So is an attachment that is not what its turn
commits to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from muniment.crypto.cell import open_cell
from muniment.crypto.keyring import UnwrappedKeys
from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.evidence.audit import Audit
from muniment.evidence.verifier import EMPTY_ROOT, Checkpoint, Refused, Succession
from muniment.kernel.digest import KeyedDigest
from muniment.ledger.attached_files import AttachmentCheck, PartRestorer
from muniment.ledger.frames import (
    FORMAT,
    REPEATED,
    STAGES,
    BeginFrame,
    CheckpointsFrame,
    ChunksFrame,
    EndFrame,
    EventsFrame,
    Frame,
    HeadsFrame,
    NamesFrame,
)
from muniment.ledger.headers import unpack
from muniment.ledger.heads import proved_head
from muniment.ledger.name_buckets import DIGEST_BYTES, NameRow
from muniment.ledger.segments import SegmentTable
from muniment.ledger.vocabulary import LogVocabulary
from muniment.log.port import CheckpointRow, SealedRow, StreamHead
from muniment.log.tail import agrees, longer

if TYPE_CHECKING:
    from muniment.ledger.ledger import Writer


class Sink(Protocol):
    """Receives the frames of a log; each has been checked."""

    def take(self, frame: Frame) -> None:
        """Take the next frame."""
        ...


class Discard:
    """A sink for those who only want to know that a log is sound."""

    def take(self, frame: Frame) -> None:
        """Keep nothing."""


class LogRestorer:
    """Writes the frames of a log into a transaction, every envelope under a fresh segment key."""

    def __init__(self, writer: Writer, ring: UnwrappedKeys) -> None:
        self._writer = writer
        self._segments = SegmentTable(ring)
        self._checkpoints: list[CheckpointRow] = []
        self._parts = PartRestorer(writer.entropy)

    def take(self, frame: Frame) -> None:
        """Write the next frame."""
        tx = self._writer.tx
        if isinstance(frame, CheckpointsFrame):
            self._checkpoints += frame.rows
        elif isinstance(frame, EventsFrame):
            for segments in frame.segments:
                self._segments.learn(segments)
            self._writer.put_back([self._resealed(row) for row in frame.rows])
        elif isinstance(frame, ChunksFrame):
            self._parts.take(self._writer.tx, frame.position, frame.field, frame.first, frame.sealed)
        elif isinstance(frame, HeadsFrame):
            for head in frame.rows:
                tx.put_stream_head(head)
        elif isinstance(frame, NamesFrame):
            self._writer.put_back(names=frame.rows)
        elif isinstance(frame, EndFrame):
            for checkpoint in self._checkpoints:
                tx.put_checkpoint(checkpoint.size, checkpoint.note)
            tx.put_checkpoint(tx.frontier().size, frame.note)
            self._writer.adopt(frame.vocabulary)

    def _resealed(self, row: SealedRow) -> SealedRow:
        self._writer.segment_key(row.position)  # the first event of a segment makes one, with keys or without
        if row.envelope is None:
            return row
        return replace(row, envelope=self._writer.sealed_envelope(row, self._segments.open(row)))


class ReceivedLog(Struct, frozen=True, kw_only=True):
    """What a log was that came in: its head, its roots at the sizes that were asked for, the cells that do not open."""

    checkpoint: Checkpoint
    note: str
    turns: int
    roots: Mapping[int, bytes]
    cells_damaged: int


class LogReceiver:
    """A log on its way in: `run` hands what is sound to a sink and returns what the log was."""

    def __init__(self, ring: UnwrappedKeys, keys: Succession, marks: Collection[int] = ()) -> None:
        self._marks = frozenset(marks)
        self._roots = {0: EMPTY_ROOT}
        self._ring = ring
        self._segments = SegmentTable(ring)
        self._signers = keys
        self._audit = Audit(ring.log_id)
        self._notes: dict[int, str] = {}
        self._tails: dict[int, StreamHead] = {}
        self._heads: dict[int, StreamHead] = {}
        self._keyed = KeyedDigest(ring.index_key)
        self._names = 0
        self._damaged = 0
        self._attachments = AttachmentCheck()

    def run(self, incoming: Iterator[Frame], sink: Sink) -> ReceivedLog:
        """Take all frames; raises `Corrupt` at the first that does not hold."""
        stage, taken = -1, None
        for frame in incoming:
            now = STAGES[type(frame)]
            fits = now > stage or (now == stage and type(frame) in REPEATED)
            if not fits or (stage < 0 and now > 0):
                raise Corrupt(at="backup", problem="order")
            stage = now
            taken = self._check(frame)
            sink.take(frame)
        if taken is None:
            raise Corrupt(at="backup", problem="cut_short")
        return taken

    def _check(self, frame: Frame) -> ReceivedLog | None:
        if isinstance(frame, BeginFrame):
            self._begin(frame)
        elif isinstance(frame, CheckpointsFrame):
            self._notes.update((row.size, row.note) for row in frame.rows)
        elif isinstance(frame, EventsFrame):
            self._attachments.settle()
            for segments in frame.segments:
                self._segments.learn(segments)
            for row in frame.rows:
                self._event(row)
        elif isinstance(frame, ChunksFrame):
            self._attachments.take(frame.position, frame.field, frame.first, frame.sealed)
        elif isinstance(frame, HeadsFrame):
            for head in frame.rows:
                self._head(head)
        elif isinstance(frame, NamesFrame):
            for found in frame.rows:
                self._name(found)
        else:
            return self._end(frame)
        return None

    def _begin(self, frame: BeginFrame) -> None:
        if frame.format != FORMAT:
            raise StoreNewer(at="backup", found=frame.format, limit=FORMAT)
        if frame.log != self._ring.log_id:
            raise Corrupt(at="backup", problem="foreign_log")

    def _event(self, row: SealedRow) -> None:
        _, exact = unpack(row, self._ring.log_id)
        self._audit.take(exact, row.leaf)
        self._cells(row)
        self._tails[row.stream] = longer(self._tails.get(row.stream), row)
        size = self._audit.frontier.size
        if size in self._marks:
            self._roots[size] = self._audit.frontier.root()
        note = self._notes.pop(size, None)
        if note is not None:
            checkpoint = self._signed(note)
            if checkpoint.size != size:
                raise Corrupt(at="checkpoint", problem="size", limit=size, found=checkpoint.size)
            self._audit.checkpoint(checkpoint)

    def _cells(self, row: SealedRow) -> None:
        if row.envelope is None:  # so is left what was erased when its keys did not open any more
            if row.content is not None:
                raise KeyMissing(at=f"position {row.position}")
            self._damaged += 1
            return
        _, key = self._segments.open(row)
        if key is None:
            self._damaged += row.content is not None
            return
        try:
            self._attachments.expect(row, open_cell(key, row.content or b"", row.leaf))
        except Corrupt:
            self._damaged += 1

    def _head(self, head: StreamHead) -> None:
        whole = agrees(head, self._tails.pop(head.stream, None))
        if not whole:
            raise Corrupt(at=f"stream {head.stream}", problem="head")
        proved_head(self._keyed, head)
        self._heads[head.stream] = replace(head, leaf=b"", tag=b"")

    def _name(self, row: NameRow) -> None:
        if len(row.digest) != DIGEST_BYTES or not 0 <= row.position < self._audit.frontier.size:
            raise Corrupt(at="names", problem="name")
        self._names += 1

    def _end(self, frame: EndFrame) -> ReceivedLog:
        self._attachments.settle()
        size = self._audit.frontier.size
        heads = self._heads.values()
        named = sum(head.names for head in heads)
        if self._tails:
            raise Corrupt(at=f"stream {min(self._tails)}", problem="head_missing")
        if named != self._names:
            raise Corrupt(at="names", problem="names_missing", limit=named, found=self._names)
        if self._notes:
            raise Corrupt(at="checkpoint", problem="size", limit=size, found=max(self._notes))
        LogVocabulary(self._keyed).parsed(frame.vocabulary)
        checkpoint = self._signed(frame.note)
        if (checkpoint.size, checkpoint.root) != (size, self._audit.frontier.root()):
            raise Corrupt(at="checkpoint", problem="root", limit=size, found=checkpoint.size)
        return ReceivedLog(
            checkpoint=checkpoint,
            note=frame.note,
            turns=sum(head.turns for head in heads),
            roots=self._roots,
            cells_damaged=self._damaged + self._attachments.damaged,
        )

    def _signed(self, note: str) -> Checkpoint:
        try:
            return self._signers.open(note)
        except Refused as refused:
            raise Corrupt(at="checkpoint", problem=refused.code) from None
