"""The vectors of passages: exact up to a number, nearly so beyond, and gone without a trace when they are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from muniment.search import vectors
from muniment.search.vectors import Vectors

DIMENSION = 96
CENTRE = np.zeros(DIMENSION, np.float32)
ROUNDED = 0.01  # what a byte for each number may change in a cosine of few dimensions

Floats = NDArray[np.float32]


def unit(count: int, seed: int = 1, lean: float = 0.0, groups: int = 0) -> Floats:
    """Return vectors of unit length: of chance, or in groups; with a lean, all in one corner."""
    chance = np.random.default_rng(seed)
    found = chance.normal(size=(count, DIMENSION)) / np.sqrt(DIMENSION)
    if groups:
        middles = np.random.default_rng(7).normal(size=(groups, DIMENSION)) / np.sqrt(DIMENSION)
        found += middles[chance.integers(0, groups, count)]
    found[:, 0] += lean
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def empty(digest: str = "model") -> Vectors:
    """Return a place for vectors."""
    return Vectors(digest, DIMENSION, lambda: CENTRE)


def numbers(*values: int) -> NDArray[np.int64]:
    """Return numbers of passages."""
    return np.array(values, np.int64)


def by_passage(made: Vectors, query: Floats, within: NDArray[np.int64] | None = None) -> dict[int, float]:
    """Return the cosines by passage."""
    found = made.similar(query, within)
    return dict(zip(found.passages.tolist(), found.cosines.tolist(), strict=True))


def test_cosines_are_those_of_the_vectors() -> None:
    """A byte for each number loses little."""
    rows, made = unit(1000), empty()
    made.put(np.arange(1000), rows)
    query = unit(1, seed=5)[0]
    found = by_passage(made, query)
    assert list(found) == list(range(1000))
    assert np.abs(np.array(list(found.values())) - rows @ query).max() < ROUNDED


@given(
    acts=st.lists(st.tuples(st.sampled_from(["put", "drop"]), st.sets(st.integers(0, 40), max_size=12)), max_size=12),
    coded=st.booleans(),
)
def test_what_was_put_and_not_dropped_is_there_whatever_the_order(
    acts: list[tuple[str, set[int]]], coded: bool
) -> None:
    """After any puts and drops the vectors are incrementally those of a place that was filled once; codes too."""
    rows, query = unit(41), unit(1, seed=5)[0]
    grown, expected = empty(), set[int]()
    if coded:
        assert grown._coded()
    for what, passages in acts:
        each = np.array(sorted(passages), np.int64)
        if what == "put":
            grown.put(each, rows[each])
            expected |= passages
        else:
            grown.drop(each)
            expected -= passages
    whole, left = empty(), np.array(sorted(expected), np.int64)
    whole.put(left, rows[left])
    assert len(grown) == len(expected)
    assert by_passage(grown, query) == by_passage(whole, query)
    assert dict(grown.sections()) == dict(whole.sections())
    assert grown.have(np.arange(60)).tolist() == [number in expected for number in range(60)]
    if coded and expected:
        assert whole._coded()
        assert grown._codes is not None
        assert whole._codes is not None
        order = np.argsort(grown._passages[: len(grown)])
        estimates = grown._codes.estimates(query, len(grown), None)[order]
        assert np.array_equal(estimates, whole._codes.estimates(query, len(whole), None))


def test_nothing_stays_of_a_vector_that_was_dropped() -> None:
    """Its bytes are overwritten, in the arrays and in the codes."""
    made, rows = empty(), unit(50)
    assert made._coded()
    made.put(np.arange(50), rows)
    gone = made._numbers[[3, 49]].copy()
    made.drop([3, 49, 49, 77, -1])
    assert made._codes is not None
    for each in gone:
        assert not (made._numbers == each).all(axis=1).any()
    assert not made._numbers[48:].any()
    assert not made._codes._planes[:, 48:].any()
    assert not made._scales[48:].any()


def test_within_is_a_filter_of_the_whole() -> None:
    """Passages without a vector are left out; the others have the same cosine as in the whole."""
    made, rows = empty(), unit(30)
    made.put(np.arange(0, 60, 2), rows)
    query = unit(1, seed=5)[0]
    whole = by_passage(made, query)
    some = by_passage(made, query, numbers(4, 5, 0, 58, 1000))
    assert some == {number: whole[number] for number in (4, 0, 58)}


@given(kept=st.sets(st.integers(0, 30)), held=st.sets(st.integers(0, 30)))
def test_passages_are_numbered_anew(kept: set[int], held: set[int]) -> None:
    """Each kept passage has its place in the list as its number; the others are dropped."""
    rows, query, made = unit(31), unit(1, seed=5)[0], empty()
    each = np.array(sorted(held), np.int64)
    made.put(each, rows[each])
    before = by_passage(made, query)
    order = np.array(sorted(kept), np.int64)
    made.renumber(order)
    after = by_passage(made, query)
    assert after == {place: before[number] for place, number in enumerate(order.tolist()) if number in held}
    made.put(numbers(35), rows[:1])
    assert len(made) == len(after) + 1


@pytest.mark.parametrize("lean", [0.0, 2.0])
def test_codes_find_what_an_exact_scan_finds(lean: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the best are found all the same, also where a model puts all texts into one corner."""
    rows, queries = unit(6000, lean=lean, groups=200), unit(20, seed=9, lean=lean, groups=200)
    centre = unit(500, seed=3, lean=lean, groups=200).mean(axis=0)
    made = Vectors("model", DIMENSION, lambda: centre)
    made.put(np.arange(6000), rows)
    exact = [made.similar(query) for query in queries]
    monkeypatch.setattr(vectors, "EXACT_MAX", 100)
    monkeypatch.setattr(vectors, "RESCORED", 600)
    shares = []
    for query, whole in zip(queries, exact, strict=True):
        found = made.similar(query)
        best = np.argsort(-found.cosines)[:10]
        assert np.isin(best, np.argsort(-whole.cosines)[:300]).all()
        assert np.array_equal(found.cosines[best], whole.cosines[best])  # the best ones are exact
        assert np.abs(found.cosines - whole.cosines).mean() < 0.15
        shares.append(np.isin(np.argsort(-whole.cosines)[:10], best).mean())
        some = np.arange(0, 6000, 3)
        assert np.argmax(made.similar(query, some).cosines) == np.argmax(whole.cosines[some])
    assert np.mean(shares) > 0.95


