"""What erasures that have begun still have to do, kept with the log in one named value.

A large erasure takes several transactions. Until its last one the value names its first event, so that the next opening
goes on with it after a crash, and the segments whose keys are still to be replaced. The seal of the log has its digest
(`ledger.name_buckets`), so whoever takes it away, or puts an older one back, does not hide an erasure that has begun.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from muniment.errors import Corrupt

if TYPE_CHECKING:
    from muniment.ledger.name_buckets import Names
    from muniment.log.port import Reader, Transaction

OWED = "erasing"  # the name of the value: how many erasures, their first positions, and the segments
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

    def __init__(self, names: Names) -> None:
        self._names = names

    def of(self, reader: Reader) -> Owed:
        """Return what is owed; raises `Corrupt` for any other value than the one that the log is sealed with."""
        packed = reader.meta(OWED)
        if packed is None:
            if reader.frontier().size:
                raise Corrupt(at=OWED, problem="missing")
            return Owed()
        if self._names.head(reader).owed != self._names.digest_of_owed(packed):
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
        tx.put_meta(OWED, packed)
        self._names.owe(tx, packed)


def _numbers(packed: bytes, size: int) -> tuple[int, ...]:
    return tuple(int.from_bytes(packed[at : at + size]) for at in range(0, len(packed), size))
