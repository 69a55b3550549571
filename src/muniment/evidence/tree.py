"""The tree of a log (RFC 6962, RFC 9162), grown by appending and read in few ranges.

A store keeps the leaf hashes (level 0) and the hashes of complete subtrees on every fourth level (4, 8, 12, ...): the
node (level, i) covers the leaves from i·2^level, and exists once they are all there. Besides it keeps the *frontier*,
the compact range of the head: one hash for each one-bit of the size, largest subtree first. An append works on the
frontier alone, so that a root at the head costs microseconds; a proof reads at most sixteen neighbours on every fourth
level.

All proofs are made in the same way: name the ranges of leaves whose hashes the proof consists of (each one is a node
of the tree of that size, maybe the ragged one at the right edge), then `_ranges` computes them with as few reads as it
can.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

from msgspec import Struct

from muniment.errors import Corrupt
from muniment.evidence.verifier import EMPTY_ROOT, HASH_BYTES, TREE_SIZE_MAX, complete_subtrees, node_hash

LEVEL_STEP = 4
SIZE_BYTES = 8
READ_GAP_MAX = 32  # reading so many hashes too many is cheaper than another read
READ_HASHES_MAX = 4096


class Hashes(Protocol):
    """What proofs are made from: the stored hashes of one log."""

    def hashes(self, level: int, first: int, count: int) -> list[bytes]:
        """Return `count` hashes from index `first` on level 0 (the leaves), 4, 8, ...; all of them exist."""
        ...


class Node(Struct, frozen=True):
    """The hash of a complete subtree on a stored level."""

    level: int
    index: int
    hash: bytes


class Frontier(Struct, frozen=True, kw_only=True):
    """The compact range of a tree: its size and the hashes of its complete subtrees, largest first."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def root(self) -> bytes:
        """Return the root of the tree."""
        return _fold(self.hashes) if self.hashes else EMPTY_ROOT

    def to_bytes(self) -> bytes:
        """Return size (8 bytes, big endian) ‖ hashes."""
        return self.size.to_bytes(SIZE_BYTES) + b"".join(self.hashes)

    @classmethod
    def from_bytes(cls, data: bytes) -> Frontier:
        """Return the frontier that was written by `to_bytes`, or raise `Corrupt`."""
        size = int.from_bytes(data[:SIZE_BYTES])
        body = data[SIZE_BYTES:]
        if len(data) < SIZE_BYTES or size > TREE_SIZE_MAX or len(body) != size.bit_count() * HASH_BYTES:
            raise Corrupt(at="frontier", problem="malformed")
        return cls(size=size, hashes=struct.unpack(f"{HASH_BYTES}s" * size.bit_count(), body))


def extend(frontier: Frontier, leaves: Iterable[bytes]) -> tuple[Frontier, list[Node]]:
    """Return the frontier with the leaves appended, and the nodes on stored levels that they completed."""
    stack, size = list(frontier.hashes), frontier.size
    nodes: list[Node] = []
    for leaf in leaves:
        own, level, index = leaf, 0, size
        while index & 1:
            own = node_hash(stack.pop(), own)
            level, index = level + 1, index >> 1
            if level % LEVEL_STEP == 0:
                nodes.append(Node(level, index, own))
        stack.append(own)
        size += 1
    return Frontier(size=size, hashes=tuple(stack)), nodes


# --- roots and proofs -------------------------------------------------------------------------------------------------


def frontier_at(hashes: Hashes, size: int) -> Frontier:
    """Return the frontier that the log had at `size`."""
    return Frontier(size=size, hashes=tuple(_complete(hashes, list(complete_subtrees(0, size)))))


def root_at(hashes: Hashes, size: int) -> bytes:
    """Return the root that the log had at `size`."""
    return frontier_at(hashes, size).root()


def inclusion_proof(hashes: Hashes, index: int, size: int) -> list[bytes]:
    """Return the proof that the leaf at `index` is in the tree of `size` (RFC 9162, section 2.1.3.1)."""
    assert 0 <= index < size, "only a leaf of the tree has a proof"
    ranges: list[tuple[int, int]] = []
    first, last = 0, size
    while last - first > 1:
        split = first + _split(last - first)
        if index < split:
            ranges.append((split, last))
            last = split
        else:
            ranges.append((first, split))
            first = split
    return _ranges(hashes, ranges[::-1])


def consistency_proof(hashes: Hashes, size1: int, size2: int) -> list[bytes]:
    """Return the proof that the tree of `size1` grew into the tree of `size2` (RFC 9162, section 2.1.4.1)."""
    assert 0 <= size1 <= size2, "a tree grows"
    if size1 in {0, size2}:
        return []
    ranges: list[tuple[int, int]] = []
    first, last, whole = 0, size2, True
    while size1 != last:
        split = first + _split(last - first)
        if size1 <= split:
            ranges.append((split, last))
            last = split
        else:
            ranges.append((first, split))
            first, whole = split, False
    if not whole:
        ranges.append((first, last))
    return _ranges(hashes, ranges[::-1])


def skipped(hashes: Hashes, gaps: Sequence[tuple[int, int]]) -> list[list[bytes]]:
    """Return, for each range of leaves from left to right, the hashes of the largest complete subtrees in it."""
    parts = [list(complete_subtrees(first, last)) if first < last else [] for first, last in gaps]
    hashes_read = iter(_complete(hashes, [node for nodes in parts for node in nodes]))
    return [list(islice(hashes_read, len(nodes))) for nodes in parts]


# --- nodes from stored hashes -----------------------------------------------------------------------------------------


def _split(width: int) -> int:
    """Return the largest power of two below `width`, where RFC 9162 divides a tree."""
    return 1 << (width - 1).bit_length() - 1


def _fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root over complete subtrees, largest first."""
    root = hashes[-1]
    for left in hashes[-2::-1]:
        root = node_hash(left, root)
    return root


def _ranges(hashes: Hashes, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the hash of each range of leaves; each is a node of some tree of this log."""
    return [_fold(nodes) for nodes in skipped(hashes, ranges)]


def _complete(hashes: Hashes, nodes: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the hashes of complete subtrees, reading each stored level in long runs."""
    wanted: dict[int, list[tuple[int, int, int]]] = {}
    for order, (level, index) in enumerate(nodes):
        above = level % LEVEL_STEP
        wanted.setdefault(level - above, []).append((index << above, 1 << above, order))
    complete = [b""] * len(nodes)
    for base, spans in wanted.items():
        spans.sort()
        for run in _runs(spans):
            start, (last, count, _) = run[0][0], run[-1]
            row = hashes.hashes(base, start, last + count - start)
            if len(row) != last + count - start:
                raise Corrupt(at=f"level {base}", problem="hashes_missing", found=len(row))
            for first, width, order in run:
                complete[order] = _perfect(row[first - start : first - start + width])
    return complete


def _runs(spans: list[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    """Divide ascending, disjoint spans into runs that are worth one read each."""
    runs = [[spans[0]]]
    for span in spans[1:]:
        start, (last, count, _) = runs[-1][0][0], runs[-1][-1]
        if span[0] - (last + count) <= READ_GAP_MAX and span[0] + span[1] - start <= READ_HASHES_MAX:
            runs[-1].append(span)
        else:
            runs.append([span])
    return runs


def _perfect(row: list[bytes]) -> bytes:
    """Return the root over 2^k neighbours."""
    while len(row) > 1:
        row = [node_hash(row[at], row[at + 1]) for at in range(0, len(row), 2)]
    return row[0]