def test_without_a_centre_the_scan_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that does not tell its middle costs time, not hits."""
    made, query = Vectors("model", DIMENSION, lambda: None), unit(1, seed=5)[0]
    made.put(np.arange(300), unit(300))
    exact = by_passage(made, query)
    monkeypatch.setattr(vectors, "EXACT_MAX", 10)
    assert by_passage(made, query) == exact


def test_sections_are_restored_for_the_same_embedder_alone() -> None:
    """What another model made means nothing here."""
    made, query = empty(), unit(1, seed=5)[0]
    made.put(numbers(7, 3, 9), unit(3))
    sections: dict[str, Any] = dict(made.sections())
    again, other = empty(), empty("another")
    assert again.restore(sections)
    assert by_passage(again, query) == by_passage(made, query)
    assert not other.restore(sections)
    assert not empty().restore({})
    assert (len(other), other.memory_bytes) == (0, empty().memory_bytes)
    nothing = empty()
    assert nothing.restore(dict(empty().sections()))
    assert nothing.similar(query).passages.tolist() == []


def test_there_is_room_for_more_than_was_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors and codes grow; incrementally as if they had come at once."""
    rows, query, count = unit(1000), unit(1, seed=5)[0], 1000
    grown, whole = empty(), empty()
    assert grown._coded()
    for first in range(0, count, 90):
        grown.put(np.arange(first, min(first + 90, count)), rows[first : first + 90])
    whole.put(np.arange(count), rows)
    assert by_passage(grown, query) == by_passage(whole, query)
    monkeypatch.setattr(vectors, "EXACT_MAX", 10)
    monkeypatch.setattr(vectors, "RESCORED", 50)
    assert by_passage(grown, query) == by_passage(whole, query)
    assert grown.memory_bytes > empty().memory_bytes
