"""Laws of the tree: every proof that is made is accepted, and no other."""

from __future__ import annotations

import hashlib
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import Corrupt
from muniment.evidence import tree
from muniment.evidence.verifier import (
    EMPTY_ROOT,
    CompactRange,
    Refused,
    complete_subtrees,
    verify_consistency,
    verify_inclusion,
)
from tests.evidence.logs import Rows, numbered, rows

SIZE_MAX = 300
LEAVES = numbered(SIZE_MAX)
STORED = rows(LEAVES)
sizes = st.integers(1, SIZE_MAX)


def recursive_root(leaves: list[bytes]) -> bytes:
    """Compute MTH as RFC 6962, section 2.1 has it."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + recursive_root(leaves[:split]) + recursive_root(leaves[split:])).digest()


ROOTS = [recursive_root(LEAVES[:size]) for size in range(SIZE_MAX + 1)]


@st.composite
def tree_and_index(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(sizes)
    return size, draw(st.integers(0, size - 1))


@st.composite
def tree_and_indices(draw: st.DrawFn) -> tuple[int, set[int]]:
    size = draw(sizes)
    return size, draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))


@given(st.lists(st.integers(0, 40), max_size=12))
def test_a_tree_grown_in_any_batches_is_the_tree_of_the_rfc(batches: list[int]) -> None:
    """Extending by any batches gives the recursive root, the same frontier and the same stored nodes."""
    grown, at = Rows(), 0
    for batch in batches:
        grown.append(LEAVES[at : at + batch] if at + batch <= SIZE_MAX else [])
        at = grown.frontier.size
    assert grown.frontier.root() == ROOTS[at]
    assert grown.frontier == tree.frontier_at(STORED, at)
    for level, row in grown.levels.items():
        assert row == STORED.levels[level][: len(row)]
        assert len(row) == at >> level


def test_the_root_at_any_size_is_the_root_of_the_rfc() -> None:
    assert [tree.root_at(STORED, size) for size in range(SIZE_MAX + 1)] == ROOTS
    assert ROOTS[0] == EMPTY_ROOT


@given(tree_and_index())
def test_every_leaf_of_every_tree_is_provable(place: tuple[int, int]) -> None:
    """For any size and index the proof verifies."""
    size, index = place
    verify_inclusion(index, size, LEAVES[index], tree.inclusion_proof(STORED, index, size), ROOTS[size])


@given(tree_and_index(), st.data())
def test_an_inclusion_proof_with_a_single_change_is_refused(place: tuple[int, int], data: st.DataObject) -> None:
    """One changed bit in leaf, root or proof, one hash more or less, another index: refused."""
    size, index = place
    proof = tree.inclusion_proof(STORED, index, size)
    claims = [
        (index, size, flipped(LEAVES[index], data), proof, ROOTS[size]),
        (index, size, LEAVES[index], proof, flipped(ROOTS[size], data)),
        (index, size, LEAVES[index], [*proof, EMPTY_ROOT], ROOTS[size]),
        (size, size, LEAVES[index], proof, ROOTS[size]),
        (-1, size, LEAVES[index], proof, ROOTS[size]),
        (index, size, LEAVES[index][:31], proof, ROOTS[size]),
    ]
    if proof:
        which = data.draw(st.integers(0, len(proof) - 1))
        other = data.draw(st.integers(0, size - 1).filter(lambda i: i != index))
        claims += [
            (
                index,
                size,
                LEAVES[index],
                [*proof[:which], flipped(proof[which], data), *proof[which + 1 :]],
                ROOTS[size],
            ),
            (index, size, LEAVES[index], proof[:which] + proof[which + 1 :], ROOTS[size]),
            (other, size, LEAVES[index], proof, ROOTS[size]),
        ]
    for claim in claims:
        with pytest.raises(Refused, match="inclusion"):
            verify_inclusion(*claim)


def flipped(value: bytes, data: st.DataObject) -> bytes:
    bit = data.draw(st.integers(0, 8 * len(value) - 1))
    return (int.from_bytes(value) ^ 1 << bit).to_bytes(len(value))


def test_every_tree_is_consistent_with_every_smaller_one_up_to_two_hundred() -> None:
    """All pairs m <= n <= 200."""
    for size2 in range(1, 201):
        for size1 in range(1, size2 + 1):
            proof = tree.consistency_proof(STORED, size1, size2)
            verify_consistency(size1, size2, proof, ROOTS[size1], ROOTS[size2])


@given(st.lists(sizes, min_size=2, max_size=2, unique=True).map(sorted), st.data())
def test_a_consistency_proof_with_a_single_change_is_refused(pair: list[int], data: st.DataObject) -> None:
    """One changed bit in a root or the proof, one hash more or less: refused."""
    size1, size2 = pair
    proof = tree.consistency_proof(STORED, size1, size2)
    which = data.draw(st.integers(0, len(proof) - 1))
    claims = [
        (size1, size2, proof, flipped(ROOTS[size1], data), ROOTS[size2]),
        (size1, size2, proof, ROOTS[size1], flipped(ROOTS[size2], data)),
        (size1, size2, [*proof, EMPTY_ROOT], ROOTS[size1], ROOTS[size2]),
        (size1, size2, proof[:which] + proof[which + 1 :], ROOTS[size1], ROOTS[size2]),
        (size1, size2, [*proof[:which], flipped(proof[which], data), *proof[which + 1 :]], ROOTS[size1], ROOTS[size2]),
        (size2, size1, proof, ROOTS[size2], ROOTS[size1]),
        (0, size2, proof, EMPTY_ROOT, ROOTS[size2]),
    ]
    for claim in claims:
        with pytest.raises(Refused, match="consistency"):
            verify_consistency(*claim)


def test_a_tree_that_did_not_grow_needs_no_proof() -> None:
    assert tree.consistency_proof(STORED, 7, 7) == tree.consistency_proof(STORED, 0, 7) == []
    verify_consistency(7, 7, [], ROOTS[7], ROOTS[7])
    verify_consistency(0, 0, [], EMPTY_ROOT, EMPTY_ROOT)
    for size1, size2 in ((0, 7), (-1, -1), (2**53, 2**53)):
        with pytest.raises(Refused, match="consistency"):
            verify_consistency(size1, size2, [], EMPTY_ROOT, EMPTY_ROOT)


def gaps(size: int, indices: set[int]) -> list[tuple[int, int]]:
    """Return the ranges between some leaves: before each of them, and behind the last."""
    ordered = sorted(indices)
    return list(zip([0, *(index + 1 for index in ordered)], [*ordered, size], strict=True))


def prove_together(leaves: dict[int, bytes], size: int, between: list[list[bytes]], root: bytes) -> None:
    """Prove leaves from left to right, as the lines of a bundle are."""
    made = CompactRange()
    for (index, leaf), nodes in zip(sorted(leaves.items()), between, strict=False):
        made.skip(index, nodes)
        made.take(0, leaf)
    made.skip(size, between[-1])
    if made.root() != root:
        raise Refused("root")


@given(tree_and_indices())
def test_any_set_of_leaves_is_provable_at_once(place: tuple[int, set[int]]) -> None:
    """For any size and any indices the leaves and the subtrees between them give the root."""
    size, indices = place
    between = tree.skipped(STORED, gaps(size, indices))
    prove_together({index: LEAVES[index] for index in indices}, size, between, ROOTS[size])
    assert all(len(nodes) <= 2 * SIZE_MAX.bit_length() for nodes in between)


@given(tree_and_indices(), st.data())
def test_leaves_proved_at_once_are_refused_with_a_single_change(
    place: tuple[int, set[int]], data: st.DataObject
) -> None:
    """One changed bit in a leaf, the root or a hash, one hash or leaf more or less, a hash in another gap: refused."""
    size, indices = place
    between = tree.skipped(STORED, gaps(size, indices))
    leaves = {index: LEAVES[index] for index in indices}
    one = data.draw(st.sampled_from(sorted(indices)))
    claims = [
        ({**leaves, one: flipped(leaves[one], data)}, between, ROOTS[size]),
        (leaves, between, flipped(ROOTS[size], data)),
        (leaves, [*between[:-1], [*between[-1], EMPTY_ROOT]], ROOTS[size]),
        ({**leaves, size: EMPTY_ROOT}, [*between, []], ROOTS[size]),
    ]
    full = [at for at, nodes in enumerate(between) if nodes]
    if full:
        gap = data.draw(st.sampled_from(full))
        nodes = between[gap]
        which = data.draw(st.integers(0, len(nodes) - 1))
        edits = (
            nodes[:which] + nodes[which + 1 :],
            [*nodes[:which], nodes[which][:31], *nodes[which + 1 :]],
            [*nodes[:which], flipped(nodes[which], data), *nodes[which + 1 :]],
        )
        claims += [(leaves, [*between[:gap], edit, *between[gap + 1 :]], ROOTS[size]) for edit in edits]
        claims.append((leaves, [*between[:gap], [], [*nodes, *between[-1]]], ROOTS[size]))
    for told, nodes_between, root in claims:
        with pytest.raises(Refused):
            prove_together(told, size, nodes_between, root)


@given(sizes, sizes)
def test_a_range_of_leaves_is_few_complete_subtrees_from_left_to_right(one: int, other: int) -> None:
    """They cover the range, each where a subtree of its size can be, and no two of them are one larger subtree."""
    first, last = sorted((one, other))
    places = list(complete_subtrees(first, last))
    spans = [(index << level, (index + 1) << level) for level, index in places]
    assert [start for start, _ in spans] == ([first, *(end for _, end in spans)][: len(spans)])
    assert (spans[-1][1] if spans else first) == last
    assert all(level != after or index & 1 for (level, index), (after, _) in pairwise(places))


def test_a_tree_that_grows_by_leaves_and_subtrees_has_the_root_of_its_leaves() -> None:
    assert CompactRange().root() == EMPTY_ROOT
    for size in range(SIZE_MAX):
        made = CompactRange()
        for leaf in LEAVES[: size // 3]:
            made.take(0, leaf)
        made.skip(size, tree.skipped(STORED, [(size // 3, size)])[0])
        assert (made.size, made.root()) == (size, ROOTS[size])


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_a_frontier_survives_being_written_down(seed: int) -> None:
    """from_bytes(to_bytes(f)) == f, and no other length of bytes is read."""
    size = random.Random(seed).randrange(SIZE_MAX)
    frontier = tree.frontier_at(STORED, size)
    written = frontier.to_bytes()
    assert tree.Frontier.from_bytes(written) == frontier
    for bad in (written[:-1], written + b"\0", b"\xff" * 8 + written[8:]):
        with pytest.raises(Corrupt):
            tree.Frontier.from_bytes(bad)


def test_proofs_are_made_from_few_reads_even_in_a_large_tree() -> None:
    """At most two runs on each stored level: what makes a proof cost a tenth of a millisecond at a million leaves."""
    size = 70_001
    large = rows(numbered(size))
    chance = random.Random(7)
    for _ in range(50):
        large.reads = 0
        index = chance.randrange(size)
        verify_inclusion(
            index, size, large.levels[0][index], tree.inclusion_proof(large, index, size), large.frontier.root()
        )
        assert large.reads <= 10
    large.reads = 0
    indices = chance.sample(range(size), 20_000)
    between = tree.skipped(large, gaps(size, set(indices)))
    leaves = {index: large.levels[0][index] for index in indices}
    prove_together(leaves, size, between, large.frontier.root())
    assert large.reads <= 80


def test_missing_hashes_are_reported() -> None:
    lost = rows(LEAVES)
    del lost.levels[0][100:]
    with pytest.raises(Corrupt, match="hashes missing"):
        tree.inclusion_proof(lost, 150, SIZE_MAX)
