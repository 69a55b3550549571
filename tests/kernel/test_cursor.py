"""Cursors: only their issuer can write or read them, and they are good only for what they were written for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from muniment.crypto.cursor_key import CursorKey
from muniment.errors import CursorInvalid
from muniment.kernel.cursor import CURSOR_CHARS_MAX, FILL_BYTES, PREFIX, Cursors
from muniment.kernel.digest import unb64url

KEY = bytes(range(32))
TAG_BYTES = 16


class Mark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the cursors of these tests carry."""

    after: int
    name: str = ""


class OtherMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the cursors of another release carry."""

    behind: int


cursors = Cursors(CursorKey(KEY))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
bindings = st.lists(texts, max_size=4).map(tuple)
marks = st.builds(Mark, after=st.integers(-(2**63), 2**63 - 1), name=texts)


@given(st.binary(min_size=32, max_size=32), texts, bindings, marks)
def test_a_cursor_gives_back_what_was_put_in(key: bytes, purpose: str, binding: tuple[str, ...], mark: Mark) -> None:
    """PG-04: accept(issue(m)) == m under the same key, purpose and binding; ASCII, of bounded size, with a prefix."""
    own = Cursors(CursorKey(key))
    cursor = own.issue(purpose, binding, mark)
    assert own.accept(purpose, binding, cursor, Mark) == mark
    assert cursor.startswith(PREFIX)
    assert cursor.isascii()
    assert len(cursor) <= CURSOR_CHARS_MAX
    assert cursor == own.issue(purpose, binding, mark)


@given(bindings, marks, st.data())
def test_a_cursor_with_any_changed_character_is_refused(
    binding: tuple[str, ...], mark: Mark, data: st.DataObject
) -> None:
    """PG-09: one character changed, put in or taken out: refused before anything of it is looked at."""
    cursor = cursors.issue("page", binding, mark)
    at = data.draw(st.integers(0, len(cursor) - 1))
    new = data.draw(st.characters().filter(lambda character: character != cursor[at]))
    for changed in (
        cursor[:at] + new + cursor[at + 1 :],
        cursor[:at] + new + cursor[at:],
        cursor[:at] + cursor[at + 1 :],
    ):
        if changed != cursor:
            with pytest.raises(CursorInvalid):
                cursors.accept("page", binding, changed, Mark)


@given(bindings, bindings, texts, texts, marks)
def test_a_cursor_is_good_for_its_own_purpose_and_binding_only(
    binding: tuple[str, ...], other: tuple[str, ...], purpose: str, elsewhere: str, mark: Mark
) -> None:
    """However the parts of a binding are cut, two different requests never share a cursor."""
    cursor = cursors.issue(purpose, binding, mark)
    if (purpose, binding) != (elsewhere, other):
        with pytest.raises(CursorInvalid):
            cursors.accept(elsewhere, other, cursor, Mark)
    with pytest.raises(CursorInvalid):
        Cursors(CursorKey(bytes(32))).accept(purpose, binding, cursor, Mark)


def test_the_cut_between_binding_and_purpose_is_part_of_the_cursor() -> None:
    cursor = cursors.issue("a", ("b", "c"), Mark(after=1))
    for purpose, binding in (("a", ("bc",)), ("ab", ("c",)), ("a", ("b", "c", "")), ("a", ("b",))):
        with pytest.raises(CursorInvalid):
            cursors.accept(purpose, binding, cursor, Mark)


@given(st.integers(0, 2**53))
def test_a_host_can_neither_read_a_cursor_nor_measure_it(after: int) -> None:
    """PG-04: nothing of the mark stands in the cursor, and its length is one of a few."""
    cursor = cursors.issue("page", (), Mark(after=after, name="canary"))
    sealed = unb64url(cursor.removeprefix(PREFIX))
    assert b"canary" not in sealed
    assert (len(sealed) - TAG_BYTES) % FILL_BYTES == 0


@pytest.mark.parametrize(
    "cursor",
    ["", PREFIX, "mc1", "mc2.AAAA", "\u2603", f"{PREFIX}\u2603", f"{PREFIX}====", f"{PREFIX}A", "x" * CURSOR_CHARS_MAX],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        cursors.accept("page", (), cursor, Mark)


def test_a_cursor_beyond_its_size_is_refused_before_anything_is_computed() -> None:
    with pytest.raises(CursorInvalid):
        cursors.accept("page", (), PREFIX + "A" * CURSOR_CHARS_MAX, Mark)


def test_a_cursor_that_another_release_issued_is_refused() -> None:
    cursor = cursors.issue("page", (), OtherMark(behind=1))
    with pytest.raises(CursorInvalid):
        cursors.accept("page", (), cursor, Mark)


def test_a_refusal_tells_nothing_of_the_cursor() -> None:
    with pytest.raises(CursorInvalid) as refused:
        cursors.accept("page", (), "mc1.canary", Mark)
    assert "canary" not in str(refused.value)


def test_the_key_of_cursors_shows_nothing_of_itself() -> None:
    """PG-04: not in a debugger either."""
    assert repr(CursorKey(KEY)) == "<CursorKey of a space>"
