"""Excerpts: the best piece of a text, its highlights in code points, and whether it was cut."""

from __future__ import annotations

import unicodedata
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.search.excerpt import EXCERPT_CHARS_MAX, MARKER, WantedTerms, Window, excerpt, wanted_terms
from muniment.search.terms import Tokenizer
from tests.costs import assert_linear

TOKENIZER = Tokenizer()
PIECES = [
    "tea", "Tea,", "green", "GREEN tea", "4711-zephyr", "naïve", "青川", "去青川县", "🙂", "\0",
    "[redacted: legal]", "[detected: e_mail, tea]", " ", "\n", "  ", "running", "ran", "words of no use ",
    "\u202eabc", "x" * 90, ". ",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=200).map(" ".join) | st.lists(
    st.sampled_from(PIECES), max_size=80
).map("".join)
words = st.lists(
    st.sampled_from(["tea", "green", "zephyr", "naive", "青川", "青川县", "run", "legal", "4711-zephyr"]), max_size=4
)
phrases = st.lists(st.sampled_from(["green tea", "tea green", "tea", "words of no"]), max_size=2)


def shown(text: str, *asked: str, of: list[str] | None = None) -> Window:
    return excerpt(text, wanted_of([*asked], of or []), TOKENIZER)


def wanted_of(asked: list[str], of: list[str]) -> WantedTerms:
    """Look for words, those of several pieces as a phrase beside these, and for phrases."""
    pieces = [[term] for word in asked for term in TOKENIZER.words(word)]
    return wanted_terms([*pieces, *(TOKENIZER.words(text) for text in (*asked, *of))])


def marked(window: Window) -> list[str]:
    return [window.text[start:end] for start, end in window.highlights]


@given(texts, words, phrases)
def test_an_excerpt_is_a_piece_of_its_text_and_says_what_is_cut(text: str, asked: list[str], of: list[str]) -> None:
    """Law: a piece of the text, of a bounded size, that says whether there is more on either side."""
    window = shown(text, *asked, of=of)
    assert len(window.text) <= EXCERPT_CHARS_MAX
    places = [at for at in range(len(text)) if text.startswith(window.text, at)] or [0]
    assert window.text in text
    assert any(
        (window.cut_before, window.cut_after) == (bool(text[:at].strip()), bool(text[at + len(window.text) :].strip()))
        for at in places
    )


@given(texts, words, phrases)
def test_highlights_are_ordered_apart_and_hold_what_was_looked_for(text: str, asked: list[str], of: list[str]) -> None:
    """Law: every highlight holds a term that was looked for, none touches another, none is in a marker."""
    wanted = wanted_of(asked, of)
    window = excerpt(text, wanted, TOKENIZER)
    before = -1
    for start, end in window.highlights:
        assert before < start < end <= len(window.text)
        before = end
        held = set(TOKENIZER.words(window.text[start:end]))
        assert held & wanted.terms.union(*chain(*wanted.phrases.values()))
    for marker in MARKER.finditer(window.text):
        assert not any(start < marker.end() and marker.start() < end for start, end in window.highlights)


@given(texts, words)
def test_what_a_text_holds_is_highlighted(text: str, asked: list[str]) -> None:
    """Law: a text that holds a term outside its markers has a highlight."""
    wanted = wanted_of(asked, [])
    said = MARKER.sub(" ", text)
    if wanted.terms & set(TOKENIZER.words(said)) and MARKER.search(text) is None:
        assert excerpt(text, wanted, TOKENIZER).highlights


@pytest.mark.parametrize(
    ("text", "asked", "of", "highlighted"),
    [
        ("I bought green tea.", ["green", "tea"], [], ["green", "tea"]),
        ("I bought green tea.", [], ["green tea"], ["green tea"]),
        ("Tea, green; green tea", [], ["green tea"], ["green tea"]),
        ("Order 4711-zephyr of zephyr", ["4711-zephyr"], [], ["4711-zephyr", "zephyr"]),
        ("我们去青川县旅行", ["青川县"], [], ["青川县"]),
        ("我们去青川县旅行", ["青川"], [], ["青川"]),
        ("Running and runs", ["run"], [], ["Running", "runs"]),
        ("🙂 naïve nai\u0308ve", ["naive"], [], ["naïve", "nai\u0308ve"]),
        ("tea [redacted: legal] legal", ["legal"], [], ["legal"]),
        ("[redacted: legal]", ["legal"], [], []),
        ("nothing here", ["tea"], [], []),
        ("", ["tea"], [], []),
    ],
)
def test_words_phrases_and_runs_are_highlighted_and_markers_are_not(
    text: str, asked: list[str], of: list[str], highlighted: list[str]
) -> None:
    """CT-10, CT-12: words, phrases and runs of CJK, each as one stretch; never a marker."""
    window = shown(text, *asked, of=of)
    assert (window.text, marked(window)) == (text, highlighted)
    if "legal" in highlighted:
        assert window.highlights == [(22, 27)]


def test_the_window_holds_most_of_the_different_words() -> None:
    filler = "of no use at all " * 20
    text = f"tea tea tea {filler} green tea and lemon {filler} green"
    window = shown(text, "green", "tea", "lemon")
    assert marked(window) == ["green", "tea", "lemon"]
    assert (window.cut_before, window.cut_after) == (True, True)
    assert not window.text[0].isspace()
    assert not window.text[-1].isspace()
    assert text[text.index(window.text) - 1] == " "


def test_a_long_phrase_is_highlighted_as_far_as_it_is_shown() -> None:
    phrase = " ".join(f"word{number}" for number in range(200))
    window = shown(f"before {phrase} behind", of=[phrase])
    assert len(window.text) <= EXCERPT_CHARS_MAX
    assert [end for _, end in window.highlights] == [len(window.text)]
    assert marked(window)[0].startswith("word0 word1 ")
    assert (window.cut_before, window.cut_after) == (True, True)


@pytest.mark.parametrize("before", range(560, 720, 7))
def test_a_phrase_is_found_among_its_scattered_words_and_across_passages(before: int) -> None:
    text = "tea and more tea. " * 20 + "green " * 30 + "a" * before + " of green tea " + "but no tea. " * 100
    assert "green tea" in marked(shown(text, of=["green tea"]))


def test_a_window_never_cuts_a_marker_or_an_accent() -> None:
    marker = "[redacted: personal_data]"
    for shift in range(60):
        text = "a" * shift + marker + "b" * 100 + " tea " + "b" * 100 + marker + "c" * 300
        told = shown(text, "tea").text
        assert told.count("[") == told.count(marker) == told.count("]")
    accents = shown("e\u0301" * 400 + " tea " + "e\u0301" * 400, "tea").text
    assert not unicodedata.combining(accents[0])
    assert len(accents) % 2 == len(" tea ") % 2


def test_what_is_found_by_meaning_alone_shows_its_beginning() -> None:
    text = "The beginning. " + "More of it. " * 100
    window = excerpt(text, WantedTerms(frozenset(), {}), TOKENIZER)
    assert text.startswith(window.text)
    assert (window.highlights, window.cut_before, window.cut_after) == ([], False, True)


def test_the_time_for_an_excerpt_grows_with_its_text_alone() -> None:
    def text(lines: int) -> str:
        return "nothing of interest is said in this line\n" * lines + "but zephyr is" + " and goes on" * (lines // 12)

    window = shown(text(25_000), "zephyr", "nothing")
    assert "zephyr" in marked(window) or "nothing" in marked(window)
    assert_linear(lambda text: shown(text, "zephyr", "nothing"), text, 25_000)
