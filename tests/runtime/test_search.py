"""Searching: what is found, as whom, where and when; what is refused; and that what is hidden is nowhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded, MunimentError, UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, TurnId
from muniment.events.message import Authority, Message, Role, ToolCallPart
from muniment.events.turn import Turn
from muniment.governance.listing import LifecycleFilter
from muniment.governance.profiles import Profile
from muniment.governance.views import View
from muniment.projections.search.documents import words_of
from muniment.projections.search.excerpt import EXCERPT_CHARS_MAX
from muniment.projections.search.query import QUERY_CHARS_MAX
from muniment.projections.search.terms import Tokenizer
from muniment.ranking.weights import Weights
from muniment.runtime import searching
from muniment.runtime.hits import Cap, Capped, Found, Hit, Ranking, Semantic, Sort, Within
from muniment.runtime.redacting import Passage
from tests.turns import SUBJECT, TALK, answer, answered, asked, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world, open_store

DAY_MS = 86_400_000
BEGUN_MS = 1_704_067_200_000  # 2024-01-01
BY_TIME = Ranking(sort=Sort.TIME)


def said(role: Role, text: str, speaker: str, day: int) -> Message:
    return Message(role=role, content=text, speaker_id=speaker, observed_ms=BEGUN_MS + day * DAY_MS)


def talked(number: int, conversation: str, question: str, reply: str, *, channel: str = "default") -> Turn:
    """Return a turn of Ada and a desk, on the day of its number."""
    return Turn(
        turn=TurnId(f"{conversation}-{number}"),
        subject=SUBJECT,
        conversation=ConversationId(conversation),
        channel=Channel(channel),
        messages=[
            said(Role.USER, question, "Ada Lovelace", number),
            said(Role.ASSISTANT, reply, "desk", number),
        ],
    )


TURNS = [
    talked(1, "tea", "Have you got green tea?", "Green and black tea, and a green teapot."),
    talked(2, "tea", "The order is 4711-zephyr.", "Thank you, the tea leaves tomorrow."),
    talked(3, "walk", "我们去青川县旅行吧", "青川很美。"),
    talked(40, "walk", "Where is my dog?", "At home, drinking tea.", channel="mail"),
]


@pytest.fixture
def shop(world: World) -> World:
    for turn in TURNS:
        world.commit(turn)
    return world


def found(world: World, query: str, **request: Any) -> Found:
    return world.runtime.transcripts.search(query, **{"limit": 50, **request})


def places(told: Found) -> list[str]:
    return [str(hit.place.message) for hit in told.hits]


def highlighted(hit: Hit) -> list[str]:
    return [hit.excerpt.text[start:end] for start, end in hit.excerpt.highlights]


# --- what is found ----------------------------------------------------------------------------------------------------

FINDS: dict[str, set[str]] = {
    "zephyr": {"tea-2#0"},
    "4711-zephyr": {"tea-2#0"},
    "green dog": {"tea-1#0", "tea-1#1", "walk-40#0"},
    '"green tea"': {"tea-1#0"},
    '"green tea" dog': {"tea-1#0"},
    '"black tea" "green teapot"': {"tea-1#1"},
    "tea -green": {"tea-2#1", "walk-40#1"},
    'tea -"green tea" -leaves': {"tea-1#1", "walk-40#1"},
    "tea from:ada": {"tea-1#0"},
    'tea from:"lovelace ADA"': {"tea-1#0"},
    "tea -from:ada from:desk": {"tea-1#1", "tea-2#1", "walk-40#1"},
    "tea from:ada from:desk role:user": {"tea-1#0"},
    "tea from:nobody": set(),
    "tea in:tea": {"tea-1#0", "tea-1#1", "tea-2#1"},
    "tea in:mail/walk": {"walk-40#1"},
    "tea in:tea in:mail/walk after:2024-01-02": {"tea-2#1", "walk-40#1"},
    "tea -in:tea": {"walk-40#1"},
    "tea before:2024-01-03": {"tea-1#0", "tea-1#1"},
    "tea on:2024-01-03": {"tea-2#1"},
    "tea on:2024-01": {"tea-1#0", "tea-1#1", "tea-2#1"},
    "tea after:2024-01-03 before:2025": {"walk-40#1"},
    "tea after:2024-01 -after:2024": {"walk-40#1"},
    "tea role:assistant": {"tea-1#1", "tea-2#1", "walk-40#1"},
    "青川": {"walk-3#0", "walk-3#1"},
    '"青川县"': {"walk-3#0"},
    "青川 dog": {"walk-3#0", "walk-3#1", "walk-40#0"},
    "TEAS drink": {"tea-1#0", "tea-1#1", "tea-2#1", "walk-40#1"},
    "rowid:1 NEAR(dog) AND* ^": {"tea-1#1", "walk-40#0"},
    "' OR 1=1; DROP TABLE events; --zephyr": set(),
    "\u202edog": {"walk-40#0"},
    "unheard-of": set(),
}


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("query", list(FINDS))
def test_a_query_finds_what_it_says(query: str, sort: Sort) -> None:
    """CT-12 to CT-14: any word, every phrase, none of what is excluded, and only where filters let it look."""
    world = memory_world()
    for turn in TURNS:
        world.commit(turn)
    told = found(world, query, ranking=Ranking(sort=sort))
    assert (set(places(told)), told.total, told.has_more) == (FINDS[query], len(FINDS[query]), False)
    if sort is Sort.TIME:
        times = [(hit.place.observed_ms, hit.place.sequence, hit.place.message) for hit in told.hits]
        assert times == sorted(times, reverse=True)
    else:
        scores = [hit.score for hit in told.hits]
        assert scores == sorted(scores, reverse=True)
    world.close()


WITHIN: list[tuple[Within, set[str]]] = [
    (Within(channel=Channel("mail")), {"walk-40#1"}),
    (Within(channel=Channel("nowhere")), set()),
    (Within(conversation=ConversationId("tea")), {"tea-1#0", "tea-1#1", "tea-2#1"}),
    (Within(channel=Channel("mail"), conversation=ConversationId("walk")), {"walk-40#1"}),
    (Within(role=Role.USER), {"tea-1#0"}),
    (Within(speaker="desk"), {"tea-1#1", "tea-2#1", "walk-40#1"}),
    (Within(speaker="Desk"), set()),
    (Within(from_ms=BEGUN_MS + 2 * DAY_MS, until_ms=BEGUN_MS + 40 * DAY_MS), {"tea-2#1"}),
    (Within(from_ms=BEGUN_MS + 2 * DAY_MS, until_ms=BEGUN_MS + 40 * DAY_MS + 1), {"tea-2#1", "walk-40#1"}),
]


def test_a_scope_narrows_down_like_the_filters_do(shop: World) -> None:
    """CT-09."""
    for within, wanted in WITHIN:
        assert set(places(found(shop, "tea", within=within))) == wanted
    mail = Within(channel=Channel("mail"))
    assert places(found(shop, "tea in:default/tea", within=mail)) == []
    assert places(found(shop, "tea in:walk", within=mail)) == ["walk-40#1"]


def test_filters_alone_are_listed_by_time_and_otherwise_refused(shop: World) -> None:
    assert places(found(shop, "from:ada before:2024-01-05", ranking=BY_TIME)) == ["walk-3#0", "tea-2#0", "tea-1#0"]
    assert places(found(shop, "from:ada -tea -zephyr 🙂", ranking=BY_TIME)) == ["walk-40#0", "walk-3#0"]
    with pytest.raises(InvalidInput, match="without_term"):
        found(shop, "from:ada")
    with pytest.raises(InvalidInput, match="without_term"):
        found(shop, "-tea", ranking=BY_TIME)


def test_a_phrase_is_a_hit_even_where_ranking_has_nothing_to_say(shop: World) -> None:
    """What must be there and is there was found, whatever its words weigh."""
    nothing = Ranking(weights=Weights(**dict.fromkeys(Weights.__struct_fields__, 0.0)))
    assert set(places(found(shop, '"green tea" dog', ranking=nothing))) == {"tea-1#0"}


def test_archived_turns_are_found_when_they_are_asked_for(shop: World) -> None:
    """CT-01, CT-06."""
    shop.request(Transition.ARCHIVE, None, "tea")
    assert places(found(shop, "green")) == []
    told = found(shop, "green", within=Within(lifecycle=LifecycleFilter.ACTIVE_AND_ARCHIVED))
    assert len(told.hits) == 2
    shop.request(Transition.RESTORE, None, "tea")
    assert len(found(shop, "green").hits) == 2


# --- what a hit has ---------------------------------------------------------------------------------------------------


def test_a_hit_says_where_it_stands_and_shows_why(shop: World) -> None:
    """CT-08, CT-10."""
    [hit] = found(shop, "zephyr").hits
    place = hit.place
    assert (place.conversation, place.turn, place.message) == (key_of("tea"), "tea-2", "tea-2#0")
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
    [hit] = found(world, "zephyr").hits
    assert highlighted(hit) == ["zephyr"]
    assert hit.excerpt.cut_before
    assert hit.excerpt.cut_after
    assert len(hit.excerpt.text) <= EXCERPT_CHARS_MAX


def test_an_explained_answer_says_what_was_understood_and_what_scores_are_made_of(shop: World) -> None:
    told = found(shop, 'teas "green tea" -dog from:ada role:boss', ranking=Ranking(explain=True))
    understood = told.understood
    assert understood is not None
    assert understood.terms == ["tea", "role", "boss"]
    assert (understood.phrases, understood.excluded) == (["green tea"], ["dog"])
    assert (understood.filters, understood.taken_as_words) == (["from:ada"], ["role:boss"])
    assert told.hits
    for hit in told.hits:
        assert hit.signals is not None
        assert hit.score == pytest.approx(sum(hit.signals.values()), abs=1e-4)
    assert found(shop, "tea").understood is None


def test_without_vectors_the_answer_says_so(shop: World) -> None:
    assert found(shop, "tea").semantic is Semantic.ABSENT


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
        found(world, query, ranking=Ranking(sort=sort))
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
        found(shop, "tea", within=Within(conversation=ConversationId("walk"), channel=Channel("nowhere")))


@pytest.mark.parametrize(
    "request_",
    [{"limit": 0}, {"limit": -1}, {"limit": 501}, {"within": Within(channel=Channel(" x"))}, {"view": "everything"}],
)
def test_what_is_no_request_is_refused(request_: dict[str, Any], shop: World) -> None:
    with pytest.raises((InvalidInput, LimitExceeded)):
        found(shop, "tea", **request_)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_more_words_than_a_query_may_have_are_left_out_and_said_so(shop: World) -> None:
    padding = " ".join(f"w{number}" for number in range(searching.WORDS_MAX))
    told = found(shop, f"{padding} zephyr")
    assert (told.hits, told.capped) == (
        [],
        [Cap(what=Capped.WORDS, limit=searching.WORDS_MAX, found=searching.WORDS_MAX + 1)],
    )
    assert len(found(shop, f"zephyr {padding}").hits) == 1


def test_the_most_frequent_words_are_left_out_of_a_query_that_costs_too_much(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of a query is bounded; what is left out is what says least."""
    monkeypatch.setattr(searching, "PLACES_MAX", 3)
    told = found(shop, "zephyr tea dog")
    assert set(places(told)) == {"tea-2#0", "walk-40#0"}
    [cap] = told.capped
    assert (cap.what, cap.limit) == (Capped.PLACES, 3)
    assert cap.found > 3
    assert len(found(shop, "tea").hits) == 4
    with pytest.raises(LimitExceeded) as refused:
        found(shop, '"tea"')
    assert (refused.value.at, refused.value.problem) == ("query", "too_many_places")


