"""From text to terms: what is the same word, and where it stands."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muniment.search.terms import Tokenizer
from tests.costs import assert_linear

TOKENIZER = Tokenizer()

# what is written -> its terms; those of three characters, with the place of the one that they begin with
WRITTEN: dict[str, tuple[list[str], list[tuple[str, int]]]] = {
    "  青川\uff0cHELLO\uff01青川 ": (["青川", "hello", "青川"], []),  # CT-12
    "Running runs, RUN!": (["run", "run", "run"], []),
    "café CAFÉ cafe\u0301 cafe": (["cafe"] * 4, []),
    "4711-zephyr": (["4711", "zephyr"], []),
    "snake_case don't": (["snake", "case", "don", "t"], []),
    "3.14 v2": (["3", "14", "v2"], []),
    "天氣很好": (["天氣", "氣很", "很好"], [("天氣很", 0), ("氣很好", 1)]),
    "好": (["好"], []),
    "一二 三四五": (["一二", "三四", "四五"], [("三四五", 1)]),
    "我用Python寫code三年了": (
        ["我用", "python", "寫", "code", "三年", "年了"],
        [("三年了", 4)],
    ),
    "한국어 日本語": (["한국", "국어", "日本", "本語"], [("한국어", 0), ("日本語", 2)]),
    "running青川runs": (["run", "青川", "run"], []),
    "hi🙂there": (["hi", "there"], []),
    "مرحبا بالعالم": (["مرحبا", "بالعالم"], []),
    "שלום עולם": (["שלום", "עולם"], []),
    "Привет МИР": (["привет", "мир"], []),
    "🙂 ……\uff01\uff1f \t\n": ([], []),
    "👩‍👩‍👧 family": (["famili"], []),
    "a\0b": (["a", "b"], []),
    "": ([], []),
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_a_text_has_these_terms_alone(text: str) -> None:
    words, beside = WRITTEN[text]
    assert TOKENIZER.words(text) == words
    assert TOKENIZER.trigrams(text) == beside
    assert [term for _, _, term in TOKENIZER.located(text)] == words


@pytest.mark.parametrize("text", ["lone \ud800 surrogate", "\udfff", "\ud800\ud800 two \udc00"])
def test_a_lone_surrogate_is_no_letter(text: str) -> None:
    """None comes out of the log; a question may hold one."""
    assert TOKENIZER.words(text) == [word for word in ("lone", "surrog", "two") if word in text]
    for start, end, _ in TOKENIZER.located(text):
        assert text[start:end].isascii()


@pytest.mark.parametrize(
    ("first", "repeated", "times"),
    [("", "word ", 50_000), ("", "x", 250_000), ("", "天", 75_000), ("e", "\u0301", 125_000), ("", " ", 250_000)],
    ids=["words", "one word", "no blanks", "combining marks", "blanks"],
)
def test_the_time_for_a_text_grows_with_its_length_alone(first: str, repeated: str, times: int) -> None:

    def read(text: str) -> None:
        assert len(TOKENIZER.located(text)) == len(TOKENIZER.words(text)) <= len(text)
        TOKENIZER.trigrams(text)

    assert_linear(read, lambda count: first + repeated * count, times)


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("aé天氣-🙂 \u0301\0ß한İﬁ", max_size=30))
@example("İstanbul ﬁne")
@example("O㐀Y")
@example("e\u0301\u0301 天\u0301氣")
@settings(max_examples=500, deadline=None)
def test_a_term_stands_where_it_is_said_to_stand(text: str) -> None:
    """The characters there, alone, are that term again; places are in order, and of no more terms than characters."""
    terms = TOKENIZER.located(text)
    assert [term for _, _, term in terms] == TOKENIZER.words(text)
    assert len(terms) <= len(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in terms)
    assert [start for start, _, _ in terms] == sorted(start for start, _, _ in terms)
    for start, end, term in terms:
        assert term in TOKENIZER.words(text[start:end]), (term, text[start:end])


@given(st.text(st.characters(codec="utf-8"), max_size=30))
@settings(max_examples=300, deadline=None)
def test_a_text_that_is_normalised_otherwise_has_the_same_latin_words(text: str) -> None:
    """Composed or with combining marks; only of letters that have no composed form is nothing said."""
    latin = "".join(each for each in text if each.isascii() or "LATIN" in unicodedata.name(each, ""))
    simple = "".join(each for each in latin if len(unicodedata.normalize("NFD", each)) <= 2)
    composed, apart = (unicodedata.normalize(form, simple) for form in ("NFC", "NFD"))
    assert TOKENIZER.words(composed) == TOKENIZER.words(apart)
