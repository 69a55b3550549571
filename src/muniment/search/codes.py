"""Vectors as one bit for each number: whether it is above the centre. Enough to choose vectors to compare exactly.

1. Vectors are taken relative to a centre, because many models put all texts into one corner. The centre belongs to the
   model, not to the stored vectors, so that results never depend on other messages.
2. The share of bits in which two codes differ is about the angle between their vectors (Charikar 2002, "Similarity
   estimation techniques from rounding algorithms"): h of d bits estimate the cosine cos(pi h / d).
3. With m the centre, x.q = (x - m).(q - m) + m.x + m.q - m.m; of each x the length of x - m and m.x are kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Slots = NDArray[np.int64]

WORD_BITS = 64
BLOCK = 16_384  # codes compared at once: these fit into the cache


class Codes:
    """The codes of vectors by their slots, as planes of 64 bits each."""

    def __init__(self, centre: Floats, capacity: int) -> None:
        self._centre = centre
        self._dimension = len(centre)
        self._square = np.float32(centre @ centre)
        words = -(-self._dimension // WORD_BITS)
        self._planes = np.zeros((words, capacity), np.uint64)
        self._reach = np.zeros(capacity, np.float32)  # the length of x - m
        self._lean = np.zeros(capacity, np.float32)  # m.x

    @property
    def memory_bytes(self) -> int:
        """How much memory the codes take."""
        return self._planes.nbytes + self._reach.nbytes + self._lean.nbytes

    def grow(self, capacity: int) -> None:
        """Grow to a capacity."""
        planes = np.zeros((len(self._planes), capacity), np.uint64)
        planes[:, : self._planes.shape[1]] = self._planes
        self._planes = planes
        self._reach = np.concatenate([self._reach, np.zeros(capacity - len(self._reach), np.float32)])
        self._lean = np.concatenate([self._lean, np.zeros(capacity - len(self._lean), np.float32)])

    def put(self, first: int, rows: Floats) -> None:
        """Put the codes of vectors into consecutive slots."""
        part = slice(first, first + len(rows))
        self._planes[:, part] = self._coded(rows)
        self._lean[part] = lean = rows @ self._centre
        self._reach[part] = np.sqrt(np.maximum(1 - 2 * lean + self._square, 0))

    def move(self, sources: Slots, targets: Slots, kept: int) -> None:
        """Move slots, and zero all from `kept` on."""
        for column in (*self._planes, self._reach, self._lean):
            column[targets] = column[sources]
            column[kept:] = 0

    def estimates(self, query: Floats, count: int, slots: Slots | None) -> Floats:
        """Estimate the cosines of the first `count` vectors to a query, or of those in slots."""
        size = count if slots is None else len(slots)
        code = self._coded(query[None, :])[:, 0]
        lean = np.float32(query @ self._centre)
        length = np.sqrt(max(np.float32(1) - 2 * lean + self._square, np.float32(0)))
        of_distance = np.cos(np.pi * np.arange(self._dimension + 1) / self._dimension).astype(np.float32) * length
        cosines = np.empty(size, np.float32)
        for first in range(0, size, BLOCK):
            end = min(first + BLOCK, size)
            part = slice(first, end) if slots is None else slots[first:end]
            cosines[first:end] = of_distance[self._distances(code, part)]
            cosines[first:end] *= self._reach[part]
            cosines[first:end] += self._lean[part]
        cosines += lean - self._square
        return cosines

    def _distances(self, code: NDArray[np.uint64], part: slice | Slots) -> NDArray[np.uint16]:
        distances: NDArray[np.uint16] = np.bitwise_count(self._planes[0, part] ^ code[0]).astype(np.uint16)
        for plane, word in zip(self._planes[1:], code[1:], strict=True):
            distances += np.bitwise_count(plane[part] ^ word)
        return distances

    def _coded(self, rows: Floats) -> NDArray[np.uint64]:
        bits = np.packbits(rows > self._centre, axis=1)
        whole = np.zeros((len(rows), len(self._planes) * (WORD_BITS // 8)), np.uint8)
        whole[:, : bits.shape[1]] = bits
        return whole.view(np.uint64).T
