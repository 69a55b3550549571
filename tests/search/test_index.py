"""The index alone: whatever was put in and taken out, it is the index of what is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import LimitExceeded
from muniment.events.message import Role
from muniment.ranking.columns import NO_ROW, Rows
from muniment.search import index as index_module
from muniment.search.document_table import PAUSE_MS, SearchDocument, split_passages
from muniment.search.index import Index
from muniment.search.meaning import Meaning

WORDS = ("harbour", "lantern", "青川天氣", "don't", "4711-zephyr", "Ångström", "🙂")
HOUR_MS = 3_600_000

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.just("one long message. " * 80)
said = st.builds(
    SearchDocument,
    message=st.just(0),
    role=st.sampled_from([Role.USER, Role.ASSISTANT]),
    speaker=st.sampled_from(["ada", "Bob Lee", ""]),
    time_ms=st.integers(0, 30).map(HOUR_MS.__mul__),
    text=texts,
)
puts = st.tuples(st.integers(1, 3), st.integers(1, 6), st.lists(said, max_size=3), st.booleans())
Put = tuple[int, int, list[SearchDocument], bool]


class Texts(Meaning):
    """The texts of passages in the place of their vectors."""

    memory_bytes = 7

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, str] = {}

    def drop(self, passages: Sequence[int] | Rows) -> None:
        """Drop some."""
        for number in passages:
            self.known.pop(int(number), None)

    def renumber(self, kept: Rows) -> None:
        """Give the others new numbers."""
        self.known = {new: self.known[old] for new, old in enumerate(kept.tolist()) if old in self.known}

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield what is known."""
        yield "texts", repr(self.known).encode()


def put(index: Index, given: Put) -> None:
    stream, turn, documents, archived = given
    numbered = [replace(each, message=place) for place, each in enumerate(documents)]
    index.put(stream, turn, numbered, archived=archived)


def rebuilt(history: Sequence[Put]) -> Index:
    """Return an index of what is there in the end, put in in the order of the log."""
    last = {(stream, turn): each for each in history for stream, turn in [each[:2]]}
    made = Index()
    for place in sorted(last):
        put(made, last[place])
    return made


def known(index: Index) -> list[object]:
    """Return all that an index says of itself, and what it answers."""
    columns, every = index.columns, index.every()
    places = {int(row): place_of(index, int(row)) for row in every}
    answers = []
    for word in (*WORDS, "long"):
        phrases = [[term] for term in index.terms(word)]
        scores = index.keyword([*phrases, index.terms(word)], every).tolist()
        answers.append(sorted(zip((places[int(row)] for row in every), scores, strict=True)))
    links = sorted(
        [
            places[row],
            *(places.get(int(link[row]), NO_ROW) for link in (columns.previous, columns.following, columns.session)),
        ]
        for row in places
    )
    named = sorted(columns.speakers[number] for number in index.named("bob"))
    streams = sorted({place[0] for place in places.values()})
    said_in = [sorted(places[int(row)] for row in index.rows_of(stream)) for stream in streams]
    assert said_in == [sorted(place for place in places.values() if place[0] == stream) for stream in streams]
    return [list(index.contents()), answers, links, named]


def place_of(index: Index, row: int) -> tuple[int, int, int]:
    columns = index.columns
    return int(columns.stream[row]), int(columns.turn[row]), int(columns.message[row])


@given(
    st.lists(puts, max_size=14), st.sets(st.integers(0, 13)), st.sampled_from(["compact", "settle", "purge", "seal"])
)
@settings(deadline=None)
def test_an_index_that_grew_is_the_index_that_is_made_anew(history: list[Put], when: set[int], how: str) -> None:
    """In whatever order turns came, went and changed, and whenever it was brought into order or sealed."""
    grown = Index()
    for at, each in enumerate(history):
        put(grown, each)
        if at in when:
            if how == "seal":
                grown = Index.of_sections(dict(grown.sections()))
            else:
                getattr(grown, how)()
    assert known(grown) == known(rebuilt(history))


