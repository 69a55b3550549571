"""What people write for moments and durations is one number of milliseconds, or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput
from muniment.kernel.sources import MOMENT_MS_MAX
from muniment.kernel.times import DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS, TimeKind, milliseconds, written

DECEMBER_MS = 1_796_083_200_000  # 2026-12-01T00:00:00Z, from `date -u -d 2026-12-01 +%s`


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30d", 30 * DAY_MS), ("12h", 12 * HOUR_MS), ("90m", 90 * MINUTE_MS), ("90 min", 90 * MINUTE_MS),
        ("2 weeks", 2 * WEEK_MS), ("1 week", WEEK_MS), ("1h 30m", 90 * MINUTE_MS), ("1h30m", 90 * MINUTE_MS),
        ("10S", 10_000), ("250 ms", 250), ("P30D", 30 * DAY_MS), ("P2W", 2 * WEEK_MS), ("PT12H", 12 * HOUR_MS),
        ("P1DT1H1M1S", DAY_MS + HOUR_MS + MINUTE_MS + 1000), ("PT5M", 5 * MINUTE_MS), ("86400000", DAY_MS),
        (" 30d ", 30 * DAY_MS), ("0", 0), ("0d", 0),
    ],
)  # fmt: skip
def test_a_duration_is_read_as_it_is_written(text: str, ms: int) -> None:
    assert milliseconds(TimeKind.DURATION, text) == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-12-01", DECEMBER_MS), ("2026-12-01T10:00", DECEMBER_MS + 10 * HOUR_MS),
        ("2026-12-01T10:00Z", DECEMBER_MS + 10 * HOUR_MS), ("2026-12-01 10:00:30", DECEMBER_MS + 10 * HOUR_MS + 30_000),
        ("2026-12-01T10:00:30.250Z", DECEMBER_MS + 10 * HOUR_MS + 30_250),
        ("2026-12-01T10:00+02:00", DECEMBER_MS + 8 * HOUR_MS), ("1970-01-01", 0), ("1796083200000", DECEMBER_MS),
    ],
)  # fmt: skip
def test_a_moment_is_utc_unless_it_says_otherwise(text: str, ms: int) -> None:
    assert milliseconds(TimeKind.MOMENT, text) == ms


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (TimeKind.DURATION, "5M", "minutes_or_months"), (TimeKind.DURATION, "1 month", "length_not_fixed"),
        (TimeKind.DURATION, "2y", "length_not_fixed"), (TimeKind.DURATION, "P1M", "length_not_fixed"),
        (TimeKind.DURATION, "P1Y2D", "length_not_fixed"), (TimeKind.DURATION, "30m 1h", "no_duration"),
        (TimeKind.DURATION, "1h 1h", "no_duration"), (TimeKind.DURATION, "soon", "no_duration"),
        (TimeKind.DURATION, "3 parsecs", "no_duration"), (TimeKind.DURATION, "", "no_duration"),
        (TimeKind.DURATION, "-3d", "no_duration"), (TimeKind.DURATION, "1.5h", "no_duration"),
        (TimeKind.DURATION, "P", "no_duration"), (TimeKind.DURATION, "PT", "no_duration"),
        (TimeKind.DURATION, "P1DT", "no_duration"), (TimeKind.DURATION, "9" * 16, "no_duration"),
        (TimeKind.DURATION, "9" * 16 + "d", "no_duration"), (TimeKind.DURATION, "2026-12-01", "no_duration"),
        (TimeKind.DURATION, "\u0663d", "no_duration"),
        (TimeKind.MOMENT, "01/12/2026", "day_or_month_first"), (TimeKind.MOMENT, "1.12.26", "day_or_month_first"),
        (TimeKind.MOMENT, "2026-13-01", "no_moment"), (TimeKind.MOMENT, "2026-02-30", "no_moment"),
        (TimeKind.MOMENT, "2026-12", "no_moment"), (TimeKind.MOMENT, "yesterday", "no_moment"),
        (TimeKind.MOMENT, "2026-12-01T25:00", "no_moment"), (TimeKind.MOMENT, "10:00", "no_moment"),
        (TimeKind.MOMENT, "2026-W49", "no_moment"), (TimeKind.MOMENT, "30d", "no_moment"),
        (TimeKind.MOMENT, "0001-01-01T00:00+23:59", "before_1970"), (TimeKind.MOMENT, "1969-12-31", "before_1970"),
    ],
)  # fmt: skip
def test_what_says_nothing_or_two_things_is_refused(kind: TimeKind, text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        milliseconds(kind, text)
    assert refused.value.problem == problem
    assert not text.strip() or text not in str(refused.value)


@given(st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1)), st.integers(-23, 23))  # noqa: DTZ001 - a zone follows
def test_every_moment_that_is_written_in_iso_is_read(naive: datetime, hours: int) -> None:
    """Reading is the inverse of writing, in every zone."""
    moment = naive.replace(microsecond=0, tzinfo=timezone(timedelta(hours=hours)))
    told = milliseconds(TimeKind.MOMENT, moment.isoformat())
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=told) == moment


@given(st.text(max_size=20), st.sampled_from(TimeKind))
def test_no_text_is_anything_but_a_number_or_a_refusal(text: str, kind: TimeKind) -> None:
    try:
        assert milliseconds(kind, text) >= 0
    except InvalidInput as refused:
        assert refused.problem  # noqa: PT017 - either ending is right


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01 00:00:00Z"),
        (1_764_583_200_999, "2025-12-01 10:00:00Z"),
        (MOMENT_MS_MAX, "9999-12-31 23:59:59Z"),
        (MOMENT_MS_MAX + 1, "253402300800000 ms"),
        (-1, "-1 ms"),
    ],
)
def test_a_moment_is_written_to_the_second_and_one_outside_the_calendar_as_its_number(ms: int, text: str) -> None:
    assert written(ms) == text
