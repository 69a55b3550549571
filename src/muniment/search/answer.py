"""The answer of an index to a query: the messages that match, best or latest first, always in the same order.

1. The query is reduced to as many words as it may have and as can be searched for; what is left out is reported.
2. Filters, required phrases and exclusions leave candidates (`filters`).
3. Ranking orders the matching ones (`ranking`). Where a phrase or filters alone select, all candidates match: those
   without a score come after the others, the latest first.

The work of a query is bounded, not its time, so that it answers the same everywhere: words with too many places are
left out, the most frequent first.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import numpy as np

from muniment.errors import InvalidInput, LimitExceeded
from muniment.kernel.digest import sha256
from muniment.ranking.columns import Rows, Scores
from muniment.ranking.question import ParsedQuestion, Question, parse_question
from muniment.ranking.ranking import SCORED_MAX, Ranked, rank
from muniment.ranking.weights import Weights
from muniment.search.filters import RequiredTerms, ResolvedScope, candidates
from muniment.search.index import Index
from muniment.search.query import Cap, CappedItem, Query
from muniment.search.terms import Tokenizer

WORDS_MAX = 64  # of a query
PLACES_MAX = 50_000_000  # scanned for a query
HITS_MAX = SCORED_MAX  # of an answer: the best ones, or the latest
LISTED_MAX = 3 * SCORED_MAX  # those that are scored, and one before and behind each
TERM_CHARS_MIN = 2  # a term of one character finds nothing alone
KEYWORD = "keyword"
ASCII_TERM = re.compile("[A-Za-z0-9]+")


class HitOrder(NamedTuple):
    """How to order an answer: by time or by relevance, with which weights, for a question asked when (UTC ms)."""

    by_time: bool
    weights: Weights | None
    asked_ms: int


class SearchableQuery(NamedTuple):
    """The part of a query that is searched for, the terms of its phrases and exclusions, and what was left out."""

    query: Query
    terms: RequiredTerms
    capped: list[Cap]


class SearchAnswer(NamedTuple):
    """The hits of a query, how the query and the question in it were understood, and the limits that it reached.

    `hits.matches` counts all that match, which may be more than the hits.
    """

    searched: SearchableQuery
    question: ParsedQuestion
    hits: Ranked
    capped: list[Cap]


def searchable(index: Index, query: Query, *, by_time: bool) -> SearchableQuery:
    """Return what is searched for; refuse a query without a term, unless it is filters sorted by time."""
    longest = _longest_term(" ".join((*query.words, *query.phrases)), index.tokenizer)
    if longest < TERM_CHARS_MIN and not (by_time and query.filters and not longest):
        raise InvalidInput(at="query", problem="without_term")
    capped: list[Cap] = []
    words = query.words
    if len(words) > WORDS_MAX:
        capped.append(Cap(what=CappedItem.WORDS, limit=WORDS_MAX, found=len(words)))
        query = query.without(set(range(WORDS_MAX, len(words))))
    phrases = list(filter(None, map(index.terms, query.phrases)))
    excluded = list(filter(None, map(index.terms, query.excluded)))
    required = sum([_places(index, phrase) for phrase in (*phrases, *excluded)])
    if required > PLACES_MAX:
        raise LimitExceeded(at="query", problem="too_many_places", limit=PLACES_MAX, found=required)
    places = [_places(index, index.terms(word)) for word in words[:WORDS_MAX]]
    scanned, left_out = required, set[int]()
    for word in sorted(range(len(places)), key=places.__getitem__):
        if scanned + places[word] > PLACES_MAX and scanned > required:
            left_out.add(word)
        else:
            scanned += places[word]
    if left_out:
        capped.append(Cap(what=CappedItem.PLACES, limit=PLACES_MAX, found=required + sum(places)))
        query = query.without(left_out)
    return SearchableQuery(query, RequiredTerms(phrases, excluded), capped)


def answer(index: Index, searched: SearchableQuery, scope: ResolvedScope, order: HitOrder) -> SearchAnswer:
    """Return the messages in a scope that match."""
    query, terms = searched.query, searched.terms
    rows, text = candidates(index, query, terms, scope), query.text
    question = parse_question(Question(text, order.asked_ms), index, rows)
    select_all = bool(terms.phrases) or not _longest_term(text, index.tokenizer)
    if order.by_time:
        hits = _latest_first(index, question, rows, select_all=select_all)
    else:
        ranked = rank(question, index, rows, order.weights, LISTED_MAX)
        hits = _subset(ranked, np.flatnonzero(ranked.scores > 0))
        hits = _with_all(index, hits, rows) if select_all else hits
    capped, listed = list(searched.capped), len(hits.rows)
    if listed > HITS_MAX:
        found = hits.matches if hits.matches > HITS_MAX else listed
        capped.append(Cap(what=CappedItem.HITS, limit=HITS_MAX, found=found))
        hits = _subset(hits, np.arange(HITS_MAX))
    return SearchAnswer(searched, question, hits, capped)


def order_digest(index: Index, rows: Rows) -> bytes:
    """Return a digest of the hits in their order. It reveals something of them, so it is only given away encrypted."""
    columns = index.columns
    places = np.stack([columns.stream[rows], columns.turn[rows], columns.message[rows]])
    return sha256(places.astype("<i8").tobytes())


def _latest_first(index: Index, question: ParsedQuestion, rows: Rows, *, select_all: bool) -> Ranked:
    """Return the candidates with a word of a question, or all of them, the latest first; words alone score."""
    if not select_all:
        matching = np.zeros(len(rows), np.bool_)
        for phrase in question.searched:
            matching |= index.holding(phrase, rows)
        rows = rows[matching]
    scores = index.keyword(question.searched, rows)
    scores = scores / max(float(scores.max(initial=0.0)), 1e-9)
    matching = np.ones(len(rows), np.bool_)
    return _subset(Ranked(rows, scores, {KEYWORD: scores}, matching, len(rows)), _by_time(index, rows))


def _with_all(index: Index, ranked: Ranked, rows: Rows) -> Ranked:
    """Return all candidates: those that were ranked, then the others, the latest first."""
    rest = np.setdiff1d(rows, ranked.rows)
    rest = rest[_by_time(index, rest)]
    zeros: Scores = np.zeros(len(rest))
    return Ranked(
        np.concatenate([ranked.rows, rest]),
        np.concatenate([ranked.scores, zeros]),
        {name: np.concatenate([values, zeros]) for name, values in ranked.signals.items()},
        np.ones(len(rows), np.bool_),
        len(rows),
    )


def _subset(ranked: Ranked, places: Rows) -> Ranked:
    """Return the ranked documents at some places, in the order of these."""
    signals = {name: values[places] for name, values in ranked.signals.items()}
    return ranked._replace(
        rows=ranked.rows[places], scores=ranked.scores[places], signals=signals, matching=ranked.matching[places]
    )


def _by_time(index: Index, rows: Rows) -> Rows:
    """Return the order of rows by time, sequence, message and conversation, all descending."""
    columns = index.columns
    keys = (columns.stream[rows], columns.message[rows], columns.turn[rows], columns.time_ms[rows])
    return np.lexsort(keys)[::-1]


def _longest_term(text: str, tokenizer: Tokenizer) -> int:
    """Return how many letters, digits and marks the longest term of a text has."""
    if text.isascii():
        return max(map(len, ASCII_TERM.findall(text)), default=0)
    terms = [text[start:end] for start, end, _ in tokenizer.located(text)]
    return max((sum(unicodedata.category(char)[0] in "LMN" for char in term) for term in terms), default=0)


def _places(index: Index, terms: list[str]) -> int:
    return sum(map(index.postings.count, terms))
