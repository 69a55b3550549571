"""Search: the messages of a space that answer a question, best first. Imported when it is first asked for (numpy).

1. The query is read (`projections.search.query`), and refused when it is none, or has no term (BEHAVIOUR CT-13).
2. Filters, required phrases and exclusions leave candidates (`projections.search.filters`).
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

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey, check_name
from muniment.events.records import TurnMeta
from muniment.governance.budgets import applied
from muniment.governance.judgement import needs_content
from muniment.governance.lifecycle import Phase
from muniment.governance.listing import LISTED
from muniment.governance.paging import Term, check_term, check_unchanged, term
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, sha256
from muniment.log.port import Reader, StreamHead
from muniment.projections.search.documents import Document, documents
from muniment.projections.search.excerpt import Sought, excerpt, sought
from muniment.projections.search.filters import Scope, Terms, candidates
from muniment.projections.search.index import Index
from muniment.projections.search.query import FilterName, Query, parse
from muniment.projections.search.terms import Tokenizer
from muniment.projections.transcript import ReadTurn
from muniment.ranking.columns import Rows, Scores
from muniment.ranking.ranking import Question, Ranked, rank
from muniment.ranking.weights import Weights
from muniment.runtime.desk import Desk
from muniment.runtime.hits import (
    Cap,
    Capped,
    Excerpt,
    Found,
    Hit,
    Ranking,
    Semantic,
    Sort,
    Understood,
    Within,
)
from muniment.runtime.paging import LEAF_BYTES, binding, limit_of_query
from muniment.runtime.place import place_of

WORDS_MAX = 64  # of a query; more are left out
PLACES_MAX = 20_000_000  # looked at for a query
HITS_MAX = 10_000  # of a run
TERM_CHARS_MIN = 2  # a term of one character finds nothing alone (CT-12, CT-13)
SCORE_DIGITS = 6
BY_WORDS_ALONE = Weights(
    keyword=1.0, semantic=0.0, neighbours=0.0, session=0.0, speaker=0.0, role=0.0, date=0.0, recency=0.0
)


class SearchMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of hits ended: how many were shown, what was found in which order, and as asked when."""

    after: int
    order: str
    asked_ms: int
    term: Term


class Asked(Struct, frozen=True, kw_only=True):
    """What was asked for, but the cursor."""

    query: str
    view: View
    within: Within
    ranking: Ranking
    limit: int

    def spelled(self) -> str:
        """Return the request as text that is equal for equal requests alone; cursors are bound to it."""
        return encode_plain(self).decode()


class Read(NamedTuple):
    """A query that was read: what is looked for, the terms of what must and must not be there, and what was capped."""

    query: Query
    terms: Terms
    capped: list[Cap]


