"""How well the words of passages match: Okapi BM25 over postings; a document is as good as its best passage.

The formula is that of Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", with their
usual K1 and B; the rarity of a term counts its occurrences among the passages that are scored, and nothing outside them
changes a score.

The rarest terms come first. When they match enough passages, a very frequent term matches no others by itself: it only
adds to the scores of those, because its own matches would be last in every order.

Rarity is known from where the passages lie, run by run, without reading them. All sums have one order, that of rarity:
a score does not depend on the history of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.ranking.columns import KeywordScores, Rows, Scores
from muniment.search.document_table import Passages
from muniment.search.postings import NONE, Places, Postings

K1 = 1.2
B = 0.75
FEW_SHARE = 16  # for one in so many passages, searching the places of a term is quicker than reading them all
ENOUGH = 20_000  # passages
BEGINNING_MAX = 10_000  # places of the rarest term of a phrase
MANY = 50_000  # places of a term

NO_ROWS: Rows = np.empty(0, np.int64)

Numbers = NDArray[np.int64]


class PassageSelection(NamedTuple):
    """The passages to score: their numbers, or None for all; their places and their documents."""

    numbers: Numbers | None
    first: Numbers
    end: Numbers
    row: Numbers


class Statistics(NamedTuple):
    """What scores are relative to: how many passages are scored, and how many terms they have on average.

    `inside` tells which of the selected passages these are, or None for all of them. They form runs, which begin and
    end at these places.
    """

    passages: int = 0
    mean: float = 1.0
    inside: NDArray[np.bool_] | None = None
    begins: Places = NONE
    ends: Places = NONE

    def occurrences(self, places: Places) -> int:
        """Return how many of these places are in what is scored."""
        if not len(self.begins):
            return len(places)
        return int((np.searchsorted(places, self.ends) - np.searchsorted(places, self.begins)).sum())


def keyword(
    postings: Postings, held: Passages, phrases: Sequence[Sequence[str]], within: Rows, *, whole: bool
) -> KeywordScores:
    """Return the score of the best passage of each document in `within`, in ascending order; `whole`: of every one."""
    selected = _selected(held, within)
    if not len(selected.row):
        return KeywordScores(np.zeros(len(within)))
    statistics = Statistics(held.alive, held.terms / max(held.alive, 1)) if whole else _statistics(selected, within)
    if not statistics.passages:
        return KeywordScores(np.zeros(len(within)))
    scores, is_complete = np.zeros(len(selected.row)), True
    located = ((list(phrase), places_of(postings, phrase)) for phrase in phrases)
    present = [(count, phrase, places) for phrase, places in located if (count := statistics.occurrences(places))]
    for count, _, places in sorted(present, key=itemgetter(0, 1)):
        has_enough = count > MANY and np.count_nonzero(scores) > ENOUGH
        is_complete &= not has_enough
        at, counts = _frequencies(selected, places, np.flatnonzero(scores) if has_enough else None)
        if statistics.inside is not None:
            at, counts = at[statistics.inside[at]], counts[statistics.inside[at]]
        norm = K1 * (1 - B + B * (selected.end[at] - selected.first[at]) / statistics.mean)
        scores[at] += _rarity(count, statistics.passages) * (counts * (K1 + 1) / (counts + norm))
    if selected.numbers is None:
        best = _best(scores, selected.row, int(within[-1]) + 1)
        return KeywordScores(best if len(best) == len(within) else best[within], is_complete)
    return KeywordScores(_best(scores, np.searchsorted(within, selected.row), len(within)), is_complete)


def _statistics(selected: PassageSelection, within: Rows) -> Statistics:
    """Return what the scores of some documents are relative to: their own passages."""
    inside, first, end = None, selected.first, selected.end
    last = np.diff(selected.numbers, append=-1) != 1 if selected.numbers is not None else np.zeros(len(first), np.bool_)
    if selected.numbers is None:
        scored = np.zeros(int(max(selected.row[-1], within[-1])) + 1, np.bool_)
        scored[within] = True
        inside = scored[selected.row]
        last = np.diff(inside, append=False) & inside
        first, end = first[inside], end[inside]
        last = last[inside]
    if not len(first):
        return Statistics()
    begins = np.append(True, last[:-1])
    lengths = end - first
    passages, terms = int(np.count_nonzero(lengths)), int(lengths.sum())
    return Statistics(
        passages, terms / max(passages, 1), inside, first[begins].astype(np.uint32), end[last].astype(np.uint32)
    )


def holding(postings: Postings, held: Passages, phrase: Sequence[str], within: Rows) -> Rows:
    """Return documents with a phrase: at least those in `within`, which are in ascending order."""
    selected, places = _selected(held, within), places_of(postings, phrase)
    if not len(selected.row) or not len(places):
        return NO_ROWS
    return np.array(selected.row[_frequencies(selected, places)[0]])


def beginning(postings: Postings, held: Passages, phrase: Sequence[str], within: Rows, *, whole: bool) -> Rows:
    """Return those of some documents that begin with a phrase, ascending; none where all its terms are frequent."""
    parts = [postings.of(term) for term in phrase]
    rarest = min(parts, key=len)
    if not len(rarest) or not len(within):
        return NO_ROWS
    if len(rarest) > BEGINNING_MAX and len(within) > BEGINNING_MAX:
        statistics = Statistics() if whole else _statistics(_selected(held, within), within)
        if min(map(statistics.occurrences, parts)) > BEGINNING_MAX:
            return NO_ROWS
    places = _in_a_row(parts)
    first, row = np.frombuffer(held.first, np.int64), np.frombuffer(held.row, np.int64)
    at = np.maximum(np.searchsorted(first, places, "right") - 1, 0)
    begins = (first[at] == places) & ((at == 0) | (row[at - 1] != row[at]))
    rows: Rows = row[at[begins]]
    return rows[np.isin(rows, within)]


def places_of(postings: Postings, phrase: Sequence[str]) -> Places:
    """Return the places at which a phrase begins, ascending, by looking up its rarest term in the others."""
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


def _selected(held: Passages, within: Rows) -> PassageSelection:
    first, end = np.frombuffer(held.first, np.int64), np.frombuffer(held.end, np.int64)
    row = np.frombuffer(held.row, np.int64)
    if len(within) * FEW_SHARE > len(row):
        return PassageSelection(None, first, end, row)
    begins, ends = np.searchsorted(row, within, "left"), np.searchsorted(row, within, "right")
    counts = ends - begins
    numbers = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    return PassageSelection(numbers, first[numbers], end[numbers], row[numbers])


def _frequencies(
    selected: PassageSelection, places: Places, among: Numbers | None = None
) -> tuple[Numbers, NDArray[np.float64]]:
    """Return which of the selected passages have a term, and how often; with `among`, only which of these."""
    if among is None and selected.numbers is not None:
        among = np.arange(len(selected.row))
    if among is None:
        of = np.searchsorted(selected.first, places, "right") - 1
        begins = np.flatnonzero(np.diff(of, prepend=-1))
        return of[begins], np.diff(begins, append=len(of)).astype(np.float64)
    first, end = selected.first[among].astype(places.dtype), selected.end[among].astype(places.dtype)
    counts = np.searchsorted(places, end) - np.searchsorted(places, first)
    at = np.flatnonzero(counts)
    return among[at], counts[at].astype(np.float64)


def _rarity(occurrences: int, passages: int) -> float:
    matching = min(occurrences, passages)
    return float(np.log(1 + (passages - matching + 0.5) / (matching + 0.5)))


def _best(scores: Scores, places: Numbers, count: int) -> Scores:
    """Return the best score of each document; the passages of one follow each other."""
    some, result = np.flatnonzero(scores), np.zeros(count)
    if len(some):
        at = places[some]
        begins = np.flatnonzero(np.diff(at, prepend=-1))
        at, best = at[begins], np.maximum.reduceat(scores[some], begins)
        wanted = at < count
        result[at[wanted]] = best[wanted]
    return result
