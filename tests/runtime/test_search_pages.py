"""Runs through what was found: whole, each once, or stale; and only what the view shows makes them stale."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import AccessDenied, CapabilityHidden, CursorStale
from muniment.events.changes import Action
from muniment.events.identity import ConversationId
from muniment.governance.access import Access, Effect
from muniment.governance.policy import Policy
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.hits import Hit, SearchPage, SearchRanking, SearchScope, Sort
from muniment.operations.transcripts.redact import Passage
from tests.turns import TALK, plain_turn, rich_turn
from tests.worlds import World, memory_world

TALKS = SearchScope(conversation=TALK)


def run_of(world: World, limit: int, sort: Sort, query: str = "question answer") -> list[Hit]:
    """Return all hits of a run."""
    asked = SearchRanking(sort=sort)
    page = world.runtime.transcripts.search(query, ranking=asked, limit=limit)
    hits = list(page.hits)
    while page.has_more:
        assert len(page.hits) == limit
        page = world.runtime.transcripts.search(query, ranking=asked, limit=limit, cursor=page.next_cursor)
        hits += page.hits
    assert page.next_cursor is None
    assert page.total == len([hit for hit in hits if not hit.is_context])
    return hits


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 6), st.integers(0, 6), st.sampled_from(Sort))
def test_pages_of_any_size_are_the_whole(limit: int, first: int, second: int, sort: Sort) -> None:
    """PG-01: the same hits in the same order, each once."""
    world = memory_world().with_turns(first).with_turns(second, "other")
    whole = world.runtime.transcripts.search("question answer", ranking=SearchRanking(sort=sort), limit=100)
    assert not whole.has_more
    assert [hit.place for hit in run_of(world, limit, sort)] == [hit.place for hit in whole.hits]
    assert len(whole.hits) == 2 * (first + second)
    world.close()


def test_a_run_keeps_the_moment_that_it_was_asked_at(world: World) -> None:
    """What counts from now, such as recency, is the same on every page of a run."""
    world.with_turns(6)
    assert len({hit.place.message for hit in run_of(world, 1, Sort.RELEVANCE)}) == 12


def begun(world: World, within: SearchScope = TALKS, view: View = View.HOST_UI) -> Callable[[], SearchPage]:
    """Begin a run and return how it goes on."""
    page = world.runtime.transcripts.search("question", view, within, limit=2)
    assert page.next_cursor is not None
    return lambda: world.runtime.transcripts.search("question", view, within, limit=2, cursor=page.next_cursor)


ENDS: dict[str, Callable[[World], object]] = {
    "a turn that is found": lambda world: world.commit(plain_turn(6)),
    "a mask": lambda world: world.masked(5),
    "an erasure": lambda world: world.erased(1),
    "an archive": lambda world: world.archived(2),
    "a redaction of what was found": lambda world: world.redacted(Passage(turn=plain_turn(3).turn), View.HOST_UI),
}
GOES_ON: dict[str, Callable[[World], object]] = {
    "nothing": lambda _world: None,
    "a turn elsewhere": lambda world: world.with_turns(1, "other"),
    "a turn without the words": lambda world: world.with_turn(rich_turn()),
    "a redaction for another view": lambda world: world.redacted(Passage(turn=plain_turn(3).turn), View.EXPORT),
    "a hold": lambda world: world.runtime.lifecycle.hold(Scope(conversation=TALK), "why", "who"),
    "a review": lambda world: world.runtime.lifecycle.review(Action.HOLD, Scope(conversation=TALK)),
    "a new space key": lambda world: world.runtime.spaces.rotate(),
    "a new index": lambda world: world.runtime.system.recover(),
}


@pytest.mark.parametrize("what", list(ENDS))
def test_a_run_is_stale_when_what_it_leads_through_has_changed(what: str, world: World) -> None:
    """PG-07, DESIGN §6."""
    go_on = begun(world.with_turns(5))
    ENDS[what](world)
    with pytest.raises(CursorStale) as stale:
        go_on()
    assert stale.value.problem == "changed"


@pytest.mark.parametrize("what", list(GOES_ON))
def test_a_run_goes_on_when_something_else_has_changed(what: str, world: World) -> None:
    world.with_turns(5)
    before = {hit.place.message for hit in begun(world)().hits}
    go_on = begun(world)
    GOES_ON[what](world)
    assert {hit.place.message for hit in go_on().hits} == before


def test_what_a_view_hides_ends_no_run_of_it(world: World) -> None:
    """What is said and masked between two pages is as if it had never been said."""
    world.with_turns(5)
    go_on = begun(world, SearchScope(), View.EXPORT)
    before = go_on()
    world.with_turns(1, "other").masked(1, "other").redacted(Passage(turn=plain_turn(1).turn), View.HOST_UI)
    assert [(hit.excerpt, hit.score) for hit in go_on().hits] == [(hit.excerpt, hit.score) for hit in before.hits]
    assert go_on().total == before.total


# --- access -----------------------------------------------------------------------------------------------------------


def test_a_view_that_the_access_does_not_include_is_not_searched(world: World) -> None:
    world.with_turns(1)
    narrow = world.runtime.restricted(Access(views=frozenset({View.HOST_UI})))
    assert narrow.transcripts.search("question").hits
    for view in set(View) - {View.HOST_UI}:
        with pytest.raises(AccessDenied) as denied:
            narrow.transcripts.search("question", view)
        assert denied.value.at == view
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(effects=frozenset({Effect.APPEND}))).transcripts.search("question")


def test_a_policy_hides_views_from_searches_too(world: World) -> None:
    """RP-14."""
    world.with_turns(1)
    hidden = world.runtime.restricted(Access(policies=frozenset({Policy.NO_DEBUG_REPLAY})))
    assert hidden.transcripts.search("question").hits
    for view in (View.RAW_OWNER, View.OPERATOR_AUDIT):
        with pytest.raises(CapabilityHidden):
            hidden.transcripts.search("question", view)


def test_a_search_is_no_disclosure_and_appends_nothing(world: World) -> None:
    """It is a read, like a replay."""
    world.with_turns(2)
    events = world.runtime.spaces.usage().events
    assert world.runtime.transcripts.search("question", View.RAW_OWNER).hits
    assert world.runtime.transcripts.search("question", within=SearchScope(conversation=ConversationId(TALK))).hits
    assert world.runtime.spaces.usage().events == events
    assert world.runtime.evidence.disclosures().disclosures == []
