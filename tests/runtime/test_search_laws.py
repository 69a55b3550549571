"""The laws of searching: everything that is shown is found and nothing else, always in the same order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded, MunimentError, UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.operations.transcripts.hits import SearchPage, SearchRanking, Sort
from muniment.operations.transcripts.redact import Passage
from muniment.ranking.weights import Weights
from muniment.search.documents import searched_text
from muniment.search.terms import Tokenizer
from tests.runtime.shop import BEGUN_MS, BY_TIME, FINDS, TURNS, found, highlighted, hits, places, talked
from tests.turns import SUBJECT, TALK, answer
from tests.worlds import FileWorld, World, key_of, memory_world


@pytest.fixture(scope="module")
def read_only() -> Iterator[World]:
    """Return a world that is only read."""
    with closing(memory_world("read")) as world:
        for turn in TURNS:
            world.commit(turn)
        yield world


WORDS_ALONE = Weights(**{name: float(name == "keyword") for name in Weights.__struct_fields__})
WORDS = ["tea", "teas", "Green", "zephyr", "青川县", "naïve", "4711", "of", "🙂", "find_tent", "x", "好"]
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
    for entry in world.runtime.conversations.list_(limit=50).conversations:
        key = key_of(entry.conversation)
        for turn in world.runtime.transcripts.timeline(key, view=view, limit=50).turns:
            for message in turn.messages:
                if not message.redacted and isinstance(message.parts, list):
                    yield message.id, searched_text(message.parts)


@settings(max_examples=60, deadline=None)
@given(st.lists(happened, min_size=1, max_size=5), st.sampled_from(View))
def test_everything_that_a_view_shows_is_found_and_nothing_else(history: list[Happened], view: View) -> None:
    """Law: each word of what a view shows finds its message; each hit shows a piece of what a slice shows."""
    with closing(memory_world()) as world:
        lived(world, history)
        _hold_to_what_is_shown(world, view)


def _hold_to_what_is_shown(world: World, view: View) -> None:
    shown = dict(shown_texts(world, view))
    tokenizer = Tokenizer()
    for word in ("tea", "green", "zephyr", "青川县", "naive", "4711", "find_tent"):
        terms = set(tokenizer.words(word))
        told = {str(hit.place.message): hit for hit in found(world, word, view=view, ranking=BY_TIME).hits}
        assert set(told) == {name for name, text in shown.items() if terms & set(tokenizer.words(text))}
        for name, hit in told.items():
            assert hit.excerpt.text in shown[name]
            assert all(set(tokenizer.words(piece)) & terms for piece in highlighted(hit))
        ranked = found(world, word, view=view)
        assert {str(hit.place.message) for hit in hits(ranked)} == set(told)
        assert all(hit.excerpt.text in shown[str(hit.place.message)] for hit in ranked.hits)


@settings(max_examples=150, deadline=None)
@given(
    query=st.text(max_size=40) | st.lists(st.sampled_from([*FINDS, *WORDS, '"', "-", ":"]), max_size=5).map(" ".join)
)
def test_every_query_is_answered_or_refused_with_a_code(read_only: World, query: str) -> None:
    """Law: whatever is typed, nothing but typed errors comes back."""
    with contextlib.suppress(InvalidInput, LimitExceeded, UnknownConversation):
        told = found(read_only, query)
        assert told.total <= len(told.hits) <= len(TURNS) * 2
        assert told.total == len([hit for hit in told.hits if not hit.is_context])


def test_answers_are_the_same_after_a_restart_and_from_a_new_index(lasting: FileWorld) -> None:
    """CT-16: places, scores and highlights, for every query and order."""
    for turn in TURNS:
        lasting.commit(turn)
    lasting.erased(None, "walk").with_turns(3)
    queries = [query for query in FINDS if "mail/" not in query]

    def answers() -> list[SearchPage]:
        return [
            found(lasting, query, ranking=SearchRanking(sort=sort, asked_ms=0)) for query in queries for sort in Sort
        ]

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
    assert places(found(world, "zephyr", ranking=SearchRanking(weights=WORDS_ALONE))) == order
