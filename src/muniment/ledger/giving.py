"""Giving a whole log away, frame by frame, as for a backup.

The log is read in parts, each a snapshot of its own, so that an erasure never waits for a backup. A part ends where
attachments come, and these are read in smaller ones. It only grows, except
for keys and cells that are destroyed; the caller makes sure that no rotation came in between. The last part is read in
the snapshot that heads and names come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from muniment.ledger.attached_files import CHUNKS_AT_ONCE
from muniment.ledger.frames import (
    FORMAT,
    BeginFrame,
    CheckpointsFrame,
    ChunksFrame,
    EndFrame,
    EventsFrame,
    Frame,
    HeadsFrame,
    NamesFrame,
    framed,
)
from muniment.ledger.ledger import Ledger
from muniment.ledger.segments import row_of
from muniment.ledger.vocabulary import VOCABULARY
from muniment.log.port import BATCH_SEALED_MAX, PartRow, Reader, SealedRow, SegmentsRow

Row = TypeVar("Row")

PART_EVENTS = 2000  # read in one snapshot
FRAME_ROWS = 500  # heads or names in one frame
FRAME_BYTES = 2**20  # of envelopes and cells, in one frame of events


def given(ledger: Ledger, progress: Callable[[int, int], None]) -> Iterator[bytes]:
    """Yield a whole log as frames."""
    yield framed(BeginFrame(FORMAT, ledger.log))
    with ledger.reader() as reader:
        checkpoints, done = reader.checkpoints(), 0
    yield from _pages(CheckpointsFrame, checkpoints)
    streams: list[int] = []
    is_whole = False
    while not is_whole:
        attached: list[PartRow] = []
        with ledger.reader() as reader:
            frontier = reader.frontier()
            last = min(frontier.size, done + PART_EVENTS) - 1
            segments = _segments(reader, done, last)
            for rows in _batches(reader, done, last):
                streams += [row.stream for row in rows if row.seq == 1]
                yield framed(EventsFrame(rows, segments))
                segments = []
                if attached := reader.parts(rows[0].position, rows[-1].position):
                    last = rows[-1].position
                    break
            done = last + 1
            is_whole = done == frontier.size and not attached
            if is_whole:
                heads = (reader.stream_head(stream) for stream in streams)
                yield from _pages(HeadsFrame, (head for head in heads if head is not None))
                yield from _pages(NamesFrame, ledger.names.rows(reader))
                yield framed(EndFrame(ledger.witness.sign(reader, frontier), reader.meta(VOCABULARY) or b""))
        for row in attached:
            yield from _chunks(ledger, row)
        progress(done, frontier.size)


def _chunks(ledger: Ledger, row: PartRow) -> Iterator[bytes]:
    """Yield the chunks of an attachment, each few MiB from a snapshot of their own."""
    number, is_more = 0, True
    while is_more:
        with ledger.reader() as reader:
            sealed = reader.chunks(row.part, number, CHUNKS_AT_ONCE)
        if sealed:
            yield framed(ChunksFrame(row.position, row.field, number, sealed))
        number += len(sealed)
        is_more = len(sealed) == CHUNKS_AT_ONCE


def _segments(reader: Reader, first: int, last: int) -> list[SegmentsRow]:
    found = ((row, reader.segments(row)) for row in range(row_of(first), row_of(last) + 1))
    return [SegmentsRow(row=row, sealed=sealed) for row, sealed in found if sealed is not None]


def _batches(reader: Reader, first: int, last: int) -> Iterator[list[SealedRow]]:
    batch: list[SealedRow] = []
    size = 0
    for row in reader.sealed_events(first, last):
        batch.append(row)
        size += len(row.envelope or b"") + len(row.content or b"")
        if len(batch) == BATCH_SEALED_MAX or size >= FRAME_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _pages(frame: Callable[[list[Row]], Frame], rows: Iterable[Row]) -> Iterator[bytes]:
    remaining = iter(rows)
    while page := list(islice(remaining, FRAME_ROWS)):
        yield framed(frame(page))
