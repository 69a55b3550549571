"""Corpora to be ranked: real indexes of a few messages, and vectors that say what a test wants them to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from muniment.events.message import Role
from muniment.ranking.columns import Columns, KeywordScores, Rows, Scores
from muniment.ranking.question import Question, parse_question
from muniment.ranking.ranking import Ranked, rank
from muniment.ranking.weights import Weights
from muniment.search.document_table import SearchDocument
from muniment.search.index import Index

NOW_MS = 1_700_000_000_000  # a Tuesday, 14 November 2023
DAY_MS = 86_400_000


class Post(NamedTuple):
    """A message of a turn of its own, so many days before the question."""

    text: str
    speaker: str = "ada"
    role: Role = Role.USER
    days: float = 1.0
    stream: int = 1


class WithVectors:
    """An index whose documents are as alike to every question as a table says, by their text; nan for all others."""

    def __init__(self, index: Index, cosines: Mapping[str, float], texts: Mapping[tuple[int, int], str]) -> None:
        self._index = index
        self._cosines = cosines
        self._texts = texts
        self.asked: list[str] = []

    @property
    def columns(self) -> Columns:
        """Those of the index."""
        return self._index.columns

    def terms(self, text: str) -> list[str]:
        """Return those of the index."""
        return self._index.terms(text)

    def named(self, term: str) -> list[int]:
        """Return those of the index."""
        return self._index.named(term)

    def beginning(self, phrase: Sequence[str], within: Rows) -> Rows:
        """Return those of the index."""
        return self._index.beginning(phrase, within)

    def scored(self, phrases: Sequence[Sequence[str]], within: Rows | None = None) -> KeywordScores:
        """Score as the index does."""
        return self._index.scored(phrases, within)

    def similarity(self, text: str, within: Rows | None = None) -> Scores:
        """Return what the table says."""
        self.asked.append(text)
        columns = self.columns
        places = zip(columns.stream.tolist(), columns.turn.tolist(), strict=True)
        found = np.array([self._cosines.get(self._texts[place], np.nan) for place in places])
        return found if within is None else found[within]


def index_of(said: Iterable[Post], order: Sequence[int] | None = None) -> Index:
    """Return an index of messages; `order` says in which order they are put in, their turns stay the same."""
    messages = list(said)
    index = Index()
    for place in range(len(messages)) if order is None else order:
        each = messages[place]
        time_ms = NOW_MS - int(each.days * DAY_MS)
        index.put(each.stream, place + 1, [said_at(time_ms, each.role, each.speaker, each.text)])
    return index


def said_at(time_ms: int, role: Role, speaker: str, text: str) -> SearchDocument:
    """Return the only document of a turn."""
    return SearchDocument(message=0, role=role, speaker=speaker, time_ms=time_ms, text=text)


def with_vectors(said: Sequence[Post], cosines: Mapping[str, float]) -> WithVectors:
    """Return a corpus of messages with vectors."""
    texts = {(each.stream, place): each.text for place, each in enumerate(said, start=1)}
    return WithVectors(index_of(said), cosines, texts)


def asked(text: str) -> Question:
    """Return a question that is asked now."""
    return Question(text, NOW_MS)


def ranked(corpus: Index | WithVectors, text: str, weights: Weights | None = None) -> Ranked:
    """Rank everything that there is."""
    alive = np.flatnonzero(corpus.columns.alive)
    return rank(parse_question(asked(text), corpus, alive), corpus, alive, weights)


def turns(corpus: Index | WithVectors, found: Ranked) -> list[int]:
    """Return the turns of what was ranked, best first; from 1."""
    return [int(turn) for turn in corpus.columns.turn[found.rows]]