def test_a_run_ends_after_so_many_hits_and_says_so(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "HITS_MAX", 3)
    told = found(shop, "tea", limit=2)
    assert (len(told.hits), told.total, told.has_more) == (2, 4, True)
    assert told.capped == [Cap(what=Capped.HITS, limit=3, found=4)]
    rest = found(shop, "tea", limit=2, cursor=told.next_cursor)
    assert (len(rest.hits), rest.has_more, rest.next_cursor) == (1, False, None)


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
def test_what_is_masked_or_erased_is_found_in_no_view(view: View, shop: World) -> None:
    """CT-11: nor counted; what else is found scores as if it had never been said."""
    shop.request(Transition.MASK, None, "walk")
    assert found(shop, "青川", view=view).total == 0
    shop.runtime.lifecycle.request(key_of("tea"), Transition.DELETE_RAW, "why", "who", TurnId("tea-2"))
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
    [hit] = found(shop, "order legal", view=View.HOST_UI).hits
    assert hit.excerpt.text == "The order is [redacted: legal]."
    assert highlighted(hit) == ["order"]


def test_a_private_message_is_found_by_nobody(world: World) -> None:
    messages = [asked("hello"), Message(role=Role.ASSISTANT, content="zephyr", authority=Authority.SOUL_GOVERNANCE)]
    world.commit(Turn(turn=TurnId("t"), subject=SUBJECT, conversation=TALK, messages=[*messages, answered("hello")]))
    for view in View:
        assert found(world, "zephyr", view=view).total == 0


