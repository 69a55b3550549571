"""Fixtures are parsed whole or refused by the line, values are compared by shape, and nothing of a text is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput, LimitExceeded
from muniment.replay.fixture import fixture_bytes, parse_fixture
from muniment.replay.values import difference, resolved
from tests.replay_harness.histories import HISTORIES, commit, history, measured

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_is_parsed_is_written_as_it_was(path: Path) -> None:
    data = path.read_bytes()
    fixture = parse_fixture(data)
    assert fixture_bytes(fixture.header, fixture.commands) == data


def test_the_digest_of_a_fixture_is_of_its_bytes() -> None:
    assert history(commit(1)).digest != history(commit(2)).digest
    assert len(history().digest) == 64


@pytest.mark.parametrize(
    ("line", "at", "problem"),
    [
        ({"do": "expect", "what": 1}, "line 2", "unknown_field"),
        ({"with": {}}, "line 2, do", "missing_field"),
        ({"do": "crash", "point": "planned"}, "line 2, during", "missing_field"),
        ({"do": "crash", "during": commit(1)}, "line 2, point", "missing_field"),
        ({**commit(1), "point": "planned"}, "line 2, point", "not_taken"),
        ({**commit(1), "during": commit(2)}, "line 2, point", "not_taken"),
        ({"do": "crash", "point": "planned", "during": {"do": "reopen"}}, "line 2, during", "not_taken"),
        ({"do": "crash", "point": "planned", "during": commit(1, error={"code": "x"})}, "line 2, during", "not_taken"),
        ({"do": "crash", "nth": 0, "point": "planned", "during": commit(1)}, "line 2, nth", "not_positive"),
        ({"do": "file", "with": {"name": "a", "text": 1}}, "line 2, with", "wrong_type"),
        ({"do": "file", "with": {"name": "a", "words": "b"}}, "line 2, with", "missing_field"),
        ({"do": "rebuild", "expect": {"report": {"difference": None}}}, "line 2, expect.report", "not_taken"),
        ({"do": "reopen", "expect": {"report": {"a": 1}}}, "line 2, expect.report", "not_taken"),
        (commit(1, error={"code": "x"}, report={"sequence": 1}), "line 2, expect.report", "not_taken"),
        (measured(fault="space.erased", log={"size": 4}), "line 2, expect.fault", "not_taken"),
        (measured(log={"size": "four"}), "line 2, expect.log.size", "wrong_type"),
    ],
)
def test_a_line_that_is_not_understood_is_refused_by_its_number(line: Any, at: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        history(line)
    assert (refused.value.at, refused.value.problem) == (at, problem)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"{}", b"no", b'{"format":"muniment.replay/2","id":"a","subject":"b"}'])
def test_what_is_no_fixture_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        parse_fixture(data)


@given(json_values)
def test_a_value_is_what_it_is(value: Any) -> None:
    """Nothing differs from itself, and everything differs from something else."""
    assert difference(value, value, "it") is None
    assert difference([value], [value, value], "it") == "it: 2 items, not 1"
    assert difference([value, 0], [value, False], "it") == "it[1]: false, not 0"


@pytest.mark.parametrize(
    ("wanted", "found", "told"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, None),
        ({"a": 1}, {"b": 1}, "it.a: absent"),
        ({"a": {"$absent": True}}, {"b": 1}, None),
        ({"a": {"$absent": True}}, {"a": None}, "it.a: there, not absent"),
        ({"a": [{"b": "secret one"}]}, {"a": [{"b": "secret two"}]}, "it.a[0].b: another text, not another text"),
        ([{}], {}, "it: an object, not a list"),
        (1, True, "it: true, not 1"),
        ("", 1.5, "it: a fraction, not an empty text"),
        ("0" * 64, "f" * 64, f"it: {'f' * 64}, not {'0' * 64}"),
    ],
)
def test_a_difference_says_where_and_what_sort_and_quotes_nothing(wanted: Any, found: Any, told: str | None) -> None:
    assert difference(wanted, found, "it") == told


def test_references_lead_to_what_was_reported() -> None:
    kept = {"page": {"turns": [{"turn": "t"}], "next_cursor": "c"}}
    value = {"cursor": {"$from": "page.next_cursor"}, "deep": [{"$from": "page.turns[0].turn"}], "at": {"$file": "x"}}
    found = resolved(value, kept, lambda name: Path("files") / name)
    assert found == {"cursor": "c", "deep": ["t"], "at": "files/x"}


@pytest.mark.parametrize("path", ["nothing", "page.other", "page.turns[3]", "page.turns.turn"])
def test_a_reference_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput):
        resolved({"$from": path}, {"page": {"turns": []}}, Path)


@pytest.mark.parametrize("reference", [{"$from": 1}, {"$file": ["x"]}])
def test_a_reference_that_is_no_text_is_refused(reference: Any) -> None:
    with pytest.raises(InvalidInput):
        resolved(reference, {}, Path)


def test_a_fixture_has_only_so_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muniment.replay.fixture.LINES_MAX", 2)
    assert history(commit(1)).commands
    with pytest.raises(LimitExceeded):
        history(commit(1), commit(2))
