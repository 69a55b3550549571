"""Stream heads: proved by their MAC, and never older than the process has seen them.

Who puts back an older head, with everything that belongs to it, needs no key for that. A process remembers how long
each stream was when the log was attested and when it last wrote to the stream itself, with the stamp of that state
(`ledger.name_buckets`); in a state of the log that is as new, the stream is at least as long.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.kernel.digest import KeyedDigest
from muniment.kernel.locks import new_lock
from muniment.kernel.stamps import SIZE_BITS, stamp_in
from muniment.log.port import Reader, StreamHead

STREAMS_SEEN_MAX = 100_000
HEAD_TAG_BYTES = 16

_HEAD = struct.Struct(">QQQQQQ")


class Placed(NamedTuple):
    """Where an event was appended; `messages` counts those of its stream up to it."""

    position: int
    stream: int
    seq: int
    turn_seq: int | None
    leaf: bytes
    messages: int


class SeenStream(NamedTuple):
    """How long a stream was in a state of the log."""

    stamp: int
    seq: int


class Heads:
    """The heads of the streams of one log. Thread-safe."""

    def __init__(self, keyed: KeyedDigest) -> None:
        self._keyed = keyed
        self._seen: dict[int, SeenStream] = {}
        self._lock = new_lock()

    def of(self, reader: Reader, stream: int) -> StreamHead | None:
        """Return the head of a stream, or None for one that is not open; proved, or `Corrupt`."""
        head, seen = reader.stream_head(stream), self._seen.get(stream)
        if head is not None:
            proved_head(self._keyed, head)
        if seen is not None and (head is None or head.seq < seen.seq):
            stamp = stamp_in(reader.log_seal())
            if stamp >= seen.stamp and stamp >> SIZE_BITS == seen.stamp >> SIZE_BITS:
                problem = "head_missing" if head is None else "head_put_back"
                raise Corrupt(at=f"stream {stream}", problem=problem)
        return head

    def attest(self, reader: Reader) -> Iterator[StreamHead]:
        """Yield all heads, proved, and remember them."""
        lengths: dict[int, int] = {}
        for head in reader.stream_heads():
            yield proved_head(self._keyed, head)
            lengths[head.stream] = head.seq
        self.keep(reader.log_seal(), lengths)

    def sealed(self, head: StreamHead) -> StreamHead:
        """Return a head with its MAC."""
        return replace(head, tag=head_tag(self._keyed, head))

    def keep(self, seal: bytes, lengths: Mapping[int, int]) -> None:
        """Remember how long streams are in a state of the log that is durable."""
        stamp = stamp_in(seal)
        with self._lock:
            for stream, seq in lengths.items():
                known = self._seen.get(stream)
                if known is None or known.stamp < stamp:
                    self._seen[stream] = SeenStream(stamp, seq)
            while len(self._seen) > STREAMS_SEEN_MAX:
                del self._seen[next(iter(self._seen))]


def proved_head(keyed: KeyedDigest, head: StreamHead) -> StreamHead:
    """Return a head that somebody with the key wrote, or raise `Corrupt`."""
    if not hmac.compare_digest(head.tag, head_tag(keyed, head)):
        raise Corrupt(at=f"stream {head.stream}", problem="head")
    return head


def head_tag(keyed: KeyedDigest, head: StreamHead) -> bytes:
    """Return the MAC of a head under the index key of its space."""
    try:
        numbers = _HEAD.pack(head.stream, head.seq, head.turns, head.messages, head.changes, head.names)
    except struct.error:  # below zero, as no ledger writes it
        raise Corrupt(at=f"stream {head.stream}", problem="head") from None
    return keyed.of(b"muniment/head" + numbers + head.leaf + head.type.encode())[:HEAD_TAG_BYTES]