@given(st.lists(puts, max_size=8))
@settings(deadline=None)
def test_what_sections_say_is_the_same_index(history: list[Put]) -> None:
    """To the byte when it is said again, and grown further it stays the same."""
    grown = rebuilt(history)
    sections = dict(grown.sections())
    again = Index.of_sections(sections)
    assert dict(again.sections()) == sections
    assert len(again) == len(grown)
    for each in history[:3]:
        put(grown, (each[0], each[1] + 1, each[2], True))
        put(again, (each[0], each[1] + 1, each[2], True))
    assert known(again) == known(grown)


def a_document(text: str, message: int = 0, time_ms: int = 0) -> SearchDocument:
    return SearchDocument(message=message, role=Role.USER, speaker="ada", time_ms=time_ms, text=text)


def test_what_was_taken_out_is_found_no_more_and_purged_is_nowhere() -> None:
    index = Index()
    index.put(1, 1, [a_document("canary7f3a sings")])
    index.put(1, 2, [a_document("others sing")])
    index.remove([(1, 1), (1, 9)])
    assert not index.keyword([["canary7f3a"]]).any()
    assert index.keyword([["sing"]]).tolist().count(0.0) == 0  # one document is left
    index.purge()
    assert "canary7f3a" not in index.postings._numbers
    assert b"canary7f3a" not in b"".join(data for _, data in index.sections())


def test_the_speakers_of_whom_nothing_is_there_are_named_to_nobody() -> None:
    index = Index()
    index.put(1, 1, [a_document("hello")])
    index.remove([(1, 1)])
    assert index.columns.speakers == [""]
    assert index.named("ada") == []
    index.compact()
    assert index.columns.speakers == []


def test_a_long_pause_begins_another_session() -> None:
    index = Index()
    for turn, time in enumerate((0, PAUSE_MS, 2 * PAUSE_MS + 1, 2 * PAUSE_MS + 2), start=1):
        index.put(1, turn, [a_document("hello", time_ms=time)])
    columns = index.columns
    assert columns.session.tolist() == [0, 0, 2, 2]
    assert columns.previous.tolist() == [NO_ROW, 0, NO_ROW, 2]
    assert columns.following.tolist() == [1, NO_ROW, 3, NO_ROW]


def test_vectors_are_dropped_and_renumbered_with_their_passages() -> None:
    """One number for each passage: a document may have several, and one without words has none."""
    index = Index()
    texts = index.meaning = Texts()
    long = "long words. " * 150
    for turn, text in enumerate(("first", "?!", long, "last"), start=1):
        index.put(1, turn, [a_document(text)])
    many = len(split_passages(long))
    assert many > 1
    texts.known = {0: "first", **{number: f"long {number}" for number in range(1, many + 1)}, many + 1: "last"}
    index.remove([(1, 1)])
    assert sorted(texts.known) == list(range(1, many + 2))
    index.compact()
    assert texts.known == {**{number: f"long {number + 1}" for number in range(many)}, many: "last"}
    assert dict(index.sections())["texts"] == repr(texts.known).encode()
    assert index.memory_bytes > 7


def test_dead_rows_are_left_until_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "DEAD_ROWS_MAX", 2)
    index = Index()
    for turn in range(1, 9):
        index.put(1, turn, [a_document(f"word{turn}")])
    for turn in range(1, 5):
        index.put(1, turn, [])
        index.settle()
        assert len(index.columns.alive) == (8 if turn < 3 else 5)
    assert len(index) == 4


def test_places_end_below_their_bound_and_compaction_gives_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is one of memory, so it is reported, and what is there stays found."""
    monkeypatch.setattr(index_module, "PLACES_MAX", 60)
    index = Index()
    for _ in range(30):
        index.put(1, 1, [a_document("the same words again")])
    assert np.count_nonzero(index.keyword([["same"]])) == 1
    index.put(1, 2, [a_document("some more words here")])
    with pytest.raises(LimitExceeded):
        index.put(1, 3, [a_document("x" * 60)])
    assert np.count_nonzero(index.keyword([["more"]])) == 1


def test_a_session_is_named_by_its_first_document_however_long() -> None:
    index = Index()
    for turn in range(1, 12):
        index.put(1, turn, [a_document("hello", time_ms=turn), a_document("again", 1, turn)])
    assert index.columns.session.tolist() == [0] * 22
