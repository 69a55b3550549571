"""Moments and durations as people write them, in milliseconds.

Operations take milliseconds. A field says with `MOMENT` or `DURATION`, in the `extra` of its `Meta`, which of the two
its number is, so that a transport for people can accept what they write:

| kind | accepted |
|---|---|
| moment | `2026-12-01`, `2026-12-01T10:00`, `2026-12-01 10:00:30Z`, `2026-12-01T10:00+02:00`; UTC by default |
| duration | `30d`, `12h`, `90m`, `1h 30m`, `2 weeks`, `P30D`, `PT12H` |
| both | a number of milliseconds |

What could mean two things is refused: `01/12/2026` (day or month first), `5M` (minutes or months), and so are months
and years, which have no fixed length.
"""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from muniment.errors import InvalidInput
from muniment.kernel.sources import within_calendar

SECOND_MS = 1000
MINUTE_MS, HOUR_MS, DAY_MS, WEEK_MS = 60 * SECOND_MS, 3_600 * SECOND_MS, 86_400 * SECOND_MS, 604_800 * SECOND_MS

# unit, as it is written in lower case -> its length; longer units first
UNITS: dict[str, int] = {
    **dict.fromkeys(("w", "week", "weeks"), WEEK_MS),
    **dict.fromkeys(("d", "day", "days"), DAY_MS),
    **dict.fromkeys(("h", "hour", "hours"), HOUR_MS),
    **dict.fromkeys(("m", "min", "minute", "minutes"), MINUTE_MS),
    **dict.fromkeys(("s", "sec", "second", "seconds"), SECOND_MS),
    "ms": 1,
}
NOT_FIXED = frozenset({"mo", "month", "months", "y", "year", "years"})
ISO_MS = (WEEK_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS)  # of the numbers in `P...W`, `P...DT...H...M...S`
DIGITS_MAX = 15  # of a number: fits 2^53

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[0-9]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{3})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_EITHER_ORDER = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}", re.ASCII)
_TERM = re.compile(r"([0-9]+)\s*([A-Za-z]+)\s*")
_ISO = re.compile(r"P(?:([0-9]+)W|(?=.)(?:([0-9]+)D)?(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)S)?)?)")
_ISO_NOT_FIXED = re.compile(r"P[0-9]+[YM].*")


class TimeKind(StrEnum):
    """What a number of milliseconds is: a moment since 1970 in UTC, or a duration."""

    MOMENT = "moment"
    DURATION = "duration"


MOMENT: dict[str, Any] = {"time": TimeKind.MOMENT}  # the `extra` of the `Meta` of a field
DURATION: dict[str, Any] = {"time": TimeKind.DURATION}


def written(ms: int, clock: str = "%H:%M:%S") -> str:
    """Return a moment in UTC as people write it; one outside the calendar as its number."""
    if ms != within_calendar(ms):
        return f"{ms} ms"
    return f"{datetime.fromtimestamp(ms // SECOND_MS, UTC):%Y-%m-%d {clock}}Z"


def milliseconds(kind: TimeKind, text: str) -> int:
    """Return the milliseconds that a text says; raises `InvalidInput` with the problem when it says none, or two."""
    trimmed = text.strip()
    if _NUMBER.fullmatch(trimmed) and len(trimmed) <= DIGITS_MAX:
        return int(trimmed)
    return _moment(trimmed) if kind is TimeKind.MOMENT else _duration(trimmed)


def _moment(text: str) -> int:
    if _EITHER_ORDER.fullmatch(text):
        raise InvalidInput(problem="day_or_month_first")
    if not _MOMENT.fullmatch(text):
        raise InvalidInput(problem="no_moment")
    try:
        parsed = datetime.fromisoformat(text)
        since = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        raise InvalidInput(problem="no_moment") from None
    if since < timedelta(0):
        raise InvalidInput(problem="before_1970")
    return since // timedelta(milliseconds=1)


def _duration(text: str) -> int:
    if _ISO_NOT_FIXED.fullmatch(text):
        raise InvalidInput(problem="length_not_fixed")
    if (iso := _ISO.fullmatch(text)) is not None:
        return _sum([(number or "0", length) for number, length in zip(iso.groups(), ISO_MS, strict=True)])
    terms = _TERM.findall(text)
    if not terms or _TERM.sub("", text):
        raise InvalidInput(problem="no_duration")
    units = [unit for _, unit in terms]
    if "M" in units:
        raise InvalidInput(problem="minutes_or_months")
    if NOT_FIXED.intersection(unit.lower() for unit in units):
        raise InvalidInput(problem="length_not_fixed")
    lengths = [UNITS.get(unit.lower(), 0) for unit in units]
    if 0 in lengths or any(later >= earlier for earlier, later in itertools.pairwise(lengths)):
        raise InvalidInput(problem="no_duration")
    return _sum([(number, length) for (number, _), length in zip(terms, lengths, strict=True)])


def _sum(terms: list[tuple[str, int]]) -> int:
    if any(len(number) > DIGITS_MAX for number, _ in terms):
        raise InvalidInput(problem="no_duration")
    return sum(int(number) * length for number, length in terms)
