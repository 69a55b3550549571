"""Cutting texts into the pieces that a model knows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.embedding.wordpiece import WordPiece
from tests.embedding.models import VOCABULARY, minilm

TOKENS_MAX = 40
WORDS = WordPiece(VOCABULARY, lowercase=True, tokens_max=TOKENS_MAX)

CUT = {  # a text, and its pieces between beginning and end
    "": "",
    "The CAT": "the cat",
    "cats": "cat ##s",
    "Dogs running": "dog ##s run ##n ##ing",
    "cát": "cat",
    "a,b": "a , b",
    "$5": "$ [UNK]",
    "it's": "i ##t ' s",
    "青川": "青 川",
    "cat青川dog": "cat 青 川 dog",
    "c\x00a\x01t": "cat",
    "c\u200bat": "cat",
    "cat\ttab\nsat\r": "cat t ##a ##b sat",
    "cat\u2028dog": "cat dog",
    "\ufffdcat": "cat",
    "cat\ud800": "cat",
    "🙂": "[UNK]",
    "x" * 101: "[UNK]",
}


def shown(numbers: list[int]) -> str:
    """Return pieces as they are spelt."""
    return " ".join(VOCABULARY[number] for number in numbers)


@pytest.mark.parametrize("text", CUT)
def test_a_text_is_cut_as_the_table_says(text: str) -> None:
    """Case, accents and controls go, ideographs and marks stand alone, and words are cut into the longest pieces."""
    assert shown(WORDS.numbers(text)) == f"[CLS] {CUT[text]} [SEP]".replace("  ", " ")


def test_case_stays_where_the_model_knows_it() -> None:
    """A cased model has other words for capitals, and for accents."""
    cased = WordPiece([*VOCABULARY, "Cat", "cát"], lowercase=False, tokens_max=TOKENS_MAX)
    assert [len(cased.numbers(text)) for text in ("Cat", "cát", "cat")] == [3, 3, 3]
    assert len({*map(tuple, map(cased.numbers, ("Cat", "cát", "cat")))}) == 3


@given(text=st.text(alphabet=st.characters(), max_size=300))
def test_any_text_is_cut_within_the_limit(text: str) -> None:
    """Whatever the characters: a beginning, at most as many pieces as a model reads, an end."""
    found = WORDS.numbers(text)
    assert 2 <= len(found) <= TOKENS_MAX
    assert (VOCABULARY[found[0]], VOCABULARY[found[-1]]) == ("[CLS]", "[SEP]")


def test_a_long_text_is_cut_and_costs_no_more() -> None:
    """What a model cannot read is not looked at."""
    assert WORDS.numbers("cat " * 1_000_000) == WORDS.numbers("cat " * 100)


@given(text=st.text(max_size=200))
def test_texts_are_cut_as_the_library_of_the_publisher_does(text: str) -> None:
    """The numbers are those that `tokenizers` gives for the published model."""
    tokenizers = pytest.importorskip("tokenizers")
    folder = minilm()
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_padding()
    theirs.enable_truncation(256)
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert WordPiece(vocabulary, lowercase=True, tokens_max=256).numbers(text) == theirs.encode(text).ids
