"""The vectors of passages, all made by one embedder, in memory: a byte for each number, a scale for each vector.

A vector has a slot; slots are dense, and a dropped vector is overwritten by the last one and then by zeros. Products of
bytes are summed exactly (below 2^24 every whole number is a float32), so that a cosine never depends on the slot, on
other vectors, or on the order of the sum. Up to `EXACT_MAX` vectors all of them are multiplied; of more, codes of one
bit a number (`codes`) choose about `RESCORED` that are, and the others keep the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.search.codes import Codes

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
Cosines = NDArray[np.float64]

EXACT_MAX = 100_000
RESCORED = 1000
NO_SLOT = -1
FIRST_CAPACITY = 256
GROWTH = 1.5
BLOCK = 512  # vectors are multiplied at once: these fit into the cache
BYTE_MAX = 127
QUERY_MAX = 511  # the query is rounded more finely; sums stay below 2^24 for 384 numbers even at the worst


class Similarities(NamedTuple):
    """Passages, and the cosine of each to a query."""

    passages: Numbers
    cosines: Cosines


class Vectors:
    """The vectors of an embedder by the numbers of passages. `centre` is the centre of `codes`."""

    def __init__(
        self, digest: str, dimension: int, centre: Callable[[], Floats | None], capacity: int = FIRST_CAPACITY
    ) -> None:
        self.digest = digest
        self.dimension = dimension
        self._centre = centre
        self._count = 0
        self._numbers = np.zeros((capacity, dimension), np.int8)
        self._scales = np.zeros(capacity, np.float32)
        self._passages = np.zeros(capacity, np.int64)
        self._slots = np.full(capacity, NO_SLOT, np.int32)  # by passage
        self._codes: Codes | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def memory_bytes(self) -> int:
        """How much memory the vectors take."""
        arrays = (self._numbers, self._scales, self._passages, self._slots)
        return sum([array.nbytes for array in arrays]) + (0 if self._codes is None else self._codes.memory_bytes)

    # --- putting and dropping -----------------------------------------------------------------------------------------

    def put(self, passages: Numbers, rows: Floats) -> None:
        """Store these vectors of unit length for passages; each passage is named once."""
        if not len(passages):
            return
        self.drop(passages)
        scales = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-12)) / np.float32(BYTE_MAX)
        self._append(passages, np.rint(rows / scales[:, None]).astype(np.int8), scales)

    def _append(self, passages: Numbers, numbers: NDArray[np.int8], scales: Floats) -> None:
        first, end = self._count, self._count + len(passages)
        self._reserve(end, int(passages.max()) + 1)
        self._numbers[first:end], self._scales[first:end], self._passages[first:end] = numbers, scales, passages
        self._slots[passages] = np.arange(first, end)
        self._count = end
        if self._codes is not None:
            self._codes.put(first, self._rows(first, end))

    def drop(self, passages: Sequence[int] | Numbers) -> None:
        """Drop the vectors of passages, as far as they have one; nothing of them stays in memory."""
        passages = np.asarray(passages, np.int64)
        known = passages[(passages >= 0) & (passages < len(self._slots))]
        dropped = np.unique(self._slots[known])
        dropped = dropped[dropped != NO_SLOT].astype(np.int64)
        if not len(dropped):
            return
        self._slots[self._passages[dropped]] = NO_SLOT
        kept = self._count - len(dropped)
        targets = dropped[dropped < kept]
        sources = np.setdiff1d(np.arange(kept, self._count), dropped, assume_unique=True)
        for column in (self._numbers, self._scales, self._passages):
            column[targets] = column[sources]
            column[kept : self._count] = 0
        self._slots[self._passages[targets]] = targets
        if self._codes is not None:
            self._codes.move(sources, targets, kept)
        self._count = kept

    def renumber(self, kept: Numbers) -> None:
        """Keep the vectors of these passages, whose new numbers are their places in `kept`; drop all others."""
        self.drop(np.setdiff1d(self._passages[: self._count], kept))
        numbers = np.full(int(kept.max(initial=-1)) + 1, NO_SLOT, np.int64)
        numbers[kept] = np.arange(len(kept))
        passages = self._passages[: self._count]
        passages[:] = numbers[passages]
        self._slots = np.full(max(FIRST_CAPACITY, len(kept)), NO_SLOT, np.int32)
        self._slots[passages] = np.arange(self._count)

    def _reserve(self, slots: int, passages: int) -> None:
        if passages > len(self._slots):
            more = np.full(int(passages * GROWTH) - len(self._slots), NO_SLOT, np.int32)
            self._slots = np.concatenate([self._slots, more])
        if slots > len(self._scales):
            more_slots = int(slots * GROWTH) - len(self._scales)
            self._numbers = np.concatenate([self._numbers, np.zeros((more_slots, self.dimension), np.int8)])
            self._scales = np.concatenate([self._scales, np.zeros(more_slots, np.float32)])
            self._passages = np.concatenate([self._passages, np.zeros(more_slots, np.int64)])
            if self._codes is not None:
                self._codes.grow(len(self._scales))

    # --- comparing ----------------------------------------------------------------------------------------------------

    def have(self, passages: Numbers) -> NDArray[np.bool_]:
        """Tell which passages have a vector."""
        have = np.zeros(len(passages), np.bool_)
        known = passages < len(self._slots)
        have[known] = self._slots[passages[known]] != NO_SLOT
        return have

    def similar(self, query: Floats, within: Numbers | None = None) -> Similarities:
        """Return the cosine of a query to all vectors, or to those of passages, as far as they have one."""
        slots = None
        if within is not None:
            within = within[self.have(within)]
            slots = self._slots[within].astype(np.int64)
        passages = self._passages[: self._count] if within is None else within
        if len(passages) <= EXACT_MAX or not self._coded():
            return Similarities(passages, self._exact(query, slots))
        assert self._codes is not None, "they were just made"
        estimates = self._codes.estimates(query, self._count, slots)
        best = _best(estimates, RESCORED)
        cosines = estimates.astype(np.float64)
        cosines[best] = self._exact(query, best if slots is None else slots[best])
        return Similarities(passages, cosines)

    def _exact(self, query: Floats, slots: Numbers | None) -> Cosines:
        """Return the cosines of all vectors, or of those in slots."""
        step = max(float(np.abs(query).max()), 1e-12) / QUERY_MAX
        rounded = np.rint(query / step).astype(np.float32)
        count = self._count if slots is None else len(slots)
        sums, block = np.empty(count, np.float32), np.empty((BLOCK, self.dimension), np.float32)
        for first in range(0, count, BLOCK):
            end = min(first + BLOCK, count)
            part = block[: end - first]
            part[...] = self._numbers[first:end] if slots is None else self._numbers[slots[first:end]]
            np.dot(part, rounded, out=sums[first:end])
        scales = self._scales[:count] if slots is None else self._scales[slots]
        cosines: Cosines = sums.astype(np.float64) * scales * step
        return cosines

    def _coded(self) -> bool:
        """Make the codes, unless they exist; return whether they do, which takes a centre."""
        if self._codes is None:
            centre = self._centre()
            if centre is None:
                return False
            self._codes = Codes(centre, len(self._scales))
            for first in range(0, self._count, BLOCK):
                self._codes.put(first, self._rows(first, min(first + BLOCK, self._count)))
        return True

    def _rows(self, first: int, end: int) -> Floats:
        return self._numbers[first:end] * self._scales[first:end, None]

    # --- at rest ------------------------------------------------------------------------------------------------------

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield all as named pieces for a snapshot, in the order of passages."""
        order = np.argsort(self._passages[: self._count])
        yield "vectors/digest", self.digest.encode()
        yield "vectors/passages", self._passages[order].astype("<i8").tobytes()
        yield "vectors/scales", self._scales[order].astype("<f4").tobytes()
        yield "vectors/numbers", self._numbers[order].tobytes()

    def restore(self, sections: Mapping[str, bytes]) -> bool:
        """Restore what `sections` yielded into empty vectors; return False, still empty, when it does not fit.

        Vectors of another embedder do not fit: they cannot be compared with those of this one.
        """
        if sections.get("vectors/digest") != self.digest.encode():
            return False
        passages = np.frombuffer(sections["vectors/passages"], "<i8").astype(np.int64)
        scales = np.frombuffer(sections["vectors/scales"], "<f4").astype(np.float32)
        numbers = np.frombuffer(sections["vectors/numbers"], np.int8)
        if len(passages):
            self._append(passages, numbers.reshape(-1, self.dimension), scales)
        return True


def empty_vectors() -> Vectors:
    """Return vectors of no embedder: none, which take no memory."""
    return Vectors("", 0, lambda: None, capacity=0)


def stored_vectors(sections: Mapping[str, bytes]) -> Vectors | None:
    """Return the vectors of a snapshot, to be kept for a process that has their embedder; None without any."""
    count = len(sections.get("vectors/scales", b"")) // 4
    if not count:
        return None
    vectors = Vectors(sections["vectors/digest"].decode(), len(sections["vectors/numbers"]) // count, lambda: None)
    vectors.restore(sections)
    return vectors


def _best(estimates: Floats, wanted: int) -> Numbers:
    """Return where the best estimates are: `wanted` of them, and those that are as good as the last of these."""
    last = len(estimates) - wanted
    return np.flatnonzero(estimates >= np.partition(estimates, last)[last])
