"""Search: the messages of a space that answer a question, best first. Imported when it is first asked for (numpy).

1. The query is read (`search.query`), and refused when it is none, or has no term.
2. Filters, required phrases and exclusions leave candidates (`search.filters`).
3. Ranking orders those that answer (`ranking`), for a time that a run of pages keeps.
4. What a page shows of a hit is read again from the log, under the view, by the reader of the index.

All of it happens in the index of one view, which knows nothing of what the view hides. So does the cursor: it carries
how far the run has come and a digest of what was found in which order, and is stale when that is not found again. A
message that the view does not show, or that was not found, ends no run (decision 0110).

The work of a query is bounded, not its time, so that it answers the same everywhere: words that stand at too many
places are left out, the most frequent first, and the answer says so.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey, check_name
from muniment.governance.budgets import applied
from muniment.governance.cursor_lifetime import CursorLifetime, check_term, check_unchanged, term
from muniment.governance.listing import LISTED
from muniment.governance.phases import Phase
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url
from muniment.log.port import Reader
from muniment.operations.page import LEAF_BYTES, binding, limit_of_query
from muniment.operations.transcripts.embed import Embedding
from muniment.operations.transcripts.hits import (
    Cap,
    CappedItem,
    QueryReading,
    SearchPage,
    SearchRanking,
    SearchScope,
    SemanticCoverage,
    Sort,
)
from muniment.operations.transcripts.show_hits import Showing
from muniment.ranking.question import ParsedQuestion as Understanding
from muniment.ranking.question import Question, understood
from muniment.ranking.ranking import LOOKED_MAX, Ranked
from muniment.ranking.weights import PRESETS, Weights
from muniment.search.excerpt import sought
from muniment.search.filters import RequiredTerms, ResolvedScope, candidates
from muniment.search.index import Index
from muniment.search.ordering import best_first, latest_first, order_of
from muniment.search.query import FilterName, Query, parse
from muniment.search.terms import Tokenizer

WORDS_MAX = 64  # of a query; more are left out
PLACES_MAX = 50_000_000  # looked at for a query
HITS_MAX = LOOKED_MAX  # of a run; when there are more, the best ones are told, or the latest
TERM_CHARS_MIN = 2  # a term of one character finds nothing alone


class SearchMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of hits ended: how many were shown, what was found in which order, and as asked when."""

    after: int
    order: str
    asked_ms: int
    term: CursorLifetime


class SearchRequest(Struct, frozen=True, kw_only=True):
    """What was asked for, but the cursor."""

    query: str
    view: View
    within: SearchScope
    ranking: SearchRanking
    limit: int

    def spelled(self) -> str:
        """Return the request as text that is equal for equal requests alone; cursors are bound to it."""
        return encode_plain(self).decode()


class ParsedSearch(NamedTuple):
    """A query that was read: what is looked for, the terms of what must and must not be there, and what was capped."""

    query: Query
    terms: RequiredTerms
    capped: list[Cap]


class SearchAnswer(NamedTuple):
    """What was found, and how the query and the question in it were understood."""

    read: ParsedSearch
    asked: Understanding
    found: Ranked


