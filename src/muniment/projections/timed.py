"""Turns of one conversation in the order of their observed times: counted, and found by time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

WIDE = "q"  # 64 bits, signed


class Timed:
    """Turns with their times, as two columns; ties stand in the order of their sequence."""

    __slots__ = ("messages", "sequences", "times")

    def __init__(self) -> None:
        self.times = array(WIDE)
        self.sequences = array(WIDE)
        self.messages = 0

    def __len__(self) -> int:
        return len(self.times)

    def add(self, sequence: int, observed_ms: int, messages: int) -> None:
        """Put a turn in its place."""
        at = self._place(sequence, observed_ms)
        self.times.insert(at, observed_ms)
        self.sequences.insert(at, sequence)
        self.messages += messages

    def discard(self, sequence: int, observed_ms: int, messages: int) -> None:
        """Take a turn out that is there."""
        at = self._place(sequence, observed_ms)
        assert self.sequences[at] == sequence, "it was put in"
        del self.times[at]
        del self.sequences[at]
        self.messages -= messages

    def between(self, from_ms: int, until_ms: int) -> CountInRange:
        """Return what was observed in a half-open range of time."""
        low, high = bisect_left(self.times, from_ms), bisect_left(self.times, until_ms)
        if low == high:
            return NOTHING
        first, last = (self.times[low], self.sequences[low]), (self.times[high - 1], self.sequences[high - 1])
        return CountInRange(high - low, first, last)

    def columns(self) -> tuple[bytes, bytes]:
        """Return times and sequences as bytes."""
        return self.times.tobytes(), self.sequences.tobytes()

    def restore(self, times: bytes, sequences: bytes, messages: int) -> None:
        """Take the columns that were kept."""
        self.times.frombytes(times)
        self.sequences.frombytes(sequences)
        self.messages = messages

    def _place(self, sequence: int, observed_ms: int) -> int:
        low = bisect_left(self.times, observed_ms)
        return bisect_left(self.sequences, sequence, low, bisect_right(self.times, observed_ms, low))


class CountInRange(NamedTuple):
    """What is in a range: how many turns, and time and sequence of the first and the last of them."""

    turns: int
    first: tuple[int, int]
    last: tuple[int, int]


NOTHING = CountInRange(0, (0, 0), (0, 0))
