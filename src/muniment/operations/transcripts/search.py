"""Search: the messages of a space that answer a question, best first. Imported when it is first used (numpy).

The query is parsed (`search.query`) and answered from the index of one view (`search.answer`), which holds nothing that
the view hides. The messages of a page are read again from the log, under the view, by the reader of the index.

A cursor carries how many hits were shown and a digest of all hits in their order; it is stale when that changes. A
message that the view does not show, or that does not match, makes no cursor stale (decision 0110).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import check_name
from muniment.governance.budgets import applied
from muniment.governance.cursor_lifetime import CursorLifetime, check_term, check_unchanged, term
from muniment.governance.profiles import Ceiling
from muniment.kernel.digest import b64url
from muniment.operations.page import LEAF_BYTES, binding, limit_of_query
from muniment.operations.transcripts.embed import coverage, embed_newest
from muniment.operations.transcripts.hits import QueryReading, SearchPage, SearchRanking, SearchRequest, Sort
from muniment.operations.transcripts.search_scope import resolved_scope
from muniment.operations.transcripts.show_hits import HitsToShow, shown_hits
from muniment.ranking.weights import PRESETS, Weights
from muniment.search.answer import HitOrder, SearchAnswer, answer, order_digest, searchable
from muniment.search.query import parse


class SearchMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of hits ended: how many were shown, the digest of all in their order, and as asked when."""

    after: int
    order: str
    asked_ms: int
    term: CursorLifetime


def search(session: Session, request: SearchRequest, cursor: str | None) -> SearchPage:
    """Return a page of hits."""
    session.access.require_view(request.view)
    for name in ("channel", "conversation"):
        if (given := getattr(request.within, name)) is not None:
            check_name(given, at=f"within.{name}")
    space, view, ranking = session.space, request.view, request.ranking
    query, now_ms, budget = parse(request.query), space.sources.clock.now_ms(), session.budget()
    limit_of_query(request.limit, space.limits.page_turns_max)
    with space.indexes.caught_up(view, session.progress) as caught:
        index, reader = caught
        embed_newest(space, view, caught)
        if session.access.subject is not None:
            index = index.of_subject(session.access.subject)
        bound, lifetime = binding(session, reader, request.spelled()), term(now_ms)
        if cursor is None:
            asked_ms = now_ms if ranking.asked_ms is None else ranking.asked_ms
            mark = SearchMark(after=0, order="", asked_ms=asked_ms, term=lifetime)
        else:
            mark = space.cursors.accept("search", bound, cursor, SearchMark)
            check_term(mark.term, now_ms)
        by_time = ranking.sort is Sort.TIME
        searched = searchable(index, query, by_time=by_time)
        scope = resolved_scope(session, request.within, query, reader)
        weights = None if by_time else _weights(ranking)
        answered = answer(index, searched, scope, HitOrder(by_time, weights, mark.asked_ms))
        order = b64url(order_digest(index, answered.hits.rows)[:LEAF_BYTES])
        if cursor is not None:
            check_unchanged(mark.order, order)
        listed = len(answered.hits.rows)
        places = range(mark.after, min(mark.after + budget.page(request.limit), listed))
        phrases = [*answered.question.searched, *answered.searched.terms.phrases]
        hits = shown_hits(space, view, index, reader, HitsToShow(answered.hits, phrases, ranking.explain), places)
        next_cursor = None
        if places.stop < listed:
            ended = replace(mark, after=places.stop, order=order, term=lifetime)
            next_cursor = space.cursors.issue("search", bound, ended)
        semantic, reason = coverage(space, index)
        return SearchPage(
            hits=hits,
            total=answered.hits.matches,
            total_is_least=not answered.hits.complete,
            semantic=semantic,
            semantic_reason=reason,
            has_more=places.stop < listed,
            next_cursor=next_cursor,
            capped=answered.capped,
            understood=_reading(answered, index.columns.speakers) if ranking.explain else None,
            budget_applied=applied(budget, {Ceiling.PAGE_TURNS: min(listed - mark.after, request.limit)}),
        )


def _weights(ranking: SearchRanking) -> Weights | None:
    """Return the chosen weights; without a choice ranking takes those that suit the index."""
    if ranking.weights is not None and ranking.preset is not None:
        raise InvalidInput(at="ranking.weights", problem="given_twice")
    return ranking.weights if ranking.preset is None else PRESETS[ranking.preset]


def _reading(answered: SearchAnswer, speakers: Sequence[str]) -> QueryReading:
    query, question = answered.searched.query, answered.question
    return QueryReading(
        terms=[" ".join(phrase) for phrase in question.searched],
        left_out=question.left_out,
        speakers=[speakers[number] for number in question.speakers],
        role=question.role,
        dates=[(dates.start_ms, dates.end_ms) for dates in question.ranges],
        phrases=query.phrases,
        excluded=query.excluded,
        filters=[part.spelled() for part in query.filters],
        taken_as_words=query.taken_as_words,
    )
