"""How long cursors lead on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import CursorInvalid, CursorStale, Kind
from muniment.governance.cursor_lifetime import CURSOR_AHEAD_MS_MAX, CURSOR_LIFE_MS, check_term, check_unchanged, term

DAY_MS = 86_400_000


def test_a_cursor_lives_for_seven_days_and_comes_from_at_most_five_minutes_ahead() -> None:
    """PG-06."""
    assert (CURSOR_LIFE_MS, CURSOR_AHEAD_MS_MAX) == (7 * DAY_MS, 300_000)


@given(st.integers(0, 2**48), st.integers(-(2**40), 2**40))
def test_a_cursor_is_good_from_a_little_before_its_issue_until_it_expires(issued_ms: int, later_ms: int) -> None:
    """PG-06: for any two clocks, in term exactly when -300 s <= now - issued < 7 days."""
    given_term = term(issued_ms)
    if later_ms < -CURSOR_AHEAD_MS_MAX:
        with pytest.raises(CursorInvalid):
            check_term(given_term, issued_ms + later_ms)
    elif later_ms >= CURSOR_LIFE_MS:
        with pytest.raises(CursorStale, match="expired"):
            check_term(given_term, issued_ms + later_ms)
    else:
        check_term(given_term, issued_ms + later_ms)


@pytest.mark.parametrize("later_ms", [-CURSOR_AHEAD_MS_MAX, CURSOR_LIFE_MS - 1])
def test_the_borders_of_a_term_are_inside(later_ms: int) -> None:
    """PG-06."""
    check_term(term(DAY_MS), DAY_MS + later_ms)


def test_stale_is_an_error_of_its_own_kind() -> None:
    """PG-07: a client can tell it from a cursor that was never good, and begin again."""
    check_unchanged((1, "a"), (1, "a"))
    with pytest.raises(CursorStale, match="the data has changed since") as stale:
        check_unchanged((1, "a"), (2, "a"))
    assert (stale.value.code, stale.value.kind) == ("cursor.stale", Kind.CONFLICT)