class Searching:
    """One search on its way."""

    def __init__(self, session: Session, query: str, view: View, within: SearchScope, ranking: SearchRanking) -> None:
        session.access.require_view(view)
        for name in ("channel", "conversation"):
            if (given := getattr(within, name)) is not None:
                check_name(given, at=f"within.{name}")
        self._session = session
        self._space = session.space
        self._asked = SearchRequest(query=query, view=view, within=within, ranking=ranking, limit=0)
        self._query = parse(query)
        self._now_ms = self._space.sources.clock.now_ms()
        self._budget = session.budget()

    def run(self, limit: int, cursor: str | None) -> SearchPage:
        """Return the page."""
        limit = limit_of_query(limit, self._space.limits.page_turns_max)
        self._asked = replace(self._asked, limit=limit)
        with self._space.indexes.caught_up(self._asked.view, self._session.progress) as (index, reader):
            embedding = Embedding(self._space, self._asked.view, index)
            embedding.learn_newest(reader)
            mark = self._begun() if cursor is None else self._accepted(reader, cursor)
            answer = self._answer(index, reader, mark.asked_ms)
            order = b64url(order_of(index, answer.found.rows[:HITS_MAX])[:LEAF_BYTES])
            if cursor is not None:
                check_unchanged(mark.order, order)
            page = self._page(index, reader, answer, replace(mark, order=order, term=term(self._now_ms)))
            semantic, flaw = embedding.semantic()
            return replace(page, semantic=semantic, semantic_flaw=flaw)

    def _begun(self) -> SearchMark:
        given = self._asked.ranking.asked_ms
        asked_ms = self._now_ms if given is None else given
        return SearchMark(after=0, order="", asked_ms=asked_ms, term=term(self._now_ms))

    def _accepted(self, reader: Reader, cursor: str) -> SearchMark:
        mark = self._space.cursors.accept("search", self._bound(reader), cursor, SearchMark)
        check_term(mark.term, self._now_ms)
        return mark

    def _bound(self, reader: Reader) -> tuple[str, ...]:
        return binding(self._session, reader, self._asked.spelled())

    def _require_words(self, tokenizer: Tokenizer) -> None:
        """Refuse a query without a term; sorted by time, filters alone are enough."""
        query = self._query
        longest = max((_longest(text, tokenizer) for text in (*query.words, *query.phrases)), default=0)
        by_time = self._asked.ranking.sort is Sort.TIME
        if longest < TERM_CHARS_MIN and not (by_time and query.filters and not longest):
            raise InvalidInput(at="query", problem="without_term")

    # --- finding ------------------------------------------------------------------------------------------------------

    def _answer(self, index: Index, reader: Reader, asked_ms: int) -> SearchAnswer:
        """Return what was found, in the order of the answer."""
        self._require_words(index.tokenizer)
        read, ranking = _read(index, self._query), self._asked.ranking
        rows = candidates(index, read.query, read.terms, self._scope(reader))
        asked = understood(Question(read.query.asked, asked_ms), index)
        everything = bool(read.terms.phrases) or not _longest(read.query.asked, index.tokenizer)
        if ranking.sort is Sort.TIME:
            found = latest_first(index, asked, rows, HITS_MAX + 1, everything=everything)
        else:
            found = best_first(index, asked, rows, _weights(ranking), HITS_MAX + 1, everything=everything)
        return SearchAnswer(read, asked, found)

    def _scope(self, reader: Reader) -> ResolvedScope:
        within = self._asked.within
        streams = None
        if within.conversation is not None:
            stream = self._stream(reader, within.conversation, within.channel or DEFAULT_CHANNEL)
            if stream is None:
                raise UnknownConversation(at="within.conversation")
            streams = frozenset({stream})
        elif within.channel is not None:
            with self._space.catalogue.caught_up(self._session.progress) as caught:
                streams = frozenset(caught.listing.streams_of(within.channel))
        return ResolvedScope(
            streams=streams,
            named={
                each.text: self._named(reader, each.text) for each in self._query.filters if each.name is FilterName.IN
            },
            role=within.role,
            speaker=within.speaker,
            from_ms=within.from_ms,
            until_ms=within.until_ms,
            archived=Phase.ARCHIVED in LISTED[within.lifecycle],
        )

    def _named(self, reader: Reader, name: str) -> int:
        """Return the stream of a conversation that a query names, as `conversation` or `channel/conversation`."""
        stream = self._stream(reader, name, self._asked.within.channel or DEFAULT_CHANNEL)
        channel, slash, conversation = name.partition("/")
        if stream is None and slash:
            stream = self._stream(reader, conversation, channel)
        if stream is None:
            raise UnknownConversation(at="query")
        return stream

    def _stream(self, reader: Reader, conversation: str, channel: str) -> int | None:
        key = ConversationKey(conversation=ConversationId(conversation), channel=Channel(channel))
        return self._space.transcript.stream_of(reader, key)

    # --- answering ----------------------------------------------------------------------------------------------------

    def _page(self, index: Index, reader: Reader, answer: SearchAnswer, mark: SearchMark) -> SearchPage:
        read, found = answer.read, answer.found
        capped, total = list(read.capped), min(len(found.rows), HITS_MAX)
        if len(found.rows) >= HITS_MAX:
            capped.append(Cap(what=CappedItem.HITS, limit=HITS_MAX, found=len(found.rows)))
        places = range(mark.after, min(mark.after + self._budget.page(self._asked.limit), total))
        more, explained = places.stop < total, self._asked.ranking.explain
        wanted = sought([*answer.asked.phrases, *read.terms.phrases])
        showing = Showing(self._session, self._asked.view, index, reader)
        return SearchPage(
            hits=[showing.hit(found, at, wanted, explained=explained) for at in places],
            total=total,
            semantic=SemanticCoverage.ABSENT,
            has_more=more,
            next_cursor=self._cursor(reader, replace(mark, after=places.stop)) if more else None,
            capped=capped,
            understood=_understood(index, answer) if explained else None,
            budget_applied=applied(self._budget, {Ceiling.PAGE_TURNS: min(total - mark.after, self._asked.limit)}),
        )

    def _cursor(self, reader: Reader, mark: SearchMark) -> str:
        return self._space.cursors.issue("search", self._bound(reader), mark)


