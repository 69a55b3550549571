"""What erasures that have begun still have to do, kept with the log in one named value with a MAC.

A large erasure takes several transactions. Until its last one the value names its first event, so that the next opening
goes on with it after a crash, and the segments whose keys are still to be replaced. The value is there from the first
event on, so whoever takes it away does not hide an erasure that has begun.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from muniment.errors import Corrupt
from muniment.kernel.digest import DIGEST_BYTES, KeyedDigest, framed

if TYPE_CHECKING:
    from muniment.log.port import Reader, Transaction

OWED = "erasing"  # the name of the value: a MAC, how many erasures, their first positions, and the segments
COUNT_BYTES = 4
POSITION_BYTES = 8
SEGMENT_BYTES = 4


class Owed(NamedTuple):
    """The first events of erasures that go on, and the segments whose keys are to be replaced, in their order."""

    erasures: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()

    def within(self, erasure: int, touched: Collection[int]) -> Owed:
        """Return what is owed in the middle of an erasure that has touched segments."""
        return Owed(tuple(sorted({*self.erasures, erasure})), tuple(sorted({*self.segments, *touched})))

    def without(self, erasure: int) -> Owed:
        """Return what is owed when nothing of an erasure is left to destroy."""
        return Owed(tuple(position for position in self.erasures if position != erasure), self.segments)


class OwedWork:
    """Reads and writes the value of one log."""

    def __init__(self, keyed: KeyedDigest) -> None:
        self._keyed = keyed

    def of(self, reader: Reader) -> Owed:
        """Return what is owed; raises `Corrupt` when nobody with the key wrote the value."""
        stored = reader.meta(OWED)
        if stored is None:
            if reader.frontier().size:
                raise Corrupt(at=OWED, problem="missing")
            return Owed()
        tag, packed = stored[:DIGEST_BYTES], stored[DIGEST_BYTES:]
        if not hmac.compare_digest(tag, self._tag(packed)):
            raise Corrupt(at=OWED, problem="not_authentic")
        end = COUNT_BYTES + int.from_bytes(packed[:COUNT_BYTES]) * POSITION_BYTES
        return Owed(_numbers(packed[COUNT_BYTES:end], POSITION_BYTES), _numbers(packed[end:], SEGMENT_BYTES))

    def begin(self, tx: Transaction) -> None:
        """Note that nothing is owed: the log begins, or was put back."""
        self.put(tx, Owed())

    def put(self, tx: Transaction, owed: Owed) -> None:
        """Note what is owed from now on."""
        packed = len(owed.erasures).to_bytes(COUNT_BYTES)
        packed += b"".join([position.to_bytes(POSITION_BYTES) for position in owed.erasures])
        packed += b"".join([segment.to_bytes(SEGMENT_BYTES) for segment in owed.segments])
        tx.put_meta(OWED, self._tag(packed) + packed)

    def _tag(self, packed: bytes) -> bytes:
        return self._keyed.of(framed(OWED, packed))


def _numbers(packed: bytes, size: int) -> tuple[int, ...]:
    return tuple(int.from_bytes(packed[at : at + size]) for at in range(0, len(packed), size))