# --- laws -------------------------------------------------------------------------------------------------------------

WORDS = ["tea", "teas", "Green", "zephyr", "青川县", "naïve", "4711", "of", "🙂", "find_me", "x", "好"]
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


class Happened(NamedTuple):
    """A turn, and what became of it: a transition, or a redaction of its first character for some views."""

    turn: Turn
    transition: Transition | None
    views: list[View]


happened = st.builds(
    Happened,
    st.builds(talked, st.just(0), st.sampled_from(["one", "two"]), lines, lines),
    st.none() | st.sampled_from(Transition),
    st.lists(st.sampled_from(View), max_size=3, unique=True),
)


def lived(world: World, history: list[Happened]) -> None:
    """Let a history happen."""
    for number, (turn, transition, views) in enumerate(history):
        key, name = key_of(turn.conversation or ""), TurnId(f"t-{number}")
        world.commit(replace(turn, turn=name))
        if views:
            passage = Passage(turn=name, message=0, part=0, start=0, end=1)
            world.redact(passage, *views, conversation=key.conversation)
        if transition is not None:
            with contextlib.suppress(MunimentError):  # not every transition leads on from active
                world.runtime.lifecycle.request(key, transition, "why", "who", name)


def shown_texts(world: World, view: View) -> Iterator[tuple[str, str]]:
    """Yield each message that replays show, as its id and its words."""
    for entry in world.runtime.transcripts.conversations(limit=50).conversations:
        key = key_of(entry.conversation)
        for turn in world.runtime.transcripts.timeline(key, view=view, limit=50).turns:
            for message in turn.messages:
                if not message.redacted and isinstance(message.parts, list):
                    yield message.id, words_of(message.parts)


