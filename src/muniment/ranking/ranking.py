"""Ranking: from the signals of every candidate to one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from muniment.ranking.columns import Corpus, Rows, Scores
from muniment.ranking.weights import Weights


class Question(NamedTuple):
    """What is asked, in free text, and when (UTC milliseconds): relative dates count from there."""

    text: str
    asked_ms: int


class Ranked(NamedTuple):
    """Documents that answer a question, best first: their numbers, scores, and what each signal added to the score."""

    rows: Rows
    scores: Scores
    signals: Mapping[str, Scores]


def rank(question: Question, corpus: Corpus, candidates: Rows, weights: Weights) -> Ranked:
    """Rank candidates. Ties: the later one first, then the higher sequence, then the higher place in the turn."""
    columns = corpus.columns
    words = [[term] for term in dict.fromkeys(corpus.terms(question.text))]
    keyword = corpus.keyword(words, candidates)
    most = float(keyword.max(initial=0.0))
    total = weights.keyword * keyword / most if most else np.zeros(len(candidates))
    found = np.flatnonzero(total > 0)
    rows = candidates[found]
    order = np.lexsort((columns.message[rows], columns.turn[rows], columns.time_ms[rows], total[found]))[::-1]
    return Ranked(rows[order], total[found][order], {"keyword": total[found][order]})