# --- reading a query --------------------------------------------------------------------------------------------------


def _read(index: Index, query: Query) -> ParsedSearch:
    """Return a query with as many of its words as it may have, and as many as can be looked for."""
    capped: list[Cap] = []
    words = query.words
    if len(words) > WORDS_MAX:
        capped.append(Cap(what=CappedItem.WORDS, limit=WORDS_MAX, found=len(words)))
        query = query.without(set(range(WORDS_MAX, len(words))))
    terms = RequiredTerms(
        *([found for text in texts if (found := index.terms(text))] for texts in (query.phrases, query.excluded))
    )
    required = sum(_places(index, each) for each in (*terms.phrases, *terms.excluded))
    if required > PLACES_MAX:
        raise LimitExceeded(at="query", problem="too_many_places", limit=PLACES_MAX, found=required)
    places = [_places(index, index.terms(word)) for word in query.words]
    looked, left_out = required, set[int]()
    for place in sorted(range(len(places)), key=lambda place: places[place]):
        if looked + places[place] > PLACES_MAX and looked > required:
            left_out.add(place)
        else:
            looked += places[place]
    if left_out:
        capped.append(Cap(what=CappedItem.PLACES, limit=PLACES_MAX, found=required + sum(places)))
    return ParsedSearch(query.without(left_out), terms, capped)


def _longest(text: str, tokenizer: Tokenizer) -> int:
    """Return how many letters and digits the longest term of a text has."""
    found = (text[each.start : each.end] for each in tokenizer.located(text))
    return max((sum(unicodedata.category(char)[0] in "LMN" for char in term) for term in found), default=0)


def _places(index: Index, terms: list[str]) -> int:
    return sum(map(index.postings.count, terms))


def _weights(ranking: SearchRanking) -> Weights | None:
    """Return the weights that are asked for; without any, ranking takes those that fit what the index has."""
    if ranking.weights is not None and ranking.preset is not None:
        raise InvalidInput(at="ranking.weights", problem="given_twice")
    return ranking.weights if ranking.preset is None else PRESETS[ranking.preset]


def _understood(index: Index, answer: SearchAnswer) -> QueryReading:
    query, asked = answer.read.query, answer.asked
    return QueryReading(
        terms=[" ".join(phrase) for phrase in asked.phrases],
        left_out=asked.left_out,
        speakers=[index.columns.speakers[number] for number in asked.speakers],
        role=asked.role,
        dates=[(each.start_ms, each.end_ms) for each in asked.ranges],
        phrases=query.phrases,
        excluded=query.excluded,
        filters=[each.spelled() for each in query.filters],
        taken_as_words=query.taken_as_words,
    )