@settings(max_examples=60, deadline=None)
@given(st.lists(happened, min_size=1, max_size=5), st.sampled_from(View))
def test_everything_that_a_view_shows_is_found_and_nothing_else(history: list[Happened], view: View) -> None:
    """Law: each word of what a view shows finds its message; each hit shows a piece of what a slice shows."""
    world = memory_world()
    lived(world, history)
    shown = dict(shown_texts(world, view))
    tokenizer = Tokenizer()
    for word in ("tea", "green", "zephyr", "青川县", "naive", "4711", "find_me"):
        terms = set(tokenizer.words(word))
        hits = {str(hit.place.message): hit for hit in found(world, word, view=view).hits}
        assert set(hits) == {name for name, text in shown.items() if terms & set(tokenizer.words(text))}
        for name, hit in hits.items():
            assert hit.excerpt.text in shown[name]
            assert all(set(tokenizer.words(piece)) & terms for piece in highlighted(hit))
    world.close()


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[World]:
    """Return a world that is only read."""
    world = memory_world("fuzzed")
    for turn in TURNS:
        world.commit(turn)
    yield world
    world.close()


@settings(max_examples=150, deadline=None)
@given(
    query=st.text(max_size=40) | st.lists(st.sampled_from([*FINDS, *WORDS, '"', "-", ":"]), max_size=5).map(" ".join)
)
def test_every_query_is_answered_or_refused_with_a_code(fuzzed: World, query: str) -> None:
    """Law: whatever is typed, nothing but typed errors comes back."""
    with contextlib.suppress(InvalidInput, LimitExceeded, UnknownConversation):
        told = found(fuzzed, query)
        assert told.total == len(told.hits) <= len(TURNS) * 2


def test_answers_are_the_same_after_a_restart_and_from_a_new_index(lasting: FileWorld) -> None:
    """CT-16: places, scores and highlights, for every query and order."""
    for turn in TURNS:
        lasting.commit(turn)
    lasting.erased(None, "walk").with_turns(3)
    queries = [query for query in FINDS if "mail/" not in query]

    def answers() -> list[Found]:
        return [found(lasting, query, ranking=Ranking(sort=sort, asked_ms=0)) for query in queries for sort in Sort]

    before = answers()
    lasting.runtime.system.recover()
    assert answers() == before
    assert [told.hits for told in (lasting.reopened(), answers())[1]] == [told.hits for told in before]


def test_ties_are_broken_by_time_then_by_sequence_then_by_place(world: World) -> None:
    """CT-14."""
    for number in (1, 2, 3):
        turn = Turn(
            turn=TurnId(f"t-{number}"),
            subject=SUBJECT,
            conversation=TALK,
            messages=[Message(role=Role.USER, content="zephyr", observed_ms=BEGUN_MS)] * 2
            + [Message(role=Role.ASSISTANT, content=answer(number), observed_ms=BEGUN_MS)],
        )
        world.commit(turn)
    latest = Message(role=Role.USER, content="zephyr", observed_ms=BEGUN_MS + 1)
    world.commit(Turn(turn=TurnId("t-0"), subject=SUBJECT, conversation=ConversationId("x"), messages=[latest]))
    order = ["t-0#0", "t-3#1", "t-3#0", "t-2#1", "t-2#0", "t-1#1", "t-1#0"]
    assert places(found(world, "zephyr", ranking=BY_TIME)) == order
    keyword = Weights(semantic=0, neighbours=0, session=0, speaker=0, role=0, date=0)
    assert places(found(world, "zephyr", ranking=Ranking(weights=keyword))) == order
