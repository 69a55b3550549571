"""The laws of scopes: names add weight and take no word away, and nothing outside changes what is found."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.identity import Channel, ConversationId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.operations.transcripts.hits import SearchPage, SearchRanking, SearchScope, Sort
from tests.runtime.shop import BEGUN_MS, found, talked
from tests.turns import SUBJECT
from tests.worlds import World, memory_world

WORDS = ["kernel", "panic", "Ada", "desk", "tea", "rain", "hi"]
EXPLAINED = SearchRanking(explain=True, asked_ms=BEGUN_MS)
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


def of_speaker(number: int, speaker: str, text: str, conversation: str, channel: str = "default") -> Turn:
    message = Message(role=Role.USER, content=text, speaker_id=speaker, observed_ms=BEGUN_MS + number)
    return Turn(
        turn=TurnId(f"{conversation}-{number}"),
        subject=SUBJECT,
        conversation=ConversationId(conversation),
        channel=Channel(channel),
        messages=[message, Message(role=Role.ASSISTANT, content="noted", speaker_id="desk")],
    )


def texts(page: SearchPage) -> list[str]:
    return [hit.excerpt.text for hit in page.hits if not hit.is_context]


@pytest.mark.parametrize("sort", Sort)
def test_a_word_that_names_somebody_still_finds_what_it_stands_in(sort: Sort) -> None:
    """Whoever is called by a word adds to whose messages count, and takes nothing from what is found."""
    with closing(memory_world("names")) as world:
        for number, text in enumerate(["a kernel update", "a panic attack", "kernel panic at boot", "tea"]):
            world.commit(of_speaker(number, "ops", text, "talk"))
        ranking = SearchRanking(sort=sort)
        before = sorted(texts(found(world, "kernel panic", ranking=ranking)))
        world.commit(of_speaker(9, "kernel-bot", "good morning", "talk"))
        page = found(world, "kernel panic", ranking=replace(ranking, explain=True))
        assert sorted(texts(page)) == before == ["a kernel update", "a panic attack", "kernel panic at boot"]
        assert page.understood is not None
        assert page.understood.speakers == ["kernel-bot"]
        assert page.understood.left_out == []
        assert page.understood.terms == ["panic", "kernel"]


def test_both_words_count_for_more_than_one_whoever_is_called_by_either() -> None:
    with closing(memory_world("names")) as world:
        for number, text in enumerate(["a panic attack", "kernel panic at boot", "a panic room", "rain", "more rain"]):
            world.commit(of_speaker(number, "ops", text, f"talk-{number}"))
        world.commit(of_speaker(9, "kernel-bot", "good morning", "other"))
        assert texts(found(world, "kernel panic"))[0] == "kernel panic at boot"


def in_scopes(world: World, query: str) -> list[object]:
    """Return everything that a search tells of a conversation, and of a channel, in both orders."""
    told: list[object] = []
    for scope in (SearchScope(conversation=ConversationId("inside")), SearchScope(channel=Channel("here"))):
        for sort in Sort:
            page = found(world, query, within=scope, ranking=replace(EXPLAINED, sort=sort))
            told.append((page.hits, page.total, page.understood))
    return told


@settings(max_examples=40)
@given(
    inside=st.lists(st.tuples(sentences, st.sampled_from(["Ada", "kernel-bot", "user:7"])), min_size=1, max_size=5),
    outside=st.lists(st.tuples(sentences, st.sampled_from([*WORDS, "kernel-bot", "user:9"])), max_size=8),
    query=sentences,
)
def test_nothing_outside_a_scope_changes_what_is_found_in_it(
    inside: list[tuple[str, str]], outside: list[tuple[str, str]], query: str
) -> None:
    """Hits, their order, their scores and how a query is understood are those of the scope alone."""
    with closing(memory_world("scopes")) as world:
        for number, (text, speaker) in enumerate(inside):
            world.commit(of_speaker(number, speaker, text, "inside"))
            world.commit(of_speaker(number, speaker, text, "in-channel", "here"))
        alone = in_scopes(world, query)
        for number, (text, speaker) in enumerate(outside):
            world.commit(of_speaker(number, speaker, text, "outside"))
            world.commit(of_speaker(number, speaker, text, f"outside-{number}", "elsewhere"))
        assert in_scopes(world, query) == alone


def test_a_scope_of_speakers_or_times_has_statistics_of_its_own() -> None:
    """What others said, or what was said at another time, makes no word of a scope rarer or more frequent."""
    scopes = {
        "speaker": (SearchScope(speaker="Ada Lovelace"), of_speaker(70, "tea", "tea tea", "later")),
        "time": (SearchScope(until_ms=BEGUN_MS + 60 * 86_400_000), talked(70, "later", "tea tea", "tea")),
    }
    for within, other in scopes.values():
        with closing(memory_world("scopes")) as world:
            for number, text in enumerate(["green tea", "black tea", "green", "tea and cake"]):
                world.commit(talked(number, "talk", text, "well"))
            before = found(world, "green tea cake", within=within)
            world.commit(other)
            assert found(world, "green tea cake", within=within).hits == before.hits