class Searching:
    """One search on its way."""

    def __init__(self, desk: Desk, query: str, view: View, within: Within, ranking: Ranking) -> None:
        desk.access.require_view(view)
        for name in ("channel", "conversation"):
            if (given := getattr(within, name)) is not None:
                check_name(given, at=f"within.{name}")
        self._desk = desk
        self._space = desk.space
        self._asked = Asked(query=query, view=view, within=within, ranking=ranking, limit=0)
        self._query = parse(query)
        self._now_ms = self._space.sources.clock.now_ms()
        self._budget = desk.budget()

    def run(self, limit: int, cursor: str | None) -> Found:
        """Return the page."""
        limit = limit_of_query(limit, self._space.limits.page_turns_max)
        self._asked = replace(self._asked, limit=limit)
        with self._space.shelf.caught_up(self._asked.view, self._desk.progress) as (index, reader):
            mark = None if cursor is None else self._accepted(reader, cursor)
            self._require_words(index.tokenizer)
            read = _read(index, self._query)
            asked_ms = self._asked_ms if mark is None else mark.asked_ms
            rows = candidates(index, read.query, read.terms, self._scope(reader))
            found = self._found(index, rows, read, asked_ms)
            order = _order(index, found.rows[:HITS_MAX])
            if mark is not None:
                check_unchanged(mark.order, order)
            return self._page(index, reader, read, found, SearchMark(
                after=0 if mark is None else mark.after, order=order, asked_ms=asked_ms, term=term(self._now_ms)
            ))  # fmt: skip

    @property
    def _asked_ms(self) -> int:
        given = self._asked.ranking.asked_ms
        return self._now_ms if given is None else given

    def _accepted(self, reader: Reader, cursor: str) -> SearchMark:
        mark = self._space.cursors.accept("search", self._bound(reader), cursor, SearchMark)
        check_term(mark.term, self._now_ms)
        return mark

    def _bound(self, reader: Reader) -> tuple[str, ...]:
        return binding(self._desk, reader, self._asked.spelled())

    def _require_words(self, tokenizer: Tokenizer) -> None:
        """Refuse a query without a term (BEHAVIOUR CT-13); sorted by time, filters alone are enough."""
        query = self._query
        longest = max((_longest(text, tokenizer) for text in (*query.words, *query.phrases)), default=0)
        by_time = self._asked.ranking.sort is Sort.TIME
        if longest < TERM_CHARS_MIN and not (by_time and query.filters and not longest):
            raise InvalidInput(at="query", problem="without_term")

    # --- finding ------------------------------------------------------------------------------------------------------

    def _found(self, index: Index, rows: Rows, read: Read, asked_ms: int) -> Ranked:
        """Return what was found among candidates, in the order of the answer."""
        by_time = self._asked.ranking.sort is Sort.TIME
        weights = BY_WORDS_ALONE if by_time else self._asked.ranking.weights or Weights()
        found = rank(Question(read.query.asked, asked_ms), index, rows, weights)
        if read.terms.phrases or not _longest(read.query.asked, index.tokenizer):
            found = _with_all(index, found, rows)
        return _by_time(index, found) if by_time else found

    def _scope(self, reader: Reader) -> Scope:
        within = self._asked.within
        streams = None
        if within.conversation is not None:
            stream = self._stream(reader, within.conversation, within.channel or DEFAULT_CHANNEL)
            if stream is None:
                raise UnknownConversation(at="within.conversation")
            streams = frozenset({stream})
        elif within.channel is not None:
            with self._space.catalogue.caught_up(self._desk.progress) as caught:
                streams = frozenset(caught.listing.streams_of(within.channel))
        return Scope(
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

    def _page(self, index: Index, reader: Reader, read: Read, found: Ranked, mark: SearchMark) -> Found:
        capped, total = list(read.capped), len(found.rows)
        if total > HITS_MAX:
            capped.append(Cap(what=Capped.HITS, limit=HITS_MAX, found=total))
        end = min(total, HITS_MAX)
        most = self._budget.page(self._asked.limit)
        places = range(mark.after, min(mark.after + most, end))
        more = places.stop < end
        wanted = sought(read.query.words, read.query.phrases, index.tokenizer)
        showing = Showing(self._desk, self._asked.view, index, reader)
        explain = self._asked.ranking.explain
        return Found(
            hits=[showing.hit(found, at, wanted, explain=explain) for at in places],
            total=total,
            semantic=Semantic.ABSENT,
            has_more=more,
            next_cursor=self._cursor(reader, replace(mark, after=places.stop)) if more else None,
            capped=capped,
            understood=_understood(index, read.query) if explain else None,
            budget_applied=applied(self._budget, {Ceiling.PAGE_TURNS: min(end - mark.after, self._asked.limit)}),
        )

    def _cursor(self, reader: Reader, mark: SearchMark) -> str:
        return self._space.cursors.issue("search", self._bound(reader), mark)


class Showing:
    """Shows hits as the view shows their turns, read by the reader of the index."""

    def __init__(self, desk: Desk, view: View, index: Index, reader: Reader) -> None:
        self._space = desk.space
        self._view = view
        self._index = index
        self._reader = reader
        self._heads: dict[int, tuple[StreamHead, ConversationKey]] = {}

    def hit(self, found: Ranked, at: int, wanted: Sought, *, explain: bool) -> Hit:
        """Return one of those that were found."""
        columns, row = self._index.columns, int(found.rows[at])
        stream, turn, message = int(columns.stream[row]), int(columns.turn[row]), int(columns.message[row])
        head, key = self._conversation(stream)
        read, document = self._read(head, turn, message)
        window = excerpt(document.text, wanted, self._index.tokenizer)
        signals = {name: _rounded(values[at]) for name, values in found.signals.items()} if explain else None
        return Hit(
            place=place_of(key, head, read, message),
            role=document.role,
            speaker=document.speaker,
            excerpt=Excerpt(
                text=window.text,
                highlights=window.highlights,
                cut_before=window.cut_before,
                cut_after=window.cut_after,
            ),
            score=_rounded(found.scores[at]),
            signals=signals,
        )

    def _conversation(self, stream: int) -> tuple[StreamHead, ConversationKey]:
        if stream not in self._heads:
            transcript = self._space.transcript
            opened = self._reader.sealed(stream)
            assert opened is not None, "a stream is numbered by the event that opened it"
            names = transcript.names(opened)
            key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
            self._heads[stream] = (transcript.head(self._reader, stream), key)
        return self._heads[stream]

    def _read(self, head: StreamHead, turn: int, message: int) -> tuple[ReadTurn, Document]:
        [read] = self._space.transcript.page(self._reader, head, turn, turn, self._needed)
        shown = documents(read.record, self._view, self._space.lookout.view(self._view))
        [document] = [each for each in shown if each.message == message]
        return read, document

    def _needed(self, phase: Phase, meta: TurnMeta) -> bool:
        return needs_content(self._view, phase, meta)


# --- reading a query --------------------------------------------------------------------------------------------------


def _read(index: Index, query: Query) -> Read:
    """Return a query with as many of its words as it may have, and as many as can be looked for."""
    capped: list[Cap] = []
    words = query.words
    if len(words) > WORDS_MAX:
        capped.append(Cap(what=Capped.WORDS, limit=WORDS_MAX, found=len(words)))
        query = query.without(set(range(WORDS_MAX, len(words))))
    terms = Terms(
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
        capped.append(Cap(what=Capped.PLACES, limit=PLACES_MAX, found=required + sum(places)))
    return Read(query.without(left_out), terms, capped)


def _longest(text: str, tokenizer: Tokenizer) -> int:
    """Return how many letters and digits the longest term of a text has."""
    found = (text[each.start : each.end] for each in tokenizer.located(text))
    return max((sum(unicodedata.category(char)[0] in "LMN" for char in term) for term in found), default=0)


def _terms_of(index: Index, texts: list[str]) -> list[list[str]]:
    """Return the terms of each text that has any."""
    return [terms for terms in map(index.terms, texts) if terms]


def _places(index: Index, terms: list[str]) -> int:
    return sum(map(index.postings.count, terms))


def _understood(index: Index, query: Query) -> Understood:
    return Understood(
        terms=list(dict.fromkeys(term for word in query.words for term in index.terms(word))),
        phrases=query.phrases,
        excluded=query.excluded,
        filters=[each.spelled() for each in query.filters],
        taken_as_words=query.taken_as_words,
    )


# --- the order of an answer -------------------------------------------------------------------------------------------


def _with_all(index: Index, ranked: Ranked, rows: Rows) -> Ranked:
    """Return candidates that ranking has nothing to say about behind those that it ranked: all of them are hits."""
    rest = np.setdiff1d(rows, ranked.rows)
    rest = rest[_latest_first(index, rest)]
    none: Scores = np.zeros(len(rest))
    return Ranked(
        np.concatenate([ranked.rows, rest]),
        np.concatenate([ranked.scores, none]),
        {name: np.concatenate([values, none]) for name, values in ranked.signals.items()},
    )


def _by_time(index: Index, ranked: Ranked) -> Ranked:
    order = _latest_first(index, ranked.rows)
    signals = {name: values[order] for name, values in ranked.signals.items()}
    return Ranked(ranked.rows[order], ranked.scores[order], signals)


def _latest_first(index: Index, rows: Rows) -> Rows:
    """Return the places of rows in the order of CT-14: time, sequence, message, conversation, all descending."""
    columns = index.columns
    keys = (columns.stream[rows], columns.message[rows], columns.turn[rows], columns.time_ms[rows])
    return np.lexsort(keys)[::-1]


def _order(index: Index, rows: Rows) -> str:
    """Return a digest of what was found in which order; it travels in cursors alone, which nobody else can read."""
    columns = index.columns
    places = np.stack([columns.stream[rows], columns.turn[rows], columns.message[rows]])
    return b64url(sha256(places.astype("<i8").tobytes())[:LEAF_BYTES])


def _rounded(score: float) -> float:
    return round(float(score), SCORE_DIGITS)
