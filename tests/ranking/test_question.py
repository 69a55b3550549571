"""What is understood of a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.message import Role
from muniment.ranking.names import GREETED_MIN
from muniment.ranking.question import PHRASES_MAX, QUESTION_CHARS, ParsedQuestion, Question, parse_question
from muniment.search.index import Index
from tests.ranking.corpora import NOW_MS, Post, asked, index_of

TALK = [
    Post("We should book the harbour tour", "Caroline"),
    Post("Will do, the lantern one", "user:17"),
    Post("Hey Mel! How are you?", "Caroline"),
    Post("fine, and you?", "user:17"),
    Post("Hi Mel, any news?", "Caroline"),
    Post("none", "user:17"),
    Post("Thanks God it rained", "Caroline"),
]

TALKING = index_of(TALK)


@pytest.fixture(scope="module")
def talk() -> Index:
    return index_of(TALK)


def read_of(text: str, corpus: Index) -> ParsedQuestion:
    return parse_question(asked(text), corpus, corpus.every())


def phrases(text: str, corpus: Index) -> list[str]:
    return [" ".join(phrase) for phrase in read_of(text, corpus).phrases]


def speakers(text: str, corpus: Index) -> list[str]:
    return [corpus.columns.speakers[number] for number in read_of(text, corpus).speakers]


SEARCHED = {
    "Where did we leave the harbour lantern?": ["leav", "left", "harbour", "lantern"],
    "order 4711-zephyr": ["order", "4711 zephyr", "4711", "zephyr"],
    "call find_restaurants(city)": ["call", "find restaur", "find", "restaur", "citi"],
    "state-of-the-art": ["state of the art", "state", "art"],
    "harbour harbours Harbour": ["harbour"],
    "what isn't Bob's or ours?": ["bob"],
    "who bought children tickets": ["bought", "bui", "children", "child", "ticket"],
    "青川天氣": ["青川", "川天", "天氣"],
    "who?": ["who"],  # nothing else is left
    "to be or not to be": ["to", "be", "or", "not"],
    "what on 25.01.2022 about rain": ["rain"],
    "what happened in May about rain": ["rain"],
    "rain \x00 \ud800 \u202egnp": ["rain", "gnp"],
    "🙂 ... !?": [],
    "... !?": [],
}


@pytest.mark.parametrize("text", SEARCHED)
def test_what_is_searched_for(text: str, talk: Index) -> None:
    """Words that every sentence has are not; what is joined is a phrase beside its pieces."""
    assert phrases(text, talk) == SEARCHED[text]


def test_a_speaker_is_named_and_still_searched_for(talk: Index) -> None:
    """The id names a speaker, whatever its case; what is embedded is the question without what is written as a name."""
    read = read_of("What did caroline's lantern cost, Caroline?", talk)
    assert speakers("What did caroline's lantern cost, Caroline?", talk) == ["Caroline"]
    assert [*map(" ".join, read.phrases)] == ["lantern", "cost"]
    assert [*map(" ".join, read.names)] == ["carolin"]
    assert read.left_out == ["What", "did"]
    assert read.meaning == "What did caroline's lantern cost, ?"


def test_whoever_is_greeted_by_a_name_is_called_so(talk: Index) -> None:
    """An id need not say what somebody is called. A single greeting is no proof, nor is what stands inside."""
    assert speakers("What did Mel lose?", talk) == ["user:17"]
    assert not speakers("What did mel lose?", talk)
    assert not speakers("What does God do?", talk)
    assert not speakers("How is You?", talk)
    assert GREETED_MIN == 2
    inside = index_of([each._replace(text=f"so: {each.text}") for each in TALK])
    assert not speakers("What did Mel lose?", inside)


def test_a_name_alone_is_searched_for(talk: Index) -> None:
    """Who asks for a name alone, or for common words alone, gets what has them."""
    assert phrases("Caroline", talk) == ["carolin"]
    assert speakers("Caroline", talk) == ["Caroline"]


def test_a_common_word_names_somebody_only_if_it_is_capitalised_inside_a_sentence() -> None:
    index = index_of([Post("hello", "Will"), Post("hello", "May")])
    assert speakers("What did Will say about May?", index) == ["May", "Will"]
    assert not speakers("will it rain in may?", index)
    assert not speakers("Will it rain?", index)


def test_what_many_are_called_names_nobody() -> None:
    """A word in the ids of many speakers is no name, nor is a role or a number."""
    index = index_of([Post("hello", f"host {number}") for number in range(9)] + [Post("hello", "user")])
    assert not speakers("What did host say about 3 users, user?", index)
    assert speakers("what did host-4 say?", index_of([Post("hello", "host 4")])) == ["host 4"]


def test_speakers_who_are_gone_are_named_to_nobody() -> None:
    index = index_of(TALK)
    index.remove([(1, turn) for turn in (1, 3, 5, 7)])
    read = read_of("What did Caroline say to Mel?", index)
    assert not read.speakers
    assert [*map(" ".join, read.phrases)] == ["carolin", "mel"]


ROLES_ASKED = {
    "What did you recommend for the garden?": Role.ASSISTANT,
    "which hotel have you really suggested": Role.ASSISTANT,
    "what was your advice on rain?": Role.ASSISTANT,
    "the assistant said something about rain": Role.ASSISTANT,
    "What did I say about rain?": Role.USER,
    "the recipe I mentioned": Role.USER,
    "What would you suggest for the garden?": None,
    "Can you show me the garden?": None,
    "what about rain?": None,
}


@pytest.mark.parametrize("text", ROLES_ASKED)
def test_whose_words_are_asked_for(text: str, talk: Index) -> None:
    """A role is asked about by what it said; who asks for something new asks for nobody's words."""
    read = read_of(text, talk)
    assert read.role == ROLES_ASKED[text]
    assert ["recommend"] not in read.phrases
    assert ["mention"] not in read.phrases


def test_what_time_is_named_or_asked_for(talk: Index) -> None:
    read = read_of("What happened yesterday?", talk)
    assert len(read.ranges) == 1
    assert not read.when
    assert read_of("When did it rain?", talk).when


def test_long_questions_are_bounded(talk: Index) -> None:
    """Of a megabyte the beginning is read."""
    words = " ".join(f"word{number}" for number in range(100_000))
    read = read_of(words, talk)
    assert len(read.phrases) == PHRASES_MAX
    assert read.phrases[0] == ["word0"]
    assert len(read.meaning) <= QUESTION_CHARS
    assert not read_of("a-" * 500_000, talk).speakers


@given(
    text=st.text()
    | st.lists(st.sampled_from(["Mel", "what", "did", "you", "say", "'s", "-", "_", "2022", "青"])).map(" ".join)
)
def test_every_text_is_understood(text: str) -> None:
    """Reading never fails; each term of the text is searched for, or one of a word that is left out."""
    read = parse_question(Question(text, NOW_MS), TALKING, TALKING.every())
    searched = {term for phrase in read.searched for term in phrase}
    assert all(read.phrases)
    assert len(read.phrases) <= PHRASES_MAX
    left_out = {term for word in read.left_out for term in TALKING.terms(f"{word} {word.replace('_', ' ')}")}
    endings = {"s", "t", "d", "m", "ll", "re", "ve"}
    if max(len(read.phrases), len(read.names)) < PHRASES_MAX:
        assert set(TALKING.terms(text)) <= searched | left_out | endings
