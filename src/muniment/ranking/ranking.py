"""Ranking: from the signals of every candidate to one order.

1. What a document is worth by itself is how well its words match, and how near its meaning is.
2. Looked at are the candidates that are worth something by themselves, and those beside them in their session: often
   the words of a question are asked in one message and answered in the next. Nothing else ever makes a hit.
3. To each of these the other signals are added, weighted, always in the order of `SIGNALS`.
4. Ties: the later one first, then the higher sequence, then the higher place in the turn, then the conversation that
   was opened later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from muniment.ranking import signals
from muniment.ranking.columns import NO_ROW, Columns, Corpus, Rows, Scores
from muniment.ranking.question import Asked, Question, understood
from muniment.ranking.weights import PRESETS, Weights

SIGNALS = ("keyword", "semantic", "neighbours", "session", "speaker", "role", "date", "recency")
RANKED_MAX = 10_000  # of more hits, the best ones are told


class Ranked(NamedTuple):
    """Documents that answer a question, best first: their numbers, scores, and what each signal added to the score."""

    rows: Rows
    scores: Scores
    signals: Mapping[str, Scores]


def rank(
    question: Question, corpus: Corpus, candidates: Rows, weights: Weights | None = None, most: int = RANKED_MAX
) -> Ranked:
    """Rank candidates, which are in ascending order, and tell at most so many hits.

    Without weights those of a preset count: of `meaning` where there are vectors, else of `words`.
    """
    asked = understood(question, corpus)
    columns = corpus.columns
    keyword = signals.scaled(corpus.keyword(asked.phrases, candidates))
    wanted = asked.meaning and (weights is None or weights.semantic > 0)
    cosines = corpus.similarity(asked.meaning, candidates) if wanted else None
    if weights is None:
        weights = PRESETS["words" if cosines is None else "meaning"]
    semantic = np.zeros(len(candidates)) if cosines is None else signals.semantic(cosines, keyword)
    field = signals.spread(columns, candidates, weights.keyword * keyword + weights.semantic * semantic)
    rows = _looked_at(columns, candidates, field)
    at = np.searchsorted(candidates, rows)
    told = {"keyword": keyword[at], "semantic": semantic[at]} | _priors(columns, rows, field, asked, question.asked_ms)
    return _best(columns, rows, {name: getattr(weights, name) * told[name] for name in SIGNALS}, most)


def _looked_at(columns: Columns, candidates: Rows, field: Scores) -> Rows:
    """Return the candidates that are worth something, and those beside them, in ascending order."""
    found = np.flatnonzero(field)
    near, looked = np.zeros(len(field), np.bool_), np.zeros(len(field), np.bool_)
    for rows in (found, columns.previous[found], columns.following[found]):
        near[rows] = True
    near[NO_ROW] = False
    looked[candidates] = near[candidates]
    return np.flatnonzero(looked)


def _priors(columns: Columns, rows: Rows, field: Scores, asked: Asked, asked_ms: int) -> dict[str, Scores]:
    return {
        "neighbours": signals.neighbours(columns, rows, field),
        "session": signals.session(columns, rows, field),
        "speaker": signals.speaker(columns, rows, asked.speakers),
        "role": signals.role(columns, rows, asked.role),
        "date": signals.date(columns, rows, asked.ranges),
        "recency": signals.recency(columns, rows, asked_ms),
    }


def _best(columns: Columns, rows: Rows, parts: Mapping[str, Scores], most: int) -> Ranked:
    """Return the best, in order. A signal is added to the sum of those before it, so that the sum has one order."""
    total = np.zeros(len(rows))
    for name in SIGNALS:
        total = total + parts[name]
    kept = np.arange(len(rows))
    if len(rows) > most:
        least = np.partition(total, len(rows) - most)[len(rows) - most]
        kept = np.flatnonzero(total >= least)
    keys = (columns.stream, columns.message, columns.turn, columns.time_ms)
    order = kept[np.lexsort((*(key[rows[kept]] for key in keys), total[kept]))[::-1]][:most]
    return Ranked(rows[order], total[order], {name: parts[name][order] for name in SIGNALS})
