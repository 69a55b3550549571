"""Searching: what is found, as whom, where and when; what is refused; and that what is hidden is nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, TurnId
from muniment.events.message import Authority, Message, Part, ReasoningPart, Role, TextPart, ToolCallPart
from muniment.events.turn import Turn
from muniment.governance.listing import LifecycleFilter
from muniment.governance.profiles import Profile
from muniment.governance.views import View
from muniment.operations.transcripts.hits import SearchRanking, SearchScope, SemanticCoverage, Sort
from muniment.operations.transcripts.redact import Passage
from muniment.ranking import ranking as ranking_module
from muniment.ranking.weights import Weights
from muniment.search import answer, bm25
from muniment.search.excerpt import EXCERPT_CHARS_MAX
from muniment.search.query import QUERY_CHARS_MAX, Cap, CappedItem
from tests.runtime.shop import BEGUN_MS, BY_TIME, DAY_MS, FINDS, TURNS, found, highlighted, hits, places, talked
from tests.turns import SUBJECT, TALK, answered, asked, rich_turn, short
from tests.worlds import FileWorld, World, key_of, memory_world, open_store


@pytest.fixture
def shop(world: World) -> World:
    for turn in TURNS:
        world.commit(turn)
    return world


@pytest.fixture(scope="module")
def read_only() -> Iterator[World]:
    """Return a world that is only read."""
    with closing(memory_world("read")) as world:
        for turn in TURNS:
            world.commit(turn)
        yield world


# --- what is found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("query", list(FINDS))
def test_a_query_finds_what_it_says(query: str, sort: Sort, read_only: World) -> None:
    """CT-12 to CT-14: any word, every phrase, none of what is excluded, and only where filters let it look."""
    told = found(read_only, query, ranking=SearchRanking(sort=sort))
    assert (told.total, told.total_is_least, told.has_more) == (len(hits(told)), False, False)
    assert set(places(told)) == FINDS[query]
    if sort is Sort.TIME:
        assert not any(hit.is_context for hit in told.hits)
        times = [(hit.place.observed_ms, hit.place.sequence, hit.place.message) for hit in told.hits]
        assert times == sorted(times, reverse=True)
    else:
        assert not any(hit.excerpt.highlights for hit in told.hits if hit.is_context)
        scores = [hit.score for hit in told.hits]
        assert scores == sorted(scores, reverse=True)


WITHIN: list[tuple[SearchScope, set[str]]] = [
    (SearchScope(channel=Channel("mail")), {"walk-40#1"}),
    (SearchScope(channel=Channel("nowhere")), set()),
    (SearchScope(conversation=ConversationId("tea")), {"tea-1#0", "tea-1#1", "tea-2#1"}),
    (SearchScope(channel=Channel("mail"), conversation=ConversationId("walk")), {"walk-40#1"}),
    (SearchScope(role=Role.USER), {"tea-1#0"}),
    (SearchScope(speaker="desk"), {"tea-1#1", "tea-2#1", "walk-40#1"}),
    (SearchScope(speaker="Desk"), set()),
    (SearchScope(from_ms=BEGUN_MS + 2 * DAY_MS, until_ms=BEGUN_MS + 40 * DAY_MS), {"tea-2#1"}),
    (SearchScope(from_ms=BEGUN_MS + 2 * DAY_MS, until_ms=BEGUN_MS + 40 * DAY_MS + 1), {"tea-2#1", "walk-40#1"}),
]


def test_a_scope_narrows_down_like_the_filters_do(shop: World) -> None:
    """CT-09."""
    for within, wanted in WITHIN:
        assert set(places(found(shop, "tea", within=within))) == wanted
    mail = SearchScope(channel=Channel("mail"))
    assert places(found(shop, "tea in:default/tea", within=mail)) == []
    assert places(found(shop, "tea in:walk", within=mail)) == ["walk-40#1"]


def test_filters_alone_are_listed_by_time_and_otherwise_refused(shop: World) -> None:
    assert places(found(shop, "from:ada before:2024-01-05", ranking=BY_TIME)) == ["walk-3#0", "tea-2#0", "tea-1#0"]
    assert places(found(shop, "from:ada -tea -zephyr 🙂", ranking=BY_TIME)) == ["walk-40#0", "walk-3#0"]
    with pytest.raises(InvalidInput, match="no word to search for"):
        found(shop, "from:ada")
    with pytest.raises(InvalidInput, match="no word to search for"):
        found(shop, "-tea", ranking=BY_TIME)


def test_a_phrase_is_a_hit_even_where_ranking_has_nothing_to_say(shop: World) -> None:
    """What must be there and is there was found, whatever its words weigh."""
    nothing = SearchRanking(weights=Weights(**dict.fromkeys(Weights.__struct_fields__, 0.0)))
    assert set(places(found(shop, '"green tea" dog', ranking=nothing))) == {"tea-1#0"}


def test_archived_turns_are_found_when_they_are_asked_for(shop: World) -> None:
    """CT-01, CT-06."""
    shop.request(Transition.ARCHIVE, None, "tea")
    assert places(found(shop, "green")) == []
    told = found(shop, "green", within=SearchScope(lifecycle=LifecycleFilter.ACTIVE_AND_ARCHIVED))
    assert len(told.hits) == 2
    shop.request(Transition.RESTORE, None, "tea")
    assert len(found(shop, "green").hits) == 2


# --- what a hit has ---------------------------------------------------------------------------------------------------


def test_a_hit_says_where_it_stands_and_shows_why(shop: World) -> None:
    """CT-08, CT-10."""
    [hit] = hits(found(shop, "zephyr"))
    place = hit.place
    assert (place.conversation, place.turn, short(place.message)) == (key_of("tea"), "tea-2", "tea-2#0")
    assert (place.sequence, place.observed_ms, place.subject) == (2, BEGUN_MS + 2 * DAY_MS, SUBJECT)
    timeline = shop.runtime.transcripts.timeline(key_of("tea"))
    assert (place.revision, place.digest) == (timeline.revision, timeline.digest)
    assert (hit.role, hit.speaker) == (Role.USER, "Ada Lovelace")
    assert (hit.excerpt.text, highlighted(hit)) == ("The order is 4711-zephyr.", ["zephyr"])
    assert not hit.excerpt.cut_before
    assert not hit.excerpt.cut_after
    assert hit.signals is None


def test_a_long_message_shows_the_piece_that_was_found(world: World) -> None:
    text = "words of no use. " * 400 + "The zephyr blows. " + "words of no use. " * 400
    world.commit(talked(1, "long", text, "yes"))
    [hit] = hits(found(world, "zephyr"))
    assert highlighted(hit) == ["zephyr"]
    assert hit.excerpt.cut_before
    assert hit.excerpt.cut_after
    assert len(hit.excerpt.text) <= EXCERPT_CHARS_MAX


def test_an_explained_answer_says_what_was_understood_and_what_scores_are_made_of(shop: World) -> None:
    told = found(
        shop, 'teas "green tea" -dog from:ada role:boss the lovelace yesterday', ranking=SearchRanking(explain=True)
    )
    understood = told.understood
    assert understood is not None
    assert {"tea", "boss"} <= set(understood.terms)
    assert "the" in understood.left_out
    assert (understood.speakers, len(understood.dates)) == (["Ada Lovelace"], 1)
    assert (understood.phrases, understood.excluded) == (["green tea"], ["dog"])
    assert (understood.filters, understood.taken_as_words) == (["from:ada"], ["role:boss"])
    assert told.hits
    for hit in told.hits:
        assert hit.signals is not None
        assert hit.score == pytest.approx(sum(hit.signals.values()), abs=1e-4)
    assert found(shop, "tea").understood is None


def test_without_vectors_the_answer_says_so(shop: World) -> None:
    assert found(shop, "tea").semantic is SemanticCoverage.ABSENT


# --- what is refused --------------------------------------------------------------------------------------------------


TERMLESS = [
    "好",
    "🙂",
    "🙂👍🏽🇫🇷",
    "\u2026\uff01\uff1f",
    "",
    "   ",
    "a",
    '"',
    '""',
    "- -",
    "-tea",
    "*",
    "\u202e",
    "' ; --",
]


@pytest.mark.parametrize("query", TERMLESS)
@pytest.mark.parametrize("sort", list(Sort))
def test_a_query_without_a_term_is_refused(query: str, sort: Sort, world: World) -> None:
    """CT-13: whether or not there is anything to be found."""
    with pytest.raises(InvalidInput) as refused:
        found(world, query, ranking=SearchRanking(sort=sort))
    assert (refused.value.at, refused.value.problem) == ("query", "without_term")


@pytest.mark.parametrize("query", ["tea\0", "tea\n", "\x1b[2Jtea", "tea\x7f", "tea \ud800"])
def test_a_query_with_control_characters_is_refused_without_being_quoted(query: str, shop: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        found(shop, query)
    assert refused.value.problem in {"control_character", "lone_surrogate"}
    assert "tea" not in str(refused.value)


@pytest.mark.parametrize("size", [QUERY_CHARS_MAX + 1, 2**20])
def test_a_query_that_is_too_long_is_refused(size: int, shop: World) -> None:
    assert found(shop, "tea" + "x" * (QUERY_CHARS_MAX - 3)).hits == []
    with pytest.raises(LimitExceeded) as refused:
        found(shop, "x" * size)
    assert (refused.value.at, refused.value.found) == ("query", size)


@pytest.mark.parametrize("query", ["tea in:nowhere", "tea in:mail/tea", "tea -in:nowhere", "tea in:/"])
def test_an_unknown_conversation_is_an_error(query: str, shop: World) -> None:
    """CT-07."""
    with pytest.raises(UnknownConversation) as unknown:
        found(shop, query)
    assert unknown.value.at == "query"
    with pytest.raises(UnknownConversation):
        found(shop, "tea", within=SearchScope(conversation=ConversationId("walk"), channel=Channel("nowhere")))


@pytest.mark.parametrize(
    "request_",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 501},
        {"within": SearchScope(channel=Channel(" x"))},
        {"view": "everything"},
    ],
)
def test_what_is_no_request_is_refused(request_: dict[str, Any], shop: World) -> None:
    with pytest.raises((InvalidInput, LimitExceeded)):
        found(shop, "tea", **request_)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_more_words_than_a_query_may_have_are_left_out_and_said_so(shop: World) -> None:
    padding = " ".join(f"w{number}" for number in range(answer.WORDS_MAX))
    told = found(shop, f"{padding} zephyr")
    assert (places(told), told.capped) == (
        [],
        [Cap(what=CappedItem.WORDS, limit=answer.WORDS_MAX, found=answer.WORDS_MAX + 1)],
    )
    assert places(found(shop, f"zephyr {padding}")) == ["tea-2#0"]


def test_the_most_frequent_words_are_left_out_of_a_query_that_costs_too_much(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of a query is bounded; what is left out is what says least."""
    monkeypatch.setattr(answer, "PLACES_MAX", 3)
    told = found(shop, "zephyr tea dog")
    assert set(places(told)) == {"tea-2#0", "walk-40#0"}
    [cap] = told.capped
    assert (cap.what, cap.limit) == (CappedItem.PLACES, 3)
    assert cap.found > 3
    assert len(places(found(shop, "tea"))) == 4
    with pytest.raises(LimitExceeded) as refused:
        found(shop, '"tea"')
    assert (refused.value.at, refused.value.problem) == ("query", "too_many_places")


