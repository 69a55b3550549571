"""Which times a question names. Asked on Tuesday, 14 November 2023."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.ranking.dates import DAY_MS, RANGES_MAX, dates
from tests.ranking.corpora import NOW_MS

# what is asked -> first day and the day behind the last one, by hand
NAMED = {
    "what did I say on 2023-05-07?": ("2023-05-07", "2023-05-08"),
    "notes of 2023/5/7": ("2023-05-07", "2023-05-08"),
    "everything from 2023-05": ("2023-05-01", "2023-06-01"),
    "the call on 25.01.2022": ("2022-01-25", "2022-01-26"),
    "the call on 7.1.22": ("2022-01-07", "2022-01-08"),
    "the call on 1/25/2022": ("2022-01-25", "2022-01-26"),
    "the call on 25/1/2022": ("2022-01-25", "2022-01-26"),
    "on May 7, 2023": ("2023-05-07", "2023-05-08"),
    "on May 7th": ("2023-05-07", "2023-05-08"),
    "on 7 May 2023": ("2023-05-07", "2023-05-08"),
    "on the 7th of May, 2022": ("2022-05-07", "2022-05-08"),
    "on 5 Jan 2023": ("2023-01-05", "2023-01-06"),
    "on December 24": ("2022-12-24", "2022-12-25"),  # the last one, not the next one
    "in May 2022": ("2022-05-01", "2022-06-01"),
    "in December": ("2022-12-01", "2023-01-01"),
    "in december of 2021": ("2021-12-01", "2022-01-01"),
    "in mid-August 2023": ("2023-08-11", "2023-08-21"),
    "at the end of June": ("2023-06-21", "2023-07-01"),
    "in early 2023": ("2023-01-01", "2023-05-02"),
    "how often in 2022?": ("2022-01-01", "2023-01-01"),
    "last summer": ("2023-06-01", "2023-09-01"),
    "in the winter of 2021": ("2021-12-01", "2022-03-01"),
    "this autumn": ("2023-09-01", "2023-12-01"),
    "last autumn": ("2022-09-01", "2022-12-01"),
    "on Christmas": ("2022-12-25", "2022-12-26"),
    "on New Year\u2019s Eve 2021": ("2021-12-31", "2022-01-01"),
    "yesterday": ("2023-11-13", "2023-11-14"),
    "the day before yesterday": ("2023-11-12", "2023-11-13"),
    "what happened today?": ("2023-11-14", "2023-11-15"),
    "last week": ("2023-11-06", "2023-11-13"),
    "this week": ("2023-11-13", "2023-11-20"),
    "last weekend": ("2023-11-11", "2023-11-13"),
    "last month": ("2023-10-01", "2023-11-01"),
    "last year": ("2022-01-01", "2023-01-01"),
    "three days ago": ("2023-11-11", "2023-11-12"),
    "a week ago": ("2023-11-04", "2023-11-11"),
    "2 months ago": ("2023-08-31", "2023-10-01"),
    "in the past 10 days": ("2023-11-04", "2023-11-15"),
    "last few weeks": ("2023-10-24", "2023-11-15"),
    "on Friday": ("2023-11-10", "2023-11-11"),
    "last Tuesday": ("2023-11-07", "2023-11-08"),
    "2023年5月7日": ("2023-05-07", "2023-05-08"),
    "2023年5月": ("2023-05-01", "2023-06-01"),
    "昨天说了什么": ("2023-11-13", "2023-11-14"),
}
NOT_NAMED = (
    "", "may I ask?", "she may come", "the march of time", "he sat in the sun", "fall down", "room 2022b", "31.02.2023",
    "2023-13-01", "4711-zephyr", "192.168.20.19", "+1 2023-555-0100", "next summer", "in 2024",
    "on May 7, 2031", "0 days",
)  # fmt: skip


def day_ms(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize("text", NAMED)
def test_a_time_is_named(text: str) -> None:
    """Absolute and relative times are ranges of days."""
    assert [each.range for each in dates(text, NOW_MS)] == [tuple(map(day_ms, NAMED[text]))]


@pytest.mark.parametrize("text", NOT_NAMED)
def test_no_time_is_named(text: str) -> None:
    """Words that only look like times are none, nor is what lies ahead."""
    assert not dates(text, NOW_MS)


def test_several_times_come_in_the_order_of_their_words() -> None:
    found = dates("between June 2023 and last month, not 2022", NOW_MS)
    assert [each.range.start_ms for each in found] == list(map(day_ms, ("2023-06-01", "2023-10-01", "2022-01-01")))
    assert len(dates(" 2022" * 50, NOW_MS)) == RANGES_MAX


@given(text=st.text(), asked_ms=st.integers(-(2**70), 2**70))
def test_reading_dates_never_fails(text: str, asked_ms: int) -> None:
    """Whatever is asked, and when: ranges are whole, are not empty and have begun."""
    for each in dates(text, asked_ms):
        assert each.range.start_ms < each.range.end_ms
        assert each.range.start_ms <= max(asked_ms, 0) + DAY_MS
        assert text[each.start : each.end]


@given(
    text=st.lists(st.sampled_from(["last", "May", "7", "2023", "ago", "week", "/", "-", "31", "two", "."])).map(
        " ".join
    )
)
def test_pieces_of_dates_never_fail(text: str) -> None:
    """Nor does any order of words that dates are made of."""
    for each in dates(text, NOW_MS):
        assert each.range.start_ms < each.range.end_ms
