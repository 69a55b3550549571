"""What an index has found for a recall: the best documents, with the components of each as numbers from 0 to 1.

The weights decide which documents are the best; the components that are returned are without them, and `lexical` and
`similarity` are shares of the best document. `Ranked` says how good that one is, so that answers can be compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from muniment.ranking.columns import Rows
from muniment.ranking.question import ParsedQuestion, Question, parse_question
from muniment.ranking.ranking import NAME_SHARE, Ranked, rank
from muniment.ranking.weights import Weights
from muniment.search.index import Index

COSINE_CLOSE = 0.5  # a cosine that is so far above the mean is as close as they get


class FoundDocument(NamedTuple):
    """A document: its place in the ranking, the entry that it is of, its time, and its components from 0 to 1.

    `words` is the share of the words of the question that it has; names count for less, as they do in scores.
    `relevance` is that, or how far its meaning is above the mean, whichever is greater.
    """

    place: int
    stream: int
    entry: int
    time_ms: int
    words: float
    relevance: float
    parts: dict[str, float]


class FoundDocuments(NamedTuple):
    """The best documents of an index for a question; of how many candidates, and how many of these match."""

    question: ParsedQuestion
    ranked: Ranked
    documents: list[FoundDocument]
    candidates: dict[str, int]  # by partition
    matched: dict[str, int]

    @property
    def words_best(self) -> float:
        """The greatest share of the words of the question that one of the documents has."""
        return max((document.words for document in self.documents), default=0.0)


def found_documents(index: Index, question: Question, rows: Rows, weights: Weights, limit: int) -> FoundDocuments:
    """Return at most `limit` of some documents that match a question by themselves, the best first."""
    parsed = parse_question(question, index, rows)
    ranked = rank(parsed, index, rows, weights)
    columns, matching = index.columns, ranked.rows[ranked.matching]
    chosen = matching[:limit]
    has = _shares(index, parsed, chosen)
    documents = [
        _document(ranked, place, weights, has[row], (columns.stream[row], columns.turn[row], columns.time_ms[row]))
        for place, row in zip(np.flatnonzero(ranked.matching)[:limit].tolist(), chosen.tolist(), strict=True)
    ]
    return FoundDocuments(parsed, ranked, documents, index.counts(rows), index.counts(matching))


def _shares(index: Index, parsed: ParsedQuestion, rows: Rows) -> dict[int, float]:
    """Return the share of the phrases of a question that each of some documents has."""
    ascending = np.sort(rows)
    has, whole = np.zeros(len(rows)), 0.0
    for phrases, weight in ((parsed.phrases, 1.0), (parsed.names, NAME_SHARE)):
        for phrase in phrases:
            has += weight * index.holding(phrase, ascending)
            whole += weight
    return dict(zip(ascending.tolist(), (has / whole if whole else has).tolist(), strict=True))


def _document(
    ranked: Ranked, place: int, weights: Weights, by_words: float, where: tuple[int, int, int]
) -> FoundDocument:
    signals = {
        name: float(values[place]) / weight if (weight := getattr(weights, name)) else 0.0
        for name, values in ranked.signals.items()
    }
    by_meaning = min(1.0, ranked.semantic_best * signals["semantic"] / COSINE_CLOSE)
    own = 2 * (weights.keyword + weights.semantic)  # the most that two neighbours lend
    parts = {
        "lexical": signals["keyword"],
        "similarity": signals["semantic"] if ranked.semantic_best else 0.0,
        "context": (signals["neighbours"] / own + signals["session"]) / 2 if own else 0.0,
        "entity": signals["speaker"],
        "time": signals["date"],
        "recency": signals["recency"],
        "authority": signals["role"],
    }
    stream, entry, time_ms = map(int, where)
    return FoundDocument(place, stream, entry, time_ms, by_words, max(by_words, by_meaning), parts)
