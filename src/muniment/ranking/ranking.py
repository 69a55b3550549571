"""Ranking: from the signals of every candidate to one order.

1. What a document is worth by itself is how well its words match, and how near its meaning is.
2. Hits are the candidates that have a word of the question or are near enough to its meaning, and those beside them in
   their session: often what a question asks for was asked in one message and answered in the next. Nothing else makes
   a hit, except what was said in a time if nothing else is asked for ("what did Ada say yesterday?"): where no word
   occurs and no meaning is near, the answer is empty.
3. Where there are very many, the best by themselves and by their priors are looked at, with those beside them.
4. To each of these the other signals are added, weighted, always in the order of `SIGNALS`.
5. Ties: the later one first, then the higher sequence, then the higher place in the turn, then the conversation that
   was opened later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from muniment.ranking import signals
from muniment.ranking.columns import FEW_SHARE, NO_ROW, Columns, Corpus, Rows, Scores
from muniment.ranking.question import ParsedQuestion
from muniment.ranking.weights import PRESETS, Weights

SIGNALS = ("keyword", "semantic", "neighbours", "beyond", "session", "speaker", "role", "date", "recency")
SCORED_MAX = 5_000  # so many of the best by themselves, and by their priors, are looked at
LENT = {"neighbours": signals.neighbours, "beyond": signals.beyond, "session": signals.session}
RANKED_MAX = 10_000  # of more hits, the best ones are told


class Ranked(NamedTuple):
    """Documents that answer a question, best first: their numbers, scores, and what each signal added to the score."""

    rows: Rows
    scores: Scores
    signals: Mapping[str, Scores]


def rank(
    question: ParsedQuestion, corpus: Corpus, candidates: Rows, weights: Weights | None = None, limit: int = RANKED_MAX
) -> Ranked:
    """Rank candidates, which are in ascending order, and return at most `limit` hits.

    Without weights those of a preset count: of `meaning` where there are vectors, else of `words`.
    """
    columns = corpus.columns
    worth = _worth(corpus, question, candidates, weights)
    if not len(candidates) or len(candidates) * FEW_SHARE > len(columns.alive):
        return _ranked(question, columns, candidates, worth, limit)
    kept, few = columns.among(candidates)
    worth = worth._replace(rows=np.searchsorted(kept, worth.rows))
    found = _ranked(question, few, np.searchsorted(kept, candidates), worth, limit)
    return found._replace(rows=kept[found.rows])


def _ranked(question: ParsedQuestion, columns: Columns, candidates: Rows, worth: Worth, limit: int) -> Ranked:
    weights = worth.weights
    priors = Priors(columns, question, weights)
    by_words, by_meaning = worth.keyword > 0, worth.semantic >= weights.semantic * signals.NEAR_SHARE
    in_time = np.zeros(len(worth.rows), np.bool_)
    if question.only_times and weights.date:
        in_time = signals.date(columns, worth.rows, question.ranges) == 1
    found = np.flatnonzero(by_words | in_time | (by_meaning & (worth.semantic > 0)))
    rows = worth.rows[found]
    rows = rows[_greatest(columns, rows, worth.own[found] + priors.total(rows), SCORED_MAX)]
    if weights.neighbours:
        rows = _with_neighbours(columns, candidates, rows)
    field = signals.spread(columns, worth.rows, worth.own)
    told = worth.of(rows) | priors.of(rows)
    for name, signal in LENT.items():
        told[name] = _weighted(getattr(weights, name), partial(signal, columns, rows, field), len(rows))
    return _ordered(columns, rows, told, limit)


class Worth(NamedTuple):
    """What documents are worth by themselves: all candidates where meaning or a time counts, else those with a word."""

    weights: Weights
    rows: Rows
    keyword: Scores
    semantic: Scores
    own: Scores

    def of(self, rows: Rows) -> dict[str, Scores]:
        """Return it for some rows; nothing for those that are worth nothing."""
        if not len(self.rows):
            return {"keyword": np.zeros(len(rows)), "semantic": np.zeros(len(rows))}
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        here = self.rows[at] == rows
        return {"keyword": self.keyword[at] * here, "semantic": self.semantic[at] * here}


def _worth(corpus: Corpus, question: ParsedQuestion, candidates: Rows, weights: Weights | None) -> Worth:
    keyword = corpus.keyword(question.phrases, candidates)
    wanted = question.meaning and (weights is None or weights.semantic > 0)
    cosines = corpus.similarity(question.meaning, candidates) if wanted else None
    if weights is None:
        weights = PRESETS["words" if cosines is None else "meaning"]
    if cosines is None and not question.only_times:
        some = np.flatnonzero(keyword)
        candidates, keyword = candidates[some], keyword[some]
    keyword = signals.scaled(keyword)
    semantic = np.zeros(len(keyword)) if cosines is None else weights.semantic * signals.semantic(cosines, keyword)
    keyword = weights.keyword * keyword
    return Worth(weights, candidates, keyword, semantic, keyword + semantic)


class Priors(NamedTuple):
    """What speaks for a document whatever its words are."""

    columns: Columns
    question: ParsedQuestion
    weights: Weights

    def of(self, rows: Rows) -> dict[str, Scores]:
        """Return what each of them adds."""
        found: dict[str, Callable[[], Scores]] = {
            "speaker": partial(signals.speaker, self.columns, rows, self.question.speakers),
            "role": partial(signals.role, self.columns, rows, self.question.role),
            "date": partial(signals.date, self.columns, rows, self.question.ranges),
            "recency": partial(signals.recency, self.columns, rows, self.question.asked_ms),
        }
        return {name: _weighted(getattr(self.weights, name), signal, len(rows)) for name, signal in found.items()}

    def total(self, rows: Rows) -> Scores:
        """Return what they add together."""
        return _sum(self.of(rows), len(rows))


def _weighted(weight: float, signal: Callable[[], Scores], count: int) -> Scores:
    return weight * signal() if weight else np.zeros(count)


def _sum(told: Mapping[str, Scores], count: int) -> Scores:
    """Add up signals, each to the sum of those before it, so that the sum has one order."""
    total = np.zeros(count)
    for name in SIGNALS:
        if name in told:
            total += told[name]
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
    """Return what equal scores are ordered by, the greater first."""
    return columns.time_ms, columns.turn, columns.message, columns.stream


def _with_neighbours(columns: Columns, candidates: Rows, found: Rows) -> Rows:
    """Return what was found and the candidates beside it, in ascending order."""
    near = np.zeros(len(columns.alive) + 1, np.bool_)
    for rows in (found, columns.previous[found], columns.following[found]):
        near[rows] = True
    near[NO_ROW] = False
    if len(candidates) == len(columns.alive):
        return np.flatnonzero(near)
    return candidates[near[candidates]]


def _ordered(columns: Columns, rows: Rows, told: Mapping[str, Scores], limit: int) -> Ranked:
    """Return the best, in order."""
    total = _sum(told, len(rows))
    kept = _greatest(columns, rows, total, limit)
    order = kept[np.argsort(-total[kept], kind="stable")]
    same, tied = np.diff(total[order]) == 0, np.zeros(len(order), np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    equal = order[tied]
    if len(equal):
        keys = (key[rows[equal]] for key in reversed(_places(columns)))
        order[tied] = equal[np.lexsort((*keys, total[equal]))[::-1]]
    return Ranked(rows[order], total[order], {name: told[name][order] for name in SIGNALS})
