"""Cursors: only their issuer can write them, and only for what they were written for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import CursorInvalid
from muniment.kernel.cursor import CURSOR_CHARS_MAX, PREFIX, accept, issue

KEY = bytes(range(32))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
bindings = st.lists(texts, max_size=4).map(tuple)
keys = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)
payloads = st.dictionaries(keys, st.integers(0, 2**63 - 1) | texts, max_size=4)


@given(st.binary(min_size=32, max_size=32), texts, bindings, payloads)
def test_a_cursor_gives_back_what_was_put_in(
    key: bytes, purpose: str, binding: tuple[str, ...], payload: dict[str, int | str]
) -> None:
    """accept(issue(p)) == p under the same key, purpose and binding."""
    cursor = issue(key, purpose, binding, payload)
    assert accept(key, purpose, binding, cursor) == payload
    assert cursor.startswith(PREFIX)
    assert cursor.isascii()


@given(bindings, payloads, st.data())
def test_a_cursor_with_any_changed_character_is_refused(
    binding: tuple[str, ...], payload: dict[str, int | str], data: st.DataObject
) -> None:
    """One character changed, put in or taken out: refused."""
    cursor = issue(KEY, "page", binding, payload)
    at = data.draw(st.integers(0, len(cursor) - 1))
    new = data.draw(st.characters().filter(lambda character: character != cursor[at]))
    for changed in (
        cursor[:at] + new + cursor[at + 1 :],
        cursor[:at] + new + cursor[at:],
        cursor[:at] + cursor[at + 1 :],
    ):
        with pytest.raises(CursorInvalid):
            accept(KEY, "page", binding, changed)


@given(bindings, bindings, texts, texts, payloads)
def test_a_cursor_is_good_for_its_own_purpose_and_binding_only(
    binding: tuple[str, ...], other: tuple[str, ...], purpose: str, elsewhere: str, payload: dict[str, int | str]
) -> None:
    """However the parts of a binding are cut, two different requests never share a cursor."""
    cursor = issue(KEY, purpose, binding, payload)
    if (purpose, binding) != (elsewhere, other):
        with pytest.raises(CursorInvalid):
            accept(KEY, elsewhere, other, cursor)
    with pytest.raises(CursorInvalid):
        accept(bytes(32), purpose, binding, cursor)


def test_the_cut_between_binding_and_purpose_is_part_of_the_cursor() -> None:
    cursor = issue(KEY, "a", ("b", "c"), {})
    for purpose, binding in (("a", ("bc",)), ("ab", ("c",)), ("a", ("b", "c", "")), ("a", ("b",))):
        with pytest.raises(CursorInvalid):
            accept(KEY, purpose, binding, cursor)


@pytest.mark.parametrize(
    "cursor",
    ["", PREFIX, "mc1", "mc2.AAAA", "\u2603", f"{PREFIX}\u2603", f"{PREFIX}====", f"{PREFIX}A", "x" * CURSOR_CHARS_MAX],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        accept(KEY, "page", (), cursor)


def test_a_cursor_beyond_its_size_is_refused_before_anything_is_computed() -> None:
    cursor = issue(KEY, "page", (), {"a": "x" * CURSOR_CHARS_MAX})
    with pytest.raises(CursorInvalid):
        accept(KEY, "page", (), cursor)


def test_a_refusal_tells_nothing_of_the_cursor() -> None:
    with pytest.raises(CursorInvalid) as refused:
        accept(KEY, "page", (), "mc1.canary")
    assert "canary" not in str(refused.value)
