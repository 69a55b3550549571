"""The language of queries, small and our own: a query never reaches the syntax of a database.

    query   = { clause }
    clause  = ["-"] ( phrase | filter | word )
    phrase  = '"' any text '"'
    filter  = name ":" ( phrase | value )
    word    = a run without blanks and quotes

A word may occur, a phrase must, and a clause with `-` before it must not. Filters are those of `FilterName`; a filter
with an unreadable value, and any other `x:y`, is a word. So is the syntax of other languages: `AND`, `NEAR`, `*`, `^`,
the name of a column. Every text is a query, except one that is too long or has control characters. Whether it has a
term to search for is decided with the index (`answer`).

Dates are ISO 8601: a year, a month, a day, or a day with a time, in UTC unless it has an offset. Each is a span of
time, so that `before`, `on` and `after` a date leave no gap.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.message import Role

QUERY_CHARS_MAX = 1024

_BLANK = frozenset({"Cc", "Cs", "Zl", "Zp"})
_GRAMMAR = re.compile(r"[\":]|(?<!\S)-+")
QUOTES = '"\u201c\u201d\u201e'
EXCLUDES = "-"

_WORD = re.compile(rf"[^\s{QUOTES}]+")
_FILTER = re.compile(rf"([A-Za-z]+):(?:[{QUOTES}]([^{QUOTES}]*)(?:[{QUOTES}]|$)|([^\s{QUOTES}]+))")
_DATE = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?)?)?)?"
)


class FilterName(StrEnum):
    """What a filter selects by: the speaker, the conversation, the role, and the time."""

    FROM = "from"
    IN = "in"
    ROLE = "role"
    BEFORE = "before"
    AFTER = "after"
    ON = "on"


DATED = frozenset({FilterName.BEFORE, FilterName.AFTER, FilterName.ON})


class Form(StrEnum):
    """The kinds of clauses."""

    WORD = "word"
    PHRASE = "phrase"
    FILTER = "filter"


class Clause(NamedTuple):
    """A part of a query. `name` is that of a filter, and `text` then its value."""

    form: Form
    text: str
    excludes: bool = False
    name: FilterName | None = None

    def spelled(self) -> str:
        """Return the clause as it is typed."""
        value = f'"{self.text}"' if self.form is Form.PHRASE or re.search(r"\s", self.text) else self.text
        named = value if self.name is None else f"{self.name}:{value}"
        return f"{EXCLUDES}{named}" if self.excludes else named


class TimeSpan(NamedTuple):
    """A half-open range of UTC milliseconds."""

    from_ms: int
    until_ms: int


class CappedItem(StrEnum):
    """What a query has too many of: words, places of its words in the index, hits."""

    WORDS = "words"
    PLACES = "places"
    HITS = "hits"


class Cap(Struct, frozen=True, kw_only=True):
    """A limit that a query reached: `limit` of `found`, or of more, were used."""

    what: CappedItem
    limit: int
    found: int


class Query(NamedTuple):
    """A parsed query: its clauses in their order."""

    clauses: tuple[Clause, ...]

    @property
    def text(self) -> str:
        """The words and phrases to search for, as plain text."""
        return " ".join([part.text for part in self.clauses if part.form is not Form.FILTER and not part.excludes])

    @property
    def words(self) -> list[str]:
        """The words that may occur."""
        return [part.text for part in self.clauses if part.form is Form.WORD and not part.excludes]

    @property
    def phrases(self) -> list[str]:
        """The phrases that must occur."""
        return [part.text for part in self.clauses if part.form is Form.PHRASE and not part.excludes]

    @property
    def excluded(self) -> list[str]:
        """The words and phrases that must not occur."""
        return [part.text for part in self.clauses if part.form is not Form.FILTER and part.excludes]

    @property
    def filters(self) -> list[Clause]:
        """The filters."""
        return [part for part in self.clauses if part.form is Form.FILTER]

    @property
    def taken_as_words(self) -> list[str]:
        """The words that look like a filter with an unreadable value."""
        matches = (_FILTER.match(part.text) for part in self.clauses if part.form is Form.WORD)
        return [match.string for match in matches if match is not None and match[1].lower() in set(FilterName)]

    def without(self, words: set[int]) -> Query:
        """Return the query without some of the words that may occur, counted from 0."""
        kept, at = list[Clause](), 0
        for part in self.clauses:
            is_word = part.form is Form.WORD and not part.excludes
            if not (is_word and at in words):
                kept.append(part)
            at += is_word
        return Query(tuple(kept))

    def spelled(self) -> str:
        """Return the query in its normal form, which parses to the same query."""
        return " ".join(part.spelled() for part in self.clauses)


def parse(text: str) -> Query:
    """Return the query of a text; raises for one that is too long or has control characters."""
    if len(text) > QUERY_CHARS_MAX:
        raise LimitExceeded(at="query", problem="too_long", limit=QUERY_CHARS_MAX, found=len(text))
    kinds = set() if text.isprintable() else {unicodedata.category(char) for char in text}
    if "Cs" in kinds:
        raise InvalidInput(at="query", problem="lone_surrogate")
    if "Cc" in kinds:
        raise InvalidInput(at="query", problem="control_character")
    return Query(tuple(_clauses(text)))


def _clauses(text: str) -> Iterator[Clause]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        excludes = text[at] == EXCLUDES and at + 1 < len(text) and not text[at + 1].isspace()
        clause, at = _clause(text, at + excludes, excludes=excludes)
        if clause.text.strip():
            yield clause


def _clause(text: str, at: int, *, excludes: bool) -> tuple[Clause, int]:
    """Return the clause that begins at a place, and where it ends."""
    if text[at] in QUOTES:
        ends = [place for quote in QUOTES if (place := text.find(quote, at + 1)) >= 0]
        end = min(ends, default=len(text))
        return Clause(Form.PHRASE, text[at + 1 : end], excludes), end + 1
    named = _FILTER.match(text, at)
    if named is not None and named[1].lower() in set(FilterName):
        name, value = FilterName(named[1].lower()), named[2] if named[3] is None else named[3]
        if _is_readable(name, value):
            value = value.lower() if name is FilterName.ROLE else value
            return Clause(Form.FILTER, value, excludes, name), named.end()
    word = _WORD.match(text, at)
    assert word is not None, "it begins neither with a blank nor with a quote"
    return Clause(Form.WORD, word[0], excludes), word.end()


def _is_readable(name: FilterName, value: str) -> bool:
    if name is FilterName.ROLE:
        return value.lower() in set(Role)
    return span_of(value) is not None if name in DATED else bool(value.strip())


def span_of(date: str) -> TimeSpan | None:
    """Return the span of time of a date, or None for a text that is no date."""
    match = _DATE.fullmatch(date)
    if match is None:
        return None
    year, month, day, hour, minute, second, sign, hours, minutes = match.groups()
    try:
        offset = timedelta(hours=int(hours), minutes=int(minutes)) if sign else timedelta()
        zone = timezone(-offset if sign == "-" else offset) if sign else UTC
        begins = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=zone
        )
        ends = _end(begins, month, day, hour, second)
    except (ValueError, OverflowError):
        return None
    return TimeSpan(_ms(begins), _ms(ends))


def _end(begins: datetime, month: str | None, day: str | None, hour: str | None, second: str | None) -> datetime:
    if month is None:
        return begins.replace(year=begins.year + 1)
    if day is None:
        return begins.replace(year=begins.year + begins.month // 12, month=begins.month % 12 + 1)
    if hour is None:
        return begins + timedelta(days=1)
    return begins + (timedelta(minutes=1) if second is None else timedelta(seconds=1))


def _ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def without_syntax(text: str) -> str:
    """Return a text of any kind as the words of a query, without syntax: the end of it, as long as queries may be."""
    plain = "".join(" " if unicodedata.category(char) in _BLANK else char for char in text)
    end = " ".join(plain.split())[-QUERY_CHARS_MAX:]
    return " ".join(_GRAMMAR.sub(" ", end).split())
