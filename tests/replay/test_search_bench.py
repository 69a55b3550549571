"""What the figures of search are measured with is the same in every run, and is what it says."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from replay.bench.scene import Scene
from replay.bench.search import corpora
from replay.bench.search.corpora import Corpus
from replay.bench.search.latency import answers
from replay.bench.search.queries import Kind, Query, asked
from replay.embedders import Projected
from replay.zipf import MESSAGE_CHARACTERS, Dialogues
from tests.shared import need_shared

TURNS = 120


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Return a small corpus of generated dialogues."""
    return Corpus("generated", tmp_path_factory.mktemp("corpus"), partial(Dialogues().lines, TURNS))


def test_generated_dialogues_are_the_same_in_every_run() -> None:
    assert list(Dialogues().lines(TURNS)) == list(Dialogues().lines(TURNS))
    assert list(Dialogues("another").lines(TURNS)) != list(Dialogues().lines(TURNS))


def test_generated_words_are_as_frequent_as_words_are(corpus: Corpus) -> None:
    """Few words are most of what is said, most words are rare, and a case is named once."""
    texts = [words for _, _, words in corpus.texts()]
    often = Counter(word for text in texts for word in text.split())
    total = sum(often.values())
    assert 0.3 < sum(count for _, count in often.most_common(100)) / total < 0.7
    assert sum(count == 1 for count in often.values()) > len(often) / 3
    assert {count for word, count in often.items() if word.startswith("case-")} == {1}
    assert max(map(len, texts)) <= MESSAGE_CHARACTERS + len("case-0000000 ")


def test_every_kind_of_question_is_asked_and_always_the_same(corpus: Corpus) -> None:
    questions = asked(corpus)
    assert questions == asked(corpus)
    assert {query.kind for query in questions.everywhere} == set(Kind)
    assert all(query.within.conversation == query.conversation for query in questions.in_one)


def test_a_store_of_a_corpus_has_all_of_its_turns(corpus: Corpus) -> None:
    assert corpus.turns == TURNS
    assert f"{TURNS} turns" in corpus.name


def test_contestants_take_turns_and_every_answer_counts_once() -> None:
    asked_of: list[str] = []
    queries = [Query(Kind.RARE, "one"), Query(Kind.TOOL, "two")]
    contestants = {name: partial(_noted, asked_of, name) for name in ("a", "b")}
    done = answers(contestants, queries, 2)
    assert asked_of == ["a", "a", "b", "b"] * 3
    assert {kind: len(taken) for kind, taken in done["a"].by_kind.items()} == {Kind.RARE: 2, Kind.TOOL: 2}


def test_real_dialogues_are_searched_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_shared("corpora")
    monkeypatch.setattr(corpora, "SGD_CONVERSATIONS_QUICK", 3)
    found = next(corpora.corpora(Scene(tmp_path, quick=True)))
    assert found.name.startswith("sgd")
    assert {text.conversation_id for text in found.messages()} == {group for _, group, _ in found.texts()}
    assert found.turns > 3


def test_the_projection_gives_the_same_words_the_same_vector() -> None:
    """Real arithmetic without a model: unit length, and nearer for texts that share words."""
    one, same, near, far = Projected().encode(
        ["the blue boat", "the blue boat", "a blue boat sank", "rehearsal on Thursday"], query=False
    )
    assert np.array_equal(one, same)
    assert np.linalg.norm(one) == pytest.approx(1.0, abs=1e-6)
    assert one @ near > one @ far + 0.2
    assert np.array_equal(Projected().encode(["the blue boat"], query=True)[0], one)


def _noted(asked_of: list[str], name: str, _query: Query) -> None:
    asked_of.append(name)


def test_what_is_made_of_the_log_can_be_taken_away(corpus: Corpus) -> None:
    before = sorted(Path(corpus.home).rglob("*"))
    corpus.only_imported()
    assert sorted(Path(corpus.home).rglob("*")) == before
    assert corpus.made_bytes() == 0
