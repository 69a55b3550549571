"""Which times a question names: ranges of time, as far as its words say them.

Absolute days, months and years, ISO dates and numeric ones, seasons and feasts, and what counts from the moment of the
question ("yesterday", "two months ago", "last Friday"). Days are those of UTC. What lies ahead names nothing: nobody
has said anything there yet. A day without a year is the last one before the question. Reading never fails: what is no
date is no range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

RANGES_MAX = 8
ASKED_MS_MAX = 4_102_444_800_000  # 2100-01-01
DAY_MS = 86_400_000

MONTHS = {
    name: place
    for place, names in enumerate(
        ["january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"], start=1
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: place
    for place, name in enumerate(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month in which they begin
FEASTS = {
    "christmas eve": (12, 24), "christmas": (12, 25), "xmas": (12, 25), "new year's eve": (12, 31),
    "new year eve": (12, 31), "new year's day": (1, 1), "new year's": (1, 1), "halloween": (10, 31),
    "valentine's day": (2, 14),
}  # fmt: skip
NUMBERS = {
    name: number
    for number, names in enumerate(
        ["", "a an one", "two couple", "three few", "four several", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve"]
    )
    for name in names.split()
}  # fmt: skip
UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
PARTS = {"early": (0, 1), "beginning": (0, 1), "start": (0, 1), "mid": (1, 2), "middle": (1, 2), "late": (2, 3),
         "end": (2, 3)}  # fmt: skip


class DateRange(NamedTuple):
    """A range of time in UTC milliseconds; the end is not included."""

    start_ms: int
    end_ms: int


class NamedTime(NamedTuple):
    """A time that a question names: the range, and the code points of the question that say so."""

    range: DateRange
    start: int
    end: int


def dates(text: str, asked_ms: int) -> list[NamedTime]:
    """Return the times that a text names, in the order of their words; what is named within another is left out."""
    today = datetime.fromtimestamp(min(max(asked_ms, 0), ASKED_MS_MAX) / 1000, UTC).date()
    lowered = text.lower() if len(text.lower()) == len(text) else text
    taken = bytearray(len(text))
    found: list[NamedTime] = []
    for pattern, read in PATTERNS:
        for match in pattern.finditer(lowered):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            span = _span(read, match, today)
            if span is None or (match.group() in AMBIGUOUS and not text[start].isupper()):
                continue
            taken[start:end] = b"\x01" * (end - start)
            if span[0] <= today:
                found.append(NamedTime(_range(*span), start, end))
    return sorted(found, key=lambda each: each.start)[:RANGES_MAX]


# --- what the words of a date say: the first day and the day behind the last ------------------------------------------

Span = tuple[date, date]
Read = Callable[[re.Match[str], date], Span]
AMBIGUOUS = {"may", "march", "mar", "sun", "sat", "fall", "spring"}  # words of their own, unless capitalised


def _span(read: Read, match: re.Match[str], today: date) -> Span | None:
    try:
        return read(match, today)
    except (ValueError, OverflowError):  # the 31st of February, the year 0
        return None


def _range(first: date, behind: date) -> DateRange:
    return DateRange(
        *(int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000 for day in (first, behind))
    )


def _day(day: date) -> Span:
    return day, day + timedelta(days=1)


def _month(year: int, month: int) -> Span:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _year(year: int) -> Span:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _season(year: int, name: str) -> Span:
    month = SEASONS[name]
    return date(year, month, 1), _month(year + (month + 2) // 13, (month + 1) % 12 + 1)[1]


def _past(today: date, of_year: Callable[[int], Span]) -> Span:
    """Return the latest one that had begun when the question was asked."""
    span = of_year(today.year)
    return span if span[0] <= today else of_year(today.year - 1)


def _full_year(digits: str) -> int:
    return int(digits) if len(digits) > 2 else 2000 + int(digits)


def _count(words: str) -> int:
    return int(words) if words.isdigit() else NUMBERS[words]


def _iso(match: re.Match[str], _: date) -> Span:
    year, month, day = int(match["y"]), int(match["m"]), match["d"]
    return _day(date(year, month, int(day))) if day else _month(year, month)


def _numeric(match: re.Match[str], _: date) -> Span:
    """Read 25.01.2024, and 1/25/2024 as people in America write it unless it can only be the other way."""
    first, second, year = int(match["a"]), int(match["b"]), _full_year(match["y"])
    day_first = match["sign"] != "/" or first > 12
    return _day(date(year, second, first) if day_first else date(year, first, second))


def _month_day(match: re.Match[str], today: date) -> Span:
    month, day = MONTHS[match["month"]], int(match["d"])
    if match["y"]:
        return _day(date(int(match["y"]), month, day))
    return _past(today, lambda year: _day(date(year, month, day)))


def _of_month(match: re.Match[str], today: date) -> Span:
    month = MONTHS[match["month"]]
    span = _month(int(match["y"]), month) if match["y"] else _past(today, lambda year: _month(year, month))
    return _part(match["part"], span)


def _of_season(match: re.Match[str], today: date) -> Span:
    name, which = match["season"], match["which"]
    if match["y"]:
        span = _season(int(match["y"]), name)
    else:
        span = _past(today, lambda year: _season(year, name))
        if which == "last" and span[1] > today:
            span = _season(span[0].year - 1, name)
    return _part(match["part"], span)


def _of_year(match: re.Match[str], _: date) -> Span:
    return _part(match["part"], _year(int(match["y"])))


def _part(part: str | None, span: Span) -> Span:
    if part is None:
        return span
    first, last = PARTS[part]
    days = (span[1] - span[0]).days
    return span[0] + timedelta(days=days * first // 3), span[0] + timedelta(days=days * last // 3)


def _feast(match: re.Match[str], today: date) -> Span:
    month, day = FEASTS[match["feast"].replace("\u2019", "'")]
    if match["y"]:
        return _day(date(int(match["y"]), month, day))
    return _past(today, lambda year: _day(date(year, month, day)))


def _ago(match: re.Match[str], today: date) -> Span:
    """Read "three weeks ago": the longer ago, the less exactly."""
    unit, count = match["unit"], _count(match["n"])
    day = today - timedelta(days=count * UNIT_DAYS[unit])
    slack = timedelta(days=UNIT_DAYS[unit] // 2)
    return day - slack, day + slack + timedelta(days=1)


def _within_last(match: re.Match[str], today: date) -> Span:
    return today - timedelta(days=_count(match["n"]) * UNIT_DAYS[match["unit"]]), today + timedelta(days=1)


def _last_unit(match: re.Match[str], today: date) -> Span:
    """Read "last week" and "this month": that of the calendar."""
    last, unit = match["which"] != "this", match["unit"]
    if unit == "year":
        return _year(today.year - last)
    if unit == "month":
        index = today.year * 12 + today.month - 1 - last
        return _month(index // 12, index % 12 + 1)
    monday = today - timedelta(days=today.weekday() + 7 * last)
    return monday + timedelta(days=5 * (unit == "weekend")), monday + timedelta(days=7)


def _weekday(match: re.Match[str], today: date) -> Span:
    back = (today.weekday() - WEEKDAYS[match["weekday"]]) % 7
    return _day(today - timedelta(days=back or 7 * (match["which"] == "last")))


def _days_back(days: int) -> Read:
    return lambda _, today: _day(today - timedelta(days=days))


def _words(table: dict[str, int] | dict[str, tuple[int, int]]) -> str:
    return "|".join(sorted(table, key=len, reverse=True)).replace("'", "['\u2019]")


def _patterns() -> Iterator[tuple[re.Pattern[str], Read]]:
    month, year, day = f"(?P<month>{_words(MONTHS)})\\.?", r"(?P<y>(?:19|20)\d\d)", r"(?P<d>[0-3]?\d)(?:st|nd|rd|th)?"
    part = f"(?:(?P<part>{_words(PARTS)})[ -](?:of )?(?:the )?)?"
    number = f"(?P<n>\\d{{1,3}}|{_words(NUMBERS)})(?: of)?"
    which, unit = "last|this|past|previous", r"(?P<unit>day|weekend|week|month|year)"
    ahead = f"(?:next|coming|following) (?:{_words(SEASONS)}|{_words(WEEKDAYS)}|{_words(MONTHS)}|{'|'.join(UNIT_DAYS)})"
    for pattern, read in (
        (rf"\b{ahead}\b", _days_back(-1)),
        (r"\b(?P<y>(?:19|20)\d\d)[-/](?P<m>[01]?\d)(?:[-/](?P<d>[0-3]?\d))?\b", _iso),
        (r"\b(?P<a>[0-3]?\d)(?P<sign>[./-])(?P<b>[0-3]?\d)(?P=sign)(?P<y>(?:19|20)?\d\d)\b", _numeric),
        (r"(?P<y>(?:19|20)\d\d)年(?P<m>[01]?\d)月(?:(?P<d>[0-3]?\d)[日号])?", _iso),
        (rf"\b{month} {day}(?:,? {year})?\b", _month_day),
        (rf"\b{day}(?: of)? {month}(?:,? {year})?\b", _month_day),
        (rf"\b{part}{month}(?:,? (?:of )?{year})?\b", _of_month),
        (rf"\b{part}(?:(?P<which>{which}) )?(?P<season>{_words(SEASONS)})(?:,? (?:of )?{year})?\b", _of_season),
        (rf"\b(?P<feast>{_words(FEASTS)})(?:,? {year})?(?!\w)", _feast),
        (rf"\b(?:an? )?{number} {unit}s? (?:ago|before|back|earlier)\b", _ago),
        (rf"\b(?:last|past|previous) {number} {unit}s?\b", _within_last),
        (rf"\b(?P<which>{which}) {unit}\b", _last_unit),
        (rf"\b(?:(?P<which>{which}|on) )?(?P<weekday>{_words(WEEKDAYS)})\b", _weekday),
        (r"\bday before yesterday\b|前天|一昨日", _days_back(2)),
        (r"\b(?:yesterday|last night)\b|昨天|昨日", _days_back(1)),
        (r"\b(?:today|tonight)\b|今天|今日", _days_back(0)),
        (rf"(?<![-./\d]){part}\b{year}\b(?![-./]?\d)", _of_year),
    ):  # fmt: skip
        yield re.compile(pattern), read


PATTERNS = tuple(_patterns())
