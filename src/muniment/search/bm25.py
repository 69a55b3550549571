"""How well the words of passages match: Okapi BM25 over postings; a document is as good as its best passage.

The rarest terms come first. When they found enough, a term that is everywhere finds nothing more by itself: it is only
looked for in what was found, where all are scored; it would add what is at the end of every order.

The rarity of a term is that of its occurrences among the passages of the whole index, and is known without a look at
any of them. So what a few documents score costs as little as they are few, and is the same as when all are scored. All
sums have one order, that of rarity: a score does not depend on what else was put in, when, or how often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.ranking.columns import Rows, Scores
from muniment.search.document_table import Passages
from muniment.search.postings import NONE, Places, Postings

K1 = 1.2  # Robertson and Zaragoza 2009, "The probabilistic relevance framework", with their usual values
B = 0.75
FEW_SHARE = 16  # of so many passages one: then looking them up is quicker than walking along the places of a term
ENOUGH = 20_000  # passages
BEGINNING_MAX = 10_000  # places of the rarest term of a phrase
MANY = 50_000  # places of a term

Numbers = NDArray[np.int64]


class PassageSelection(NamedTuple):
    """The passages that are scored: their numbers, or None for all; from where to where they go."""

    numbers: Numbers | None
    first: Numbers
    end: Numbers
    row: Numbers


def keyword(postings: Postings, held: Passages, phrases: Sequence[Sequence[str]], within: Rows) -> Scores:
    """Return the score of the best passage of each document in `within`, which are in ascending order."""
    if not len(within):
        return np.zeros(0)
    looked = _looked(held, within)
    found = np.zeros(len(looked.row))
    mean = held.terms / max(held.alive, 1)
    standing = [(places, list(phrase)) for phrase in phrases if len(places := places_of(postings, phrase))]
    for places, _ in sorted(standing, key=lambda each: (len(each[0]), each[1])):
        at, often = _often(looked, found, places)
        norm = K1 * (1 - B + B * (looked.end[at] - looked.first[at]) / mean)
        found[at] += _rarity(len(places), held.alive) * (often * (K1 + 1) / (often + norm))
    if looked.numbers is None:
        scores = _best(found, looked.row, int(within[-1]) + 1)
        return scores if len(scores) == len(within) else scores[within]
    return _best(found, np.searchsorted(within, looked.row), len(within))


def holding(postings: Postings, held: Passages, phrase: Sequence[str], within: Rows) -> Rows:
    """Return documents that hold a phrase: at least those in `within`, which are in ascending order, that do."""
    looked, places = _looked(held, within), places_of(postings, phrase)
    if not len(looked.row) or not len(places):
        return np.empty(0, np.int64)
    return np.array(looked.row[_often(looked, np.zeros(0), places)[0]])


def beginning(postings: Postings, held: Passages, phrase: Sequence[str]) -> Rows:
    """Return the documents that begin with a phrase, in ascending order; none where each term of it is everywhere."""
    parts = [postings.of(term) for term in phrase]
    if min(len(places) for places in parts) > BEGINNING_MAX:
        return np.empty(0, np.int64)
    places = _in_a_row(parts)
    if not len(places):
        return np.empty(0, np.int64)
    first, row = np.frombuffer(held.first, np.int64), np.frombuffer(held.row, np.int64)
    at = np.searchsorted(first, places, "right") - 1
    begins = (first[at] == places) & ((at == 0) | (row[at - 1] != row[at]))
    found: Rows = row[at[begins]]
    return found


def places_of(postings: Postings, phrase: Sequence[str]) -> Places:
    """Return the places at which a phrase begins, ascending: the rarest of its terms is looked up in the others."""
    return _in_a_row([postings.of(term) for term in phrase])


def _in_a_row(parts: Sequence[Places]) -> Places:
    if len(parts) < 2:
        return parts[0] if parts else NONE
    shift = min(range(len(parts)), key=lambda offset: len(parts[offset]))
    rarest = parts[shift]
    begins = rarest[rarest >= shift] - np.uint32(shift)
    for offset, places in enumerate(parts):
        if len(begins) and offset != shift:
            begins = begins[_in(begins + np.uint32(offset), places)]
    return begins


def _in(wanted: Places, places: Places) -> NDArray[np.bool_]:
    if not len(places):
        return np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    return np.asarray(places[at] == wanted)


def _looked(held: Passages, within: Rows) -> PassageSelection:
    first, end = np.frombuffer(held.first, np.int64), np.frombuffer(held.end, np.int64)
    row = np.frombuffer(held.row, np.int64)
    if len(within) * FEW_SHARE > len(row):
        return PassageSelection(None, first, end, row)
    begins, ends = np.searchsorted(row, within, "left"), np.searchsorted(row, within, "right")
    often = ends - begins
    numbers = np.repeat(begins - np.cumsum(often) + often, often) + np.arange(int(often.sum()))
    return PassageSelection(numbers, first[numbers], end[numbers], row[numbers])


def _often(looked: PassageSelection, found: Scores, places: Places) -> tuple[Numbers, NDArray[np.float64]]:
    """Return which of the passages that are looked at have a term, and how often."""
    among = None
    if looked.numbers is not None:
        among = np.arange(len(looked.row))
    elif len(places) > MANY and np.count_nonzero(found) > ENOUGH:
        among = np.flatnonzero(found)
    if among is None:
        of = np.searchsorted(looked.first, places, "right") - 1
        begins = np.flatnonzero(np.diff(of, prepend=-1))
        return of[begins], np.diff(begins, append=len(of)).astype(np.float64)
    first, end = looked.first[among].astype(places.dtype), looked.end[among].astype(places.dtype)
    often = np.searchsorted(places, end) - np.searchsorted(places, first)
    at = np.flatnonzero(often)
    return among[at], often[at].astype(np.float64)


def _rarity(often: int, passages: int) -> float:
    held = min(often, passages)
    return float(np.log(1 + (passages - held + 0.5) / (held + 0.5)))


def _best(found: Scores, places: Numbers, count: int) -> Scores:
    """Return the best of each place; passages of a document have one place and stand side by side."""
    some, scores = np.flatnonzero(found), np.zeros(count)
    if len(some):
        at = places[some]
        begins = np.flatnonzero(np.diff(at, prepend=-1))
        at, best = at[begins], np.maximum.reduceat(found[some], begins)
        wanted = at < count
        scores[at[wanted]] = best[wanted]
    return scores
