"""Ranking: from the signals of every candidate to one order.

1. A document's own score is how well its words match, and how similar its meaning is.
2. Hits are the candidates with a word of the question or a similar meaning, and their neighbours in their session:
   often a question is asked in one message and answered in the next. Nothing else makes a hit, except a time if the
   question names nothing else ("what did Ada say yesterday?"): without a word or a similar meaning, the answer is
   empty.
3. Of very many hits, the best by their own score and priors are scored, with their neighbours.
4. The other signals are added to the score of each, weighted, always in the order of `SIGNALS`.
5. Ties: the later one first, then the higher sequence, then the higher place in the turn, then the conversation that
   was opened later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.ranking import signals
from muniment.ranking.columns import FEW_SHARE, NO_ROW, Columns, Corpus, Rows, Scores
from muniment.ranking.question import ParsedQuestion
from muniment.ranking.weights import PRESETS, Weights

SIGNALS = ("keyword", "semantic", "neighbours", "beyond", "session", "speaker", "role", "date", "recency")
SCORED_MAX = 5_000  # of more hits, the best by their own score and priors are scored
LENT = {"neighbours": signals.neighbours, "beyond": signals.beyond, "session": signals.session}
NAME_SHARE = 0.25  # of what the words of a message count, where they name somebody
RANKED_MAX = 10_000  # of more hits, the best are returned


class Ranked(NamedTuple):
    """The hits of a question, best first: their numbers, scores, and the part of each signal in the score.

    `matching` tells which match by themselves; the others are beside such a one. `matches` counts the documents that
    match, also those that are not among the hits; not `complete`: there may be more. `semantic_best` is how far
    the best cosine is above the mean; answers of two indexes are compared by it.
    """

    rows: Rows
    scores: Scores
    signals: Mapping[str, Scores]
    matching: NDArray[np.bool_]
    matches: int
    complete: bool = True
    semantic_best: float = 0.0


def rank(
    question: ParsedQuestion, corpus: Corpus, candidates: Rows, weights: Weights | None = None, limit: int = RANKED_MAX
) -> Ranked:
    """Rank candidates, which are in ascending order, and return at most `limit` hits.

    Without weights those of a preset count: of `meaning` where there are vectors, else of `words`.
    """
    columns = corpus.columns
    own = _own_scores(corpus, question, candidates, weights)
    if not len(candidates) or len(candidates) * FEW_SHARE > len(columns.alive):
        return _ranked(question, columns, candidates, own, limit)
    kept, few = columns.among(candidates)
    own = own._replace(rows=np.searchsorted(kept, own.rows))
    found = _ranked(question, few, np.searchsorted(kept, candidates), own, limit)
    return found._replace(rows=kept[found.rows])


def _ranked(question: ParsedQuestion, columns: Columns, candidates: Rows, own: OwnScores, limit: int) -> Ranked:
    weights = own.weights
    priors = Priors(columns, question, weights)
    by_words, by_meaning = own.keyword > 0, own.semantic >= weights.semantic * signals.NEAR_SHARE
    in_time = np.zeros(len(own.rows), np.bool_)
    if question.only_times and weights.date:
        in_time = signals.date(columns, own.rows, question.ranges) == 1
    found = np.flatnonzero(by_words | in_time | (by_meaning & (own.semantic > 0)))
    rows = own.rows[found]
    rows = rows[_greatest(columns, rows, own.total[found] + priors.total(rows), SCORED_MAX)]
    if weights.neighbours:
        rows = _with_neighbours(columns, candidates, rows)
    field = signals.spread(columns, own.rows, own.total)
    weighted = own.of(rows) | priors.of(rows)
    for name, signal in LENT.items():
        weight = getattr(weights, name)
        weighted[name] = weight * signal(columns, rows, field) if weight else np.zeros(len(rows))
    ordered = _ordered(columns, rows, weighted, limit)
    matching = np.isin(ordered.rows, own.rows[found])
    return ordered._replace(
        matching=matching,
        matches=len(found),
        complete=own.complete,
        semantic_best=own.semantic_best,
    )


class OwnScores(NamedTuple):
    """The own scores of documents: of all candidates where meaning or a time counts, else of those with a word."""

    weights: Weights
    rows: Rows
    keyword: Scores
    semantic: Scores
    total: Scores
    complete: bool
    semantic_best: float

    def of(self, rows: Rows) -> dict[str, Scores]:
        """Return them for some rows; 0 for all others."""
        if not len(self.rows):
            return {"keyword": np.zeros(len(rows)), "semantic": np.zeros(len(rows))}
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        here = self.rows[at] == rows
        return {"keyword": self.keyword[at] * here, "semantic": self.semantic[at] * here}


def _own_scores(corpus: Corpus, question: ParsedQuestion, candidates: Rows, weights: Weights | None) -> OwnScores:
    keyword, complete = corpus.scored(question.phrases, candidates)
    if question.names:
        of_names = corpus.scored(question.names, candidates)
        keyword, complete = keyword + NAME_SHARE * of_names.scores, complete and of_names.complete
    wanted = question.meaning and (weights is None or weights.semantic > 0)
    cosines = corpus.similarity(question.meaning, candidates) if wanted else None
    if weights is None:
        weights = PRESETS["words" if cosines is None else "meaning"]
    if cosines is None and not question.only_times:
        some = np.flatnonzero(keyword)
        candidates, keyword = candidates[some], keyword[some]
    keyword, semantic_best = signals.scaled(keyword), 0.0
    semantic = np.zeros(len(keyword))
    if cosines is not None:
        semantic, semantic_best = weights.semantic * signals.semantic(cosines, keyword), signals.nearest(cosines)
    keyword = weights.keyword * keyword
    return OwnScores(weights, candidates, keyword, semantic, keyword + semantic, complete, semantic_best)


class Priors(NamedTuple):
    """The signals that do not depend on the words of a document."""

    columns: Columns
    question: ParsedQuestion
    weights: Weights

    def of(self, rows: Rows) -> dict[str, Scores]:
        """Return what each of them adds to the score."""
        columns, question, weights, zeros = self.columns, self.question, self.weights, np.zeros(len(rows))
        return {
            "speaker": weights.speaker * signals.speaker(columns, rows, question.speakers),
            "role": weights.role * signals.role(columns, rows, question.role) if weights.role else zeros,
            "date": weights.date * signals.date(columns, rows, question.ranges) if weights.date else zeros,
            "recency": weights.recency * signals.recency(columns, rows, question.asked_ms)
            if weights.recency
            else zeros,
        }

    def total(self, rows: Rows) -> Scores:
        """Return what they add together."""
        return _sum(self.of(rows), len(rows))


def _sum(weighted: Mapping[str, Scores], count: int) -> Scores:
    """Add up signals, each to the sum of those before it, so that the sum has one order."""
    total = np.zeros(count)
    for name in SIGNALS:
        if name in weighted:
            total += weighted[name]
    return total


def _greatest(columns: Columns, rows: Rows, values: Scores, limit: int) -> Rows:
    """Return at most `limit` places: those with the greatest values, of equal ones the first in order."""
    room, rest, kept = limit, np.arange(len(rows)), np.empty(0, np.int64)
    for key in (None, *_places(columns)):
        if len(rest) <= room:
            break
        found = values[rest] if key is None else key[rows[rest]]
        least = np.partition(found, len(found) - room)[len(found) - room]
        kept = np.append(kept, rest[found > least])
        room, rest = limit - len(kept), rest[found == least]
    return np.sort(np.append(kept, rest))


def _places(columns: Columns) -> tuple[Rows, ...]:
    """Return the columns by which equal scores are ordered, the greater first."""
    return columns.time_ms, columns.turn, columns.message, columns.stream


def _with_neighbours(columns: Columns, candidates: Rows, hits: Rows) -> Rows:
    """Return hits and the candidates next to them, in ascending order."""
    near = np.zeros(len(columns.alive) + 1, np.bool_)
    for rows in (hits, columns.previous[hits], columns.following[hits]):
        near[rows] = True
    near[NO_ROW] = False
    if len(candidates) == len(columns.alive):
        return np.flatnonzero(near)
    return candidates[near[candidates]]


def _ordered(columns: Columns, rows: Rows, weighted: Mapping[str, Scores], limit: int) -> Ranked:
    """Return the best, in order."""
    total = _sum(weighted, len(rows))
    kept = _greatest(columns, rows, total, limit)
    order = kept[np.argsort(-total[kept], kind="stable")]
    same, tied = np.diff(total[order]) == 0, np.zeros(len(order), np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    equal = order[tied]
    if len(equal):
        keys = [key[rows[equal]] for key in reversed(_places(columns))]
        order[tied] = equal[np.lexsort((*keys, total[equal]))[::-1]]
    signals_of = {name: weighted[name][order] for name in SIGNALS}
    return Ranked(rows[order], total[order], signals_of, np.ones(len(order), np.bool_), len(order))
