"""The order of an answer: the best first, or the latest, and always the same one.

`everything` says that all candidates are hits, because a phrase or a filter found them: those that ranking has nothing
to say about then stand behind those that it ranked. Otherwise hits are those that score.
"""

from __future__ import annotations

import numpy as np

from muniment.kernel.digest import sha256
from muniment.ranking.columns import Rows, Scores
from muniment.ranking.question import ParsedQuestion
from muniment.ranking.ranking import Ranked, rank
from muniment.ranking.weights import Weights
from muniment.search.index import Index

KEYWORD = "keyword"


def best_first(
    index: Index, asked: ParsedQuestion, rows: Rows, weights: Weights | None, most: int, *, everything: bool
) -> Ranked:
    """Return what answers a question among candidates, the best first."""
    found = rank(asked, index, rows, weights, most)
    found = _taken(found, np.flatnonzero(found.scores > 0))
    return _with_all(index, found, rows) if everything else found


def latest_first(index: Index, asked: ParsedQuestion, rows: Rows, most: int, *, everything: bool) -> Ranked:
    """Return the candidates that hold a word of a question, all of them, the latest first; words alone score."""
    held = np.zeros(len(rows), np.bool_)
    for phrase in asked.phrases:
        held |= index.holding(phrase, rows)
    taken = rows if everything else rows[held]
    scores = index.keyword(asked.phrases, taken)
    scores = scores / max(float(scores.max(initial=0.0)), 1e-9)
    return _taken(Ranked(taken, scores, {KEYWORD: scores}), _by_time(index, taken)[:most])


def order_of(index: Index, rows: Rows) -> bytes:
    """Return a digest of places in their order. It tells something of them, so it travels where nobody can read it."""
    columns = index.columns
    places = np.stack([columns.stream[rows], columns.turn[rows], columns.message[rows]])
    return sha256(places.astype("<i8").tobytes())


def _with_all(index: Index, ranked: Ranked, rows: Rows) -> Ranked:
    """Return all candidates: those that were ranked, then the others, the latest first."""
    rest = np.setdiff1d(rows, ranked.rows)
    rest = rest[_by_time(index, rest)]
    none: Scores = np.zeros(len(rest))
    return Ranked(
        np.concatenate([ranked.rows, rest]),
        np.concatenate([ranked.scores, none]),
        {name: np.concatenate([values, none]) for name, values in ranked.signals.items()},
    )


def _taken(ranked: Ranked, places: Rows) -> Ranked:
    """Return some of what was ranked, in another order."""
    signals = {name: values[places] for name, values in ranked.signals.items()}
    return Ranked(ranked.rows[places], ranked.scores[places], signals)


def _by_time(index: Index, rows: Rows) -> Rows:
    """Return the places of rows in this order: time, sequence, message, conversation, all descending."""
    columns = index.columns
    keys = (columns.stream[rows], columns.message[rows], columns.turn[rows], columns.time_ms[rows])
    return np.lexsort(keys)[::-1]
