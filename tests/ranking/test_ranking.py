"""Ranking: which hits there are, in which order, and what their scores are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from muniment.events.message import Role
from muniment.ranking import ranking as ranking_module
from muniment.ranking.question import parse_question
from muniment.ranking.ranking import SIGNALS, rank
from muniment.ranking.weights import PRESETS, Weights
from muniment.search.index import Index
from tests.ranking.corpora import DAY_MS, NOW_MS, Post, asked, index_of, ranked, said_at, turns, with_vectors

WORDS = ("harbour", "lantern", "tour", "rain", "quiet", "orchard", "青川", "may")
QUESTIONS = ("harbour", "harbour lantern tour", "what did Ada say about rain yesterday?", "Bob's lantern", "青川 may")
BARE = replace(PRESETS["seed"], keyword=1, semantic=0, recency=0)

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
messages = st.builds(
    Post,
    text=texts,
    speaker=st.sampled_from(["ada", "Bob", "user:17"]),
    role=st.sampled_from([Role.USER, Role.ASSISTANT]),
    days=st.sampled_from([0.5, 1.0, 1.1, 40.0]),
    stream=st.integers(1, 3),
)
corpora = st.lists(messages, min_size=1, max_size=12)
weightings = st.sampled_from([*PRESETS.values(), BARE, None])


def told(index: Index, found: ranking_module.Ranked) -> list[tuple[object, ...]]:
    """Return an answer without the numbers of documents."""
    columns = index.columns
    places = zip(columns.stream[found.rows].tolist(), columns.turn[found.rows].tolist(), strict=True)
    parts = [tuple(float(values[at]) for values in found.signals.values()) for at in range(len(found.rows))]
    return [(*place, score, *part) for place, score, part in zip(places, found.scores.tolist(), parts, strict=True)]


@given(said=corpora, text=st.sampled_from(QUESTIONS), weights=weightings, data=st.data())
def test_an_answer_does_not_depend_on_the_history_of_an_index(
    said: list[Post], text: str, weights: Weights | None, data: st.DataObject
) -> None:
    """Whatever was put in first, taken out meanwhile or put in again: scores are equal to the last bit."""
    index = index_of(said, data.draw(st.permutations(range(len(said)))))
    index.put(9, 1, [])
    other = index_of([*said, Post("harbour rain 青川 lantern", "Bob", stream=9), *said])
    other.remove([(9, len(said) + 1)])
    other.remove([(each.stream, len(said) + 2 + place) for place, each in enumerate(said)])
    assert told(index, ranked(index, text, weights)) == told(other, ranked(other, text, weights))


@given(said=corpora, text=st.sampled_from(QUESTIONS), weights=weightings)
def test_scores_are_what_their_signals_add_and_bounded(said: list[Post], text: str, weights: Weights | None) -> None:
    """Every signal is told, none is negative, and their sum is the score, which never exceeds the bound."""
    index = index_of(said)
    found = ranked(index, text, weights)
    assert tuple(found.signals) == SIGNALS
    total = sum(found.signals.values(), np.zeros(len(found.rows)))
    assert total.tolist() == found.scores.tolist()
    assert all((values >= 0).all() for values in found.signals.values())
    assert (found.scores <= (weights or PRESETS["words"]).most + 1e-9).all()
    assert (np.diff(found.scores) <= 0).all()


@given(said=corpora, text=st.sampled_from(QUESTIONS), name=st.sampled_from(SIGNALS))
def test_a_weight_of_zero_leaves_a_signal_out(said: list[Post], text: str, name: str) -> None:
    found = ranked(index_of(said), text, replace(PRESETS["words"], **{name: 0.0}))
    assert not found.signals[name].any()


@given(said=corpora, more=corpora)
def test_the_only_message_with_a_word_stays_the_best(said: list[Post], more: list[Post]) -> None:
    """Whatever else is said: what alone has the only word of a question is a hit, and the first by words alone."""
    index = index_of([Post("the zephyr", "Bob"), *said, *more])
    found = ranked(index, "zephyr", BARE)
    assert (index.columns.stream[found.rows[0]], index.columns.turn[found.rows[0]]) == (1, 1)
    assert index.every()[0] in ranked(index, "zephyr").rows


@given(said=corpora, text=st.sampled_from(QUESTIONS), weights=weightings, data=st.data())
def test_few_candidates_are_ranked_as_many_are(
    said: list[Post], text: str, weights: Weights | None, data: st.DataObject
) -> None:
    """Hits, scores and signals are the same to the bit, whether all columns are looked at or those of a few."""
    corpus = with_vectors(said, {each.text: place / 20 for place, each in enumerate(said)})
    every = np.flatnonzero(corpus.columns.alive)
    some = np.array(sorted(data.draw(st.sets(st.sampled_from(every.tolist()), min_size=1))), np.int64)
    asked_for, found = parse_question(asked(text), corpus, np.flatnonzero(corpus.columns.alive)), list[list[object]]()
    for share in (0, len(every) + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking_module, "FEW_SHARE", share)
            each = rank(asked_for, corpus, some, weights)
        found.append([each.rows.tolist(), each.scores.tolist(), {name: v.tolist() for name, v in each.signals.items()}])
    assert found[0] == found[1]


@given(said=corpora, text=st.sampled_from(QUESTIONS), data=st.data())
def test_only_candidates_are_hits(said: list[Post], text: str, data: st.DataObject) -> None:
    """By words alone, a search among some finds what a search among all finds of them."""
    index = index_of(said)
    some = np.array(sorted(data.draw(st.sets(st.sampled_from(index.every().tolist())))), np.int64)
    read = parse_question(asked(text), index, some)
    within, of_all = rank(read, index, some, BARE), rank(read, index, index.every(), BARE)
    assert set(within.rows.tolist()) == {row for row in of_all.rows.tolist() if row in some.tolist()}
    assert set(rank(parse_question(asked(text), index, some), index, some).rows.tolist()) <= set(some.tolist())


@given(
    said=corpora, phrases=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), max_size=4), data=st.data()
)
def test_words_are_scored_among_some_as_if_there_were_no_others(
    said: list[Post], phrases: list[list[str]], data: st.DataObject
) -> None:
    """However many there are beside them, the scores are the same to the last bit."""
    some = data.draw(st.sets(st.integers(0, len(said) - 1)))
    alone = index_of([said[place] for place in sorted(some)]).keyword(phrases).tolist()
    for others in (0, 40, 400):
        index = index_of([*said, *(Post("quiet harbour " * 30) for _ in range(others))])
        assert index.keyword(phrases, np.array(sorted(some), np.int64)).tolist() == alone


def test_ties_are_ordered_by_time_sequence_and_conversation() -> None:
    """The later one first, then the higher sequence, then the conversation that was opened later."""
    index = index_of([Post("rain", days=2), Post("rain", days=1), Post("rain", days=2)], [2, 1, 0])
    index.put(2, 3, [said_at(NOW_MS - 2 * DAY_MS, Role.USER, "ada", "rain")])
    found = ranked(index, "rain", BARE)
    columns = index.columns
    order = [*zip(columns.stream[found.rows].tolist(), columns.turn[found.rows].tolist(), strict=True)]
    assert order == [(1, 2), (2, 3), (1, 3), (1, 1)]


def test_where_nothing_matches_the_answer_is_empty() -> None:
    """Neither a speaker nor a date, a neighbour or a session makes a hit of what has nothing to do with a question."""
    index = index_of([Post("harbour", "ada"), Post("lantern", "Bob")])
    assert not len(ranked(index, "What did Ada say about zephyrs yesterday?").rows)
    assert not len(ranked(index, "...").rows)
    assert not len(ranked(index_of([]), "harbour").rows)
    assert not len(rank(parse_question(asked("harbour"), index, index.every()), index, np.empty(0, np.int64)).rows)


def test_what_stands_beside_a_match_is_a_hit() -> None:
    """The answer to a question need not repeat its words; what stands further away is none."""
    said = [Post("quiet"), Post("which orchard?"), Post("the old one", "Bob"), Post("quiet"), Post("orchard", stream=2)]
    index = index_of(said)
    found = ranked(index, "orchard")
    assert set(turns(index, found)) == {1, 2, 3, 5}
    assert set(turns(index, ranked(index, "orchard", BARE))) == {2, 5}
    of_bob = ranked(index, "Bob's orchard")
    assert turns(index, of_bob)[1] == 3
    assert of_bob.signals["speaker"][1] == PRESETS["words"].speaker


def test_priors_decide_among_equals() -> None:
    """Who is named, the role that is asked about, and the time that is named."""
    said = [Post("rain", "ada"), Post("rain", "Bob", days=9), Post("rain", "ada", Role.ASSISTANT, days=20)]
    index = index_of([each._replace(stream=place) for place, each in enumerate(said, start=1)])
    assert turns(index, ranked(index, "rain")) == [1, 2, 3]
    assert turns(index, ranked(index, "Bob's rain"))[0] == 2
    assert turns(index, ranked(index, "the rain 9 days ago"))[0] == 2
    assert turns(index, ranked(index, "did you mention rain"))[0] == 3
    assert turns(index, ranked(index, "rain", replace(BARE, recency=1.0))) == [1, 2, 3]


def test_where_only_a_time_is_asked_for_what_was_said_then_is_found() -> None:
    """With who said it, if that is asked; a word beside the time must be found as ever."""
    index = index_of([Post("rain", days=1), Post("lantern", "Bob", days=1, stream=2), Post("rain", days=50, stream=3)])
    assert set(turns(index, ranked(index, "What did we do yesterday?"))) == {1, 2}
    assert turns(index, ranked(index, "What did Bob say yesterday?"))[0] == 2
    assert not turns(index, ranked(index, "Which zephyr was there yesterday?"))
    assert not turns(index, ranked(index, "What did we do yesterday?", BARE))


def test_a_session_is_as_good_as_its_best() -> None:
    """Two equal messages: first the one whose session has more of what is asked for."""
    said = [Post("rain"), Post("quiet"), Post("quiet"), Post("rain"), Post("rain", stream=2, days=0.5)]
    index = index_of(said)
    found = ranked(index, "rain", replace(BARE, session=1.0))
    assert turns(index, found) == [4, 1, 5]
    assert found.signals["session"].tolist() == [1.0, 1.0, 0.5]


def test_meaning_is_found_without_words() -> None:
    """What is near enough is a hit; what is less near than a share of the best is none by itself."""
    said = [Post(text, stream=place) for place, text in enumerate(("storm", "cloud", "shoe", "sock", "hat"), start=1)]
    corpus = with_vectors(said, {"storm": 0.9, "cloud": 0.6, "shoe": 0.1, "sock": 0.1, "hat": 0.1})
    found = ranked(corpus, "What did Ada think of rain?")
    assert turns(corpus, found) == [1, 2]
    assert corpus.asked == ["What did think of rain?"]
    assert found.signals["semantic"][0] == PRESETS["meaning"].semantic
    assert not found.signals["keyword"].any()
    assert turns(corpus, ranked(corpus, "rain", BARE)) == []
    assert corpus.asked == ["What did think of rain?"], "nobody asks for meaning that counts for nothing"


def test_where_nothing_is_near_the_answer_is_empty() -> None:
    said = [Post(text, stream=place) for place, text in enumerate(WORDS, start=1)]
    corpus = with_vectors(said, {text: 0.8 + place / 1000 for place, text in enumerate(WORDS)})
    assert not len(ranked(corpus, "zephyr").rows)


def test_what_has_no_vector_yet_is_ranked_by_its_words() -> None:
    """The best by words stands before what is less near in both, and nothing is ever no number."""
    said = [
        Post(text, stream=place) for place, text in enumerate(("rain rain", "rain or storm", "storm", "hat"), start=1)
    ]
    corpus = with_vectors(said, {"rain or storm": 0.6, "storm": 0.9, "hat": 0.1})
    found = ranked(corpus, "rain")
    assert np.isfinite(found.scores).all()
    assert turns(corpus, found) == [1, 2, 3]
    assert found.signals["semantic"][0] == PRESETS["meaning"].semantic
    nothing = with_vectors(said, {})
    assert turns(nothing, ranked(nothing, "rain")) == [1, 2]


def test_of_many_hits_the_best_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best by words and priors are, and no more are told than asked for; a tie is never cut."""
    said = [Post("rain" + " quiet" * place, "Bob" if place == 30 else "ada", stream=place) for place in range(1, 41)]
    index = index_of(said)
    best = turns(index, ranked(index, "Bob's rain"))
    monkeypatch.setattr(ranking_module, "SCORED_MAX", 5)
    assert turns(index, ranked(index, "Bob's rain")) == best[:5]
    assert best[0] == 30
    assert len(rank(parse_question(asked("rain"), index, index.every()), index, index.every(), limit=3).rows) == 3
    alike = index_of([Post("rain", stream=place) for place in range(1, 41)])
    read = parse_question(asked("rain"), alike, alike.every())
    assert turns(alike, rank(read, alike, alike.every(), limit=3)) == [40, 39, 38]


HOSTILE = (
    "",
    " ",
    "the",
    "Ada",
    "ada Bob " * 1000,
    "rain " * 200_000,
    "\x00",
    "\ud800",
    "\u202erain",
    "AND OR NEAR(*",
    '"',
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_questions_are_answered(text: str) -> None:
    index = index_of([Post("the rain"), Post("Ada, NEAR me and AND", "Bob")])
    found = ranked(index, text)
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid_weights(name: str) -> None:
    assert convert(to_builtins(PRESETS[name]), Weights) == PRESETS[name]
    assert PRESETS["seed"].most == 1.0
    with pytest.raises(ValidationError):
        convert({"keyword": -1}, Weights)
