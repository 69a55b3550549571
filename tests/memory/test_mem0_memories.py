"""Exports of mem0: every memory is a statement with its time and kind, and a repeat adds nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from muniment import ItemKind, View
from muniment.events.memory_items import MemoryPlane
from muniment.formats.memories.mem0_memories import noted
from muniment.formats.memories.memory_notes import NoteFlaw

ADA = {
    "id": "0b4c9f0e-64f5-4d9c-8a9b-5b1a4bb4a7a1",
    "memory": "Prefers trains to planes",
    "hash": "f0e1",
    "metadata": {"category": "travel_preferences"},
    "score": None,
    "created_at": "2026-01-02T03:04:05.678-08:00",
    "updated_at": None,
    "user_id": "ada",
}
BOB = {**ADA, "id": "2", "memory": "Lives in Oslo", "user_id": "bob", "metadata": None, "updated_at": "2026-01-02"}


def flaws(content: Any, subject: str = "ada") -> list[tuple[int, NoteFlaw]]:
    """Return what is wrong with an export."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return [(flaw.line, flaw.reason) for flaw in noted("mem0.json", data, subject).flaws]


@pytest.mark.parametrize("form", [{"results": [ADA]}, [ADA], {"memories": [ADA]}, {"count": 1, "results": [ADA]}])
def test_a_memory_is_a_statement(form: Any) -> None:
    [statement] = noted("mem0.json", json.dumps(form).encode(), "somebody else").statements
    assert (statement.line, statement.kind, statement.topic, statement.text, statement.observed_ms) == (
        1, ItemKind.PREFERENCE, "Prefers trains to planes", "Prefers trains to planes", 1767351845678
    )  # fmt: skip
    assert statement.plane is MemoryPlane.LONG_TERM


def test_of_several_users_the_subject_is_taken() -> None:
    [statement] = noted("mem0.json", json.dumps([ADA, BOB]).encode(), "bob").statements
    assert (statement.text, statement.kind, statement.observed_ms) == ("Lives in Oslo", ItemKind.FACT, 1767312000000)
    assert flaws([ADA, BOB], "bob") == [(1, NoteFlaw.OTHER_USER)]


def test_what_is_no_memory_is_named() -> None:
    assert flaws([ADA, 1, {"id": "x"}, {**ADA, "memory": " ! "}]) == [
        (number, NoteFlaw.NO_MEMORY) for number in (2, 3, 4)
    ]
    for whole in (b"{", b"{}", b'"text"', b"\xff"):
        assert flaws(whole) == [(0, NoteFlaw.NOT_MEMORIES)]
    assert flaws(b" " * (2**20 + 1)) == [(0, NoteFlaw.TOO_LARGE)]


MEMBERS = ["results", "memory", "metadata", "category", "categories", "created_at", "user_id"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.sampled_from(MEMBERS), each),
)


@given(JSON)
def test_nothing_raises_and_topics_are_told_apart(content: Any) -> None:
    """Whatever a file says, it has statements and flaws, and no two texts have one place."""
    found = noted("mem0.json", json.dumps(content).encode(), "ada")
    places = {(each.kind, each.topic): each.text for each in found.statements}
    assert all(places[each.kind, each.topic] == each.text for each in found.statements)


def test_texts_that_begin_alike_have_their_own_topics() -> None:
    texts = [f"{'word ' * 20}{number}" for number in (1, 2, 3)]
    found = noted("mem0.json", json.dumps([{"memory": text} for text in [*texts, *texts]]).encode(), "ada")
    assert len({each.topic for each in found.statements}) == 3


def test_an_import_is_remembered_once(tmp_path: Path) -> None:
    export = tmp_path / "mem0.json"
    export.write_text(json.dumps({"results": [ADA, {**ADA, "id": "3", "memory": "Has two cats", "metadata": {}}]}))
    with muniment.open("memory:") as runtime:
        first = runtime.memory.import_([export], subject="ada", requester="ada")
        assert (first.recorded, first.duplicates, first.refused) == (2, 0, 0)
        items = runtime.memory.list_("ada", View.MODEL_CONTEXT).items
        assert {item.text for item in items} == {"Prefers trains to planes", "Has two cats"}
        again = runtime.memory.import_([export], subject="ada", requester="ada")
        assert (again.recorded, again.duplicates, again.refused) == (0, 2, 0)