def test_a_run_ends_after_so_many_hits_and_says_so(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "HITS_MAX", 3)
    told = found(shop, "tea", limit=2)
    assert (len(told.hits), told.total, told.has_more) == (2, 4, True)
    assert told.capped == [Cap(what=CappedItem.HITS, limit=3, found=4)]
    rest = found(shop, "tea", limit=2, cursor=told.next_cursor)
    assert (len(rest.hits), rest.has_more, rest.next_cursor) == (1, False, None)


@pytest.mark.parametrize("sort", list(Sort))
def test_the_total_is_true_however_few_hits_are_listed(
    sort: Sort, lasting: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What matches is counted whole, before the best are chosen; what is only beside it is not counted."""
    for number in range(1, 9):
        lasting.commit(talked(number, "tea", f"tea {number}", "milk"))
    ranking = SearchRanking(sort=sort)
    everything = found(lasting, "tea", ranking=ranking)
    assert (everything.total, len(hits(everything)), everything.capped) == (8, 8, [])
    monkeypatch.setattr(answer, "HITS_MAX", 5)
    monkeypatch.setattr(ranking_module, "SCORED_MAX", 5)
    told = found(lasting, "tea", ranking=ranking)
    assert (told.total, told.total_is_least, len(told.hits)) == (8, False, 5)
    assert told.capped == [Cap(what=CappedItem.HITS, limit=5, found=8)]


def test_a_total_that_was_not_counted_to_the_end_says_so(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A very frequent word is only looked up in what rarer ones found: there may be more that has it."""
    assert (found(shop, "zephyr tea").total, found(shop, "zephyr tea").total_is_least) == (5, False)
    monkeypatch.setattr(bm25, "MANY", 1)
    monkeypatch.setattr(bm25, "ENOUGH", 0)
    told = found(shop, "zephyr tea")
    assert (told.total, told.total_is_least) == (1, True)


def test_the_budget_of_a_profile_makes_pages_shorter_and_says_so(lasting: FileWorld) -> None:
    """PG-10."""
    for number in range(1, 13):
        lasting.commit(talked(number, "tea", f"tea {number}", "tea"))
    lasting.close()
    with open_store(lasting.home, "profiled", profile=Profile.EMBEDDED) as runtime:
        told = runtime.transcripts.search("tea", limit=20)
        [over] = told.budget_applied
        assert (len(told.hits), over.limit, over.found) == (8, 8, 20)
        seen = places(told)
        while told.has_more:
            told = runtime.transcripts.search("tea", limit=20, cursor=told.next_cursor)
            seen += places(told)
        assert len(set(seen)) == len(seen) == 24
    lasting.reopened()


# --- what is hidden ---------------------------------------------------------------------------------------------------


def test_nothing_but_what_users_and_assistants_say_is_found(world: World) -> None:
    """CT-11: no system text, no results of tools, no private or operator authority, in any view."""
    world.with_turn(rich_turn())
    for view in View:
        for word in ("system", "response", "diagnostic", "private", "summary"):
            assert found(world, word, view=view).hits == []
    assert set(places(found(world, "words"))) == {"rich#1", "rich#6"}


def test_a_tool_is_found_by_its_name_where_its_calls_are_shown(world: World) -> None:
    call = ToolCallPart(name="find_restaurants", id="call-1", arguments={"city": "Zürich"})
    messages = [asked("Where do we eat?"), Message(role=Role.ASSISTANT, content=[call]), answered("At Anna's.")]
    world.commit(Turn(turn=TurnId("t"), subject=SUBJECT, conversation=TALK, messages=messages))
    for query in ("find_restaurants", '"find restaurants"', "zurich"):
        assert places(found(world, query, view=View.RAW_OWNER)) == ["t#1"]
        assert found(world, query, view=View.HOST_UI).hits == []


@pytest.mark.parametrize("view", list(View))
def test_thoughts_beside_an_answer_are_found_by_the_raw_owner_alone(view: View, world: World) -> None:
    """CT-11: of a message that is shown in part, what is not shown is neither found nor counted."""
    answer: list[Part] = [ReasoningPart(content="They sound like zephyr."), TextPart(content="We replace the lamp.")]
    messages = [asked("It broke."), Message(role=Role.ASSISTANT, content=answer)]
    world.commit(Turn(turn=TurnId("t"), subject=SUBJECT, conversation=TALK, messages=messages))
    assert bool(found(world, "zephyr", view=view).total) is (view is View.RAW_OWNER)
    assert places(found(world, "lamp", view=view)) == ([] if view is View.OPERATOR_AUDIT else ["t#1"])


@pytest.mark.parametrize("view", list(View))
def test_what_is_masked_or_erased_is_found_in_no_view(view: View, shop: World) -> None:
    """CT-11: nor counted; what else is found scores as if it had never been said."""
    shop.request(Transition.MASK, None, "walk")
    assert found(shop, "青川", view=view).total == 0
    shop.runtime.lifecycle.request(key_of("tea"), Transition.ERASE, "why", "who", TurnId("tea-2"))
    assert found(shop, "zephyr", view=view).total == 0
    twin = memory_world()
    twin.commit(TURNS[0])
    twin.commit(TURNS[3])
    assert [(hit.place.message, hit.score, hit.excerpt) for hit in found(shop, "green tea", view=view).hits] == [
        (hit.place.message, hit.score, hit.excerpt) for hit in found(twin, "green tea", view=view).hits
    ]
    twin.close()


def test_a_redacted_range_is_found_in_the_views_that_show_it(shop: World) -> None:
    text = str(TURNS[1].messages[0].content)
    start = text.index("4711")
    passage = Passage(turn=TurnId("tea-2"), message=0, part=0, start=start, end=len(text) - 1)
    shop.redact(passage, View.HOST_UI, conversation="tea")
    assert found(shop, "zephyr", view=View.HOST_UI).total == 0
    assert places(found(shop, "zephyr", view=View.RAW_OWNER)) == ["tea-2#0"]
    [hit] = hits(found(shop, "order legal", view=View.HOST_UI))
    assert hit.excerpt.text == "The order is [redacted: legal]."
    assert highlighted(hit) == ["order"]


def test_a_private_message_is_found_by_nobody(world: World) -> None:
    messages = [asked("hello"), Message(role=Role.ASSISTANT, content="zephyr", authority=Authority.SOUL_GOVERNANCE)]
    world.commit(Turn(turn=TurnId("t"), subject=SUBJECT, conversation=TALK, messages=[*messages, answered("hello")]))
    for view in View:
        assert found(world, "zephyr", view=view).total == 0
