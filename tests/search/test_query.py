"""The language of queries: what is read as what, that reading never fails, and that the normal form is one."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.errors import InvalidInput, LimitExceeded
from muniment.search.query import QUERY_CHARS_MAX, Clause, FilterName, Form, Query, parse, span_of

WORD, PHRASE, FILTER = Form
HOSTILE = [
    "word", " ", "  ", "-", '"', "\u201c", "\u201d", ":", "/", "from:", "in:", "on:2024", "role:user", "before:2024-13",
    "AND", "NEAR(", "*", "^", "rowid:", "'", ";--", "好", "青川", "🙂", "\u202e", "\u0301", "after:2024-02-30", "FROM:",
]  # fmt: skip
typed = st.lists(st.sampled_from(HOSTILE), max_size=30).map("".join) | st.text(max_size=60)
readable = typed.filter(lambda text: {unicodedata.category(char) for char in text}.isdisjoint({"Cc", "Cs"}))


def clause(form: Form, text: str, name: FilterName | None = None, *, excludes: bool = False) -> Clause:
    return Clause(form, text, excludes, name)


READ: dict[str, list[Clause]] = {
    "green tea": [clause(WORD, "green"), clause(WORD, "tea")],
    '"green tea"': [clause(PHRASE, "green tea")],
    '"green tea': [clause(PHRASE, "green tea")],
    "\u201cgreen tea\u201d": [clause(PHRASE, "green tea")],
    'black"green tea"white': [clause(WORD, "black"), clause(PHRASE, "green tea"), clause(WORD, "white")],
    "-black tea": [clause(WORD, "black", excludes=True), clause(WORD, "tea")],
    '-"black tea" tea': [clause(PHRASE, "black tea", excludes=True), clause(WORD, "tea")],
    "- tea -": [clause(WORD, "-"), clause(WORD, "tea"), clause(WORD, "-")],
    "--force": [clause(WORD, "-force", excludes=True)],
    "well-known 4711-zephyr": [clause(WORD, "well-known"), clause(WORD, "4711-zephyr")],
    "from:ada": [clause(FILTER, "ada", FilterName.FROM)],
    'FROM:"Ada Lovelace"': [clause(FILTER, "Ada Lovelace", FilterName.FROM)],
    "-from:ada": [clause(FILTER, "ada", FilterName.FROM, excludes=True)],
    "in:web/order-7": [clause(FILTER, "web/order-7", FilterName.IN)],
    "role:User": [clause(FILTER, "user", FilterName.ROLE)],
    "before:2024-05-06": [clause(FILTER, "2024-05-06", FilterName.BEFORE)],
    "after:2024 on:2024-02-29": [clause(FILTER, "2024", FilterName.AFTER), clause(FILTER, "2024-02-29", FilterName.ON)],
    "before:yesterday": [clause(WORD, "before:yesterday")],
    "on:2023-02-29": [clause(WORD, "on:2023-02-29")],
    "role:boss": [clause(WORD, "role:boss")],
    'role:"the boss"': [clause(WORD, "role:"), clause(PHRASE, "the boss")],
    "from: ada": [clause(WORD, "from:"), clause(WORD, "ada")],
    'from:"" ada': [clause(WORD, "from:"), clause(WORD, "ada")],
    "http://example.org rowid:1": [clause(WORD, "http://example.org"), clause(WORD, "rowid:1")],
    "a AND b NEAR(c) *d^": [clause(WORD, text) for text in ("a", "AND", "b", "NEAR(c)", "*d^")],
    '""  " "': [],
    "": [],
}


@pytest.mark.parametrize("text", list(READ))
def test_a_query_is_read_as_it_is_meant(text: str) -> None:
    assert list(parse(text).clauses) == READ[text]


@given(readable)
@example("-\u201c")
@example('-"')
@example("from:a\u3000b")
def test_reading_a_query_never_fails_and_its_normal_form_is_read_as_the_same(text: str) -> None:
    """Law: total, bounded, idempotent."""
    query = parse(text)
    assert sum(len(each.text) for each in query.clauses) <= len(text)
    assert parse(query.spelled()) == query
    assert parse(query.spelled()).spelled() == query.spelled()
    assert len(query.words) + len(query.phrases) + len(query.excluded) + len(query.filters) == len(query.clauses)


@given(readable)
def test_what_is_looked_for_is_what_was_typed(text: str) -> None:
    """Nothing is made up: each piece stands in the query, but for the case of a role."""
    query = parse(text)
    for each in query.clauses:
        assert each.text in text or each.name is FilterName.ROLE


@given(st.text(alphabet=st.characters(categories=["Cc"]), min_size=1), st.text(max_size=20), st.text(max_size=20))
def test_a_control_character_anywhere_is_refused(control: str, before: str, behind: str) -> None:
    """CT-13."""
    with pytest.raises(InvalidInput) as refused:
        parse(before + control + behind)
    assert refused.value.problem in {"control_character", "lone_surrogate"}


def test_half_of_a_character_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"invalid Unicode \(lone surrogate\)"):
        parse("tea \ud800")


@pytest.mark.parametrize("size", [QUERY_CHARS_MAX + 1, 2**20])
def test_a_query_that_is_too_long_is_refused_and_not_quoted(size: int) -> None:
    """CT-13: its characters are counted before anything is read."""
    assert len(parse("x" * QUERY_CHARS_MAX).words[0]) == QUERY_CHARS_MAX
    with pytest.raises(LimitExceeded) as refused:
        parse("好" * size)
    assert (refused.value.limit, refused.value.found) == (QUERY_CHARS_MAX, size)
    assert "好" not in str(refused.value)


def test_what_looks_like_a_filter_and_is_none_is_told() -> None:
    query = parse("role:boss on:never rowid:1 from: tea from:ada")
    assert query.taken_as_words == ["role:boss", "on:never"]
    assert [each.spelled() for each in query.filters] == ["from:ada"]


def test_words_are_left_out_by_their_number_and_nothing_else_is() -> None:
    query = parse('one -two "three" four from:ada five')
    assert query.text == "one three four five"
    assert query.without({1}).spelled() == 'one -two "three" from:ada five'
    assert query.without(set()) == query


# --- dates ------------------------------------------------------------------------------------------------------------

SPANS: dict[str, tuple[datetime, datetime]] = {
    "2024": (datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)),
    "2024-02": (datetime(2024, 2, 1, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    "2023-12": (datetime(2023, 12, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
    "2024-02-29": (datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    "1969-07-20T20:17": (datetime(1969, 7, 20, 20, 17, tzinfo=UTC), datetime(1969, 7, 20, 20, 18, tzinfo=UTC)),
    "2024-05-06T07:08:09Z": (datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), datetime(2024, 5, 6, 7, 8, 10, tzinfo=UTC)),
    "2024-05-06t07:08+02:00": (datetime(2024, 5, 6, 5, 8, tzinfo=UTC), datetime(2024, 5, 6, 5, 9, tzinfo=UTC)),
    "2024-05-06T23:08-0130": (datetime(2024, 5, 7, 0, 38, tzinfo=UTC), datetime(2024, 5, 7, 0, 39, tzinfo=UTC)),
}


@pytest.mark.parametrize("date", list(SPANS))
def test_a_date_is_a_span_of_time(date: str) -> None:
    span = span_of(date)
    assert span is not None
    begins, ends = (int(moment.timestamp()) * 1000 for moment in SPANS[date])
    assert (span.from_ms, span.until_ms) == (begins, ends)


@pytest.mark.parametrize(
    "text",
    [
        "", "24", "202", "20245", "2024-1", "2024-13", "2024-00", "2023-02-29", "0000", "9999", "9999-12-31", "today",
        "2024-05-06T25:00", "2024-05-06T07", "2024-05-06T07:08+99:00", "2024-05-06 07:08", "२०२४", "2024-", "-2024",
    ],
)  # fmt: skip
def test_what_is_no_date_has_no_span(text: str) -> None:
    assert span_of(text) is None


@given(st.text(alphabet="0123456789-T:Z+", max_size=25))
def test_reading_a_date_never_fails(text: str) -> None:
    span = span_of(text)
    assert span is None or span.from_ms < span.until_ms


def test_a_query_without_clauses_asks_for_nothing() -> None:
    assert parse(" ") == Query(())
    assert not parse(" ").text
