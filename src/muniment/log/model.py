"""The model that stores are compared with: the same log in plain Python, and how a reader is compared with it.

No hypothesis here; the kit that drives stores and models side by side is `muniment.log.conformance`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from muniment.evidence.tree import Frontier, Node, extend, frontier_at
from muniment.log.port import (
    CheckpointRow,
    EnvelopeRow,
    EventRow,
    PartRow,
    Reader,
    SealedRow,
    SegmentsRow,
    StreamHead,
    Transaction,
)
from muniment.log.tail import longer

TURN, CHANGE, OPENED = "turn", "change", "opened"


class LogModel:
    """What the store should hold, as plainly as it can be said."""

    def __init__(self) -> None:
        self.rows: list[SealedRow] = []
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.heads: dict[int, StreamHead] = {}
        self.frontier = Frontier()
        self.seal = b""
        self.buckets: dict[int, bytes] = {}
        self.segments: dict[int, bytes] = {}
        self.parts: dict[int, PartRow | int] = {}  # the event it belongs to, or since when it belongs to none
        self.chunks: dict[tuple[int, int], bytes] = {}
        self.meta: dict[str, bytes] = {}
        self.checkpoints: dict[int, str] = {}

    def stream(self, stream: int) -> list[SealedRow]:
        """Return the rows of a stream."""
        return [row for row in self.rows if row.stream == stream]

    def let_go(self, position: int) -> None:
        """Let the attachments of an event belong to none."""
        self.parts |= {
            part: 0 for part, row in self.parts.items() if isinstance(row, PartRow) and row.position == position
        }

    def append(self, batch: ModelBatch) -> None:
        """Append what a batch holds."""
        self.rows += batch.rows
        self.nodes.update({(node.level, node.index): node.hash for node in batch.nodes})
        self.heads.update({head.stream: head for head in batch.heads})
        self.frontier, self.seal = batch.frontier, batch.seal


class ModelBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one plan appends."""

    rows: list[SealedRow]
    nodes: list[Node]
    frontier: Frontier
    seal: bytes
    heads: list[StreamHead]

    def write(self, tx: Transaction) -> None:
        """Append it, as a plan does."""
        tx.append(self.rows, self.nodes, self.frontier, self.seal)
        for head in self.heads:
            tx.put_stream_head(head)


class ModelDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An event that has no place yet: `stream` picks one, or opens a new one."""

    stream: int
    kind: str
    target: int
    time: int
    leaf: bytes
    header: bytes
    envelope: bytes | None
    content: bytes | None


def placed(model: LogModel, wanted: list[ModelDraft]) -> ModelBatch:
    """Give drafts their places behind what the model holds."""
    rows: list[SealedRow] = []
    tails = dict(model.heads)
    for position, draft in enumerate(wanted, len(model.rows)):
        streams = sorted(tails)
        stream = streams[draft.stream % len(streams)] if streams and draft.stream else position
        tail = tails.get(stream)
        seq, turns = (tail.seq, tail.turns) if tail else (0, 0)
        row = SealedRow(
            position=position,
            stream=stream,
            seq=seq + 1,
            kind=draft.kind,
            turn_seq=turns + 1 if draft.kind == TURN else None,
            target_seq=draft.target if draft.kind == CHANGE else None,
            time=draft.time,
            leaf=draft.leaf,
            header=draft.header,
            envelope=draft.envelope,
            content=draft.content,
        )
        rows.append(row)
        tails[stream] = longer(tail, row)
    frontier, nodes = extend(model.frontier, [row.leaf for row in rows])
    touched = sorted({row.stream for row in rows})
    seal = rows[-1].leaf[:16] if rows else model.seal
    heads = [
        msgspec.structs.replace(tails[stream], messages=len(rows), names=len(touched), tag=seal) for stream in touched
    ]
    return ModelBatch(rows=rows, nodes=nodes, frontier=frontier, seal=seal, heads=heads)


def event(row: SealedRow) -> EventRow:
    """Return a row without what is sealed."""
    return EventRow(**{name: getattr(row, name) for name in EventRow.__struct_fields__})


def with_envelope(row: SealedRow) -> EnvelopeRow:
    """Return a row without its content."""
    return EnvelopeRow(**{name: getattr(row, name) for name in EnvelopeRow.__struct_fields__})


def check_log(reader: Reader, model: LogModel, first: int, last: int) -> None:
    """Compare what is found by position with the model."""
    rows = model.rows[max(first, 0) : max(last + 1, 0)]
    assert list(reader.sealed_events(first, last)) == rows
    assert list(reader.events(first, last)) == [event(row) for row in rows]
    assert reader.sealed(first) == (model.rows[first] if 0 <= first < len(model.rows) else None)
    assert reader.count() == len(model.rows)
    assert reader.orphans() == 0
    assert reader.envelopes(first, last) == [with_envelope(row) for row in rows if row.envelope is not None]
    for number in [*model.segments, -1]:
        assert reader.segments(number) == model.segments.get(number)
    segments = [SegmentsRow(row=number, sealed=sealed) for number, sealed in sorted(model.segments.items())]
    assert reader.segment_rows() == segments
    for kind in (CHANGE, OPENED):
        of_kind = [row for row in model.rows if row.kind == kind]
        assert list(reader.of_kind(kind)) == of_kind
        assert list(reader.of_kind(kind, first)) == [row for row in of_kind if row.position > first]


def check_parts(reader: Reader, model: LogModel, first: int, last: int) -> None:
    """Compare the attachments with the model."""
    attached = [row for row in model.parts.values() if isinstance(row, PartRow) and first <= row.position <= last]
    assert reader.parts(first, last) == sorted(attached, key=lambda row: (row.position, row.field))
    for part in [*model.parts, 99]:
        for start in (0, 1):
            there = [model.chunks[part, number] for number in range(start, start + 3) if (part, number) in model.chunks]
            assert reader.chunks(part, start, 3) == there
    for before in (0, 1, 50):
        assert reader.has_loose_parts(before) == any(
            isinstance(row, int) and row < before for row in model.parts.values()
        )


def check_streams(reader: Reader, model: LogModel, first: int, last: int) -> None:
    """Compare what is found by stream with the model."""
    for stream in {*model.heads, first, -1}:
        rows = model.stream(stream)
        assert reader.stream_head(stream) == model.heads.get(stream)
        assert list(reader.in_stream(stream, first, last)) == [row for row in rows if first <= row.seq <= last]
        turns = [row for row in rows if row.turn_seq is not None and first <= row.turn_seq <= last]
        assert reader.turns(stream, first, last) == turns
        changes = [row for row in rows if row.target_seq is not None]
        for after in (first, *(row.seq for row in changes[:2])):
            assert list(reader.changes(stream, after)) == [row for row in changes if row.seq > after]
    assert list(reader.stream_heads()) == [model.heads[stream] for stream in sorted(model.heads)]


def check_tree(reader: Reader, model: LogModel) -> None:
    """Compare the tree with the model."""
    size = len(model.rows)
    assert reader.frontier() == model.frontier == frontier_at(reader, size)
    assert reader.log_seal() == model.seal
    assert reader.hashes(0, 0, size) == [row.leaf for row in model.rows]
    for level in {level for level, _ in model.nodes}:
        nodes = [model.nodes[level, index] for index in range(size >> level)]
        assert reader.hashes(level, 0, size >> level) == nodes


def check_named(reader: Reader, model: LogModel) -> None:
    """Compare what has a name with the model."""
    for number in [*model.buckets, 99]:
        assert reader.bucket(number) == model.buckets.get(number)
    assert list(reader.buckets()) == sorted(model.buckets.items())
    for name in [*model.meta, "nobody"]:
        assert reader.meta(name) == model.meta.get(name)
    checkpoints = [CheckpointRow(size=size, note=note) for size, note in sorted(model.checkpoints.items())]
    assert reader.checkpoints() == checkpoints
    assert reader.latest_checkpoint() == (checkpoints[-1] if checkpoints else None)


def _shifted(batch: ModelBatch, **change: int) -> ModelBatch:
    """Return a batch whose last row says something else of its place."""
    *rows, last = batch.rows
    moved = {name: (getattr(last, name) or 0) + step for name, step in change.items()}
    return msgspec.structs.replace(batch, rows=[*rows, msgspec.structs.replace(last, **moved)])


def _with_head(batch: ModelBatch, **change: int | bytes) -> ModelBatch:
    """Return a batch whose last head says something else of its stream."""
    *heads, last = batch.heads
    return msgspec.structs.replace(batch, heads=[*heads, msgspec.structs.replace(last, **change)])


MISFITS: dict[str, Callable[[ModelBatch], ModelBatch]] = {
    "a position twice": lambda batch: _shifted(batch, position=-1),
    "a gap in the positions": lambda batch: _shifted(batch, position=1),
    "a seq twice": lambda batch: _shifted(batch, seq=-1),
    "a gap in the stream": lambda batch: _shifted(batch, seq=1),
    "a gap in the turns": lambda batch: _shifted(batch, turn_seq=batch.heads[-1].turns + 2),
    "a row twice": lambda batch: msgspec.structs.replace(batch, rows=batch.rows + batch.rows[-1:]),
    "a frontier of another size": lambda batch: msgspec.structs.replace(
        batch, frontier=extend(batch.frontier, [bytes(32)])[0]
    ),
    "a head of other length": lambda batch: _with_head(batch, seq=batch.heads[-1].seq + 1),
    "a head of more turns": lambda batch: _with_head(batch, turns=batch.heads[-1].turns + 1),
    "a head of more changes": lambda batch: _with_head(batch, changes=batch.heads[-1].changes + 1),
    "a head with another leaf": lambda batch: _with_head(batch, leaf=batch.heads[-1].leaf[::-1] + b"!"),
    "a head that is missing": lambda batch: msgspec.structs.replace(batch, heads=batch.heads[:-1]),
}


def check_all(reader: Reader, model: LogModel, first: int, last: int) -> None:
    """Compare everything that can be read with the model, in this range and in all ranges."""
    for start, end in ((first, last), (0, len(model.rows) + 1)):
        check_log(reader, model, start, end)
        check_streams(reader, model, start, end)
        check_parts(reader, model, start, end)
    check_tree(reader, model)
    check_named(reader, model)
