"""The frames of a log on its way from one store to another.

They come in this order: `BeginFrame`, `CheckpointsFrame`, `EventsFrame` (all of them, in log order, each with the
attachments of its events behind it as `ChunksFrame`), `HeadsFrame`, `NamesFrame`, `EndFrame`. A frame is 4 bytes of
length (big endian) and msgpack. Nodes of the tree and named values are left out: they follow from the rest; the
vocabulary comes with the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from muniment.crypto.stream import SealedReader
from muniment.errors import Corrupt
from muniment.ledger.name_buckets import NameRow
from muniment.log.port import CheckpointRow, SealedRow, SegmentsRow, StreamHead

FORMAT = 3
FRAME_BYTES_MAX = 256 * 2**20
LENGTH_BYTES = 4


class BeginFrame(Struct, frozen=True, array_like=True, tag="beginning"):
    """Which log this is."""

    format: int
    log: str


class CheckpointsFrame(Struct, frozen=True, array_like=True, tag="checkpoints"):
    """The checkpoints of the log."""

    rows: list[CheckpointRow]


class EventsFrame(Struct, frozen=True, array_like=True, tag="events"):
    """The next events, and the rows of segment keys that are needed from here on."""

    rows: list[SealedRow]
    segments: list[SegmentsRow]


class ChunksFrame(Struct, frozen=True, array_like=True, tag="chunks"):
    """Chunks of an attachment: the event and the field that it belongs to, the number of the first."""

    position: int
    field: str
    first: int
    sealed: list[bytes]


class HeadsFrame(Struct, frozen=True, array_like=True, tag="heads"):
    """Heads of streams."""

    rows: list[StreamHead]


class NamesFrame(Struct, frozen=True, array_like=True, tag="names"):
    """Names and where they lead, bucket by bucket."""

    rows: list[NameRow]


class EndFrame(Struct, frozen=True, array_like=True, tag="ending"):
    """The signed checkpoint of exactly this log, and its vocabulary as it is stored."""

    note: str
    vocabulary: bytes


Frame = BeginFrame | CheckpointsFrame | EventsFrame | ChunksFrame | HeadsFrame | NamesFrame | EndFrame
STAGES: dict[type[Frame], int] = {
    BeginFrame: 0,
    CheckpointsFrame: 1,
    EventsFrame: 2,
    ChunksFrame: 2,
    HeadsFrame: 3,
    NamesFrame: 4,
    EndFrame: 5,
}
REPEATED = (CheckpointsFrame, EventsFrame, ChunksFrame, HeadsFrame, NamesFrame)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def framed(frame: Frame) -> bytes:
    """Return a frame with its length."""
    body = _encoder.encode(frame)
    return len(body).to_bytes(LENGTH_BYTES) + body


def frames(stream: SealedReader) -> Iterator[Frame]:
    """Yield the frames of a stream, or raise `Corrupt` where it is none."""
    while length := stream.read(LENGTH_BYTES):
        size = int.from_bytes(length)
        body = stream.read(size) if len(length) == LENGTH_BYTES and size <= FRAME_BYTES_MAX else b""
        try:
            yield _decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeError):
            raise Corrupt(at="backup", problem="frame") from None
