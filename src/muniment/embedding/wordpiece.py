"""From text to the numbers that a BERT model reads: words first, then their longest pieces in its vocabulary.

The rules are those of the models of this family (Devlin et al. 2018, "BERT"): control characters go, a Chinese
character is a word, case and accents do not matter unless the model says so, a punctuation mark is a word; a word is
then cut from its left into the longest known pieces, and what cannot be cut is unknown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

WORD_CHARS_MAX = 100  # a longer word is unknown
CACHED_WORDS_MAX = 50_000  # with their pieces
TEXT_CHARS_PER_TOKEN = 24  # of a longer text than this many for each token that is read, no more is looked at
BEGIN, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
CONTINUED = "##"

PLAIN = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")  # the words of ASCII
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip

HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs"})
ASCII_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])


class WordPiece:
    """Cuts texts into the numbers of pieces, as the vocabulary of a model has them. Thread-safe."""

    def __init__(self, vocabulary: Sequence[str], *, lowercase: bool, tokens_max: int) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._begin, self._end, self._unknown = (self._numbers[piece] for piece in (BEGIN, END, UNKNOWN))
        self._lowercase = lowercase
        self._tokens_max = tokens_max
        self._cached: dict[str, tuple[int, ...]] = {}

    def numbers(self, text: str) -> list[int]:
        """Return a text as the numbers of its pieces, between a beginning and an end; the rest of a long one is cut."""
        room = self._tokens_max - 2
        numbers = [self._begin]
        for word in self._words(text[: TEXT_CHARS_PER_TOKEN * self._tokens_max]):
            numbers += self._cached.get(word) or self._pieces(word)
            if len(numbers) > room:
                break
        del numbers[room + 1 :]
        numbers.append(self._end)
        return numbers

    def _words(self, text: str) -> list[str]:
        if text.isascii():
            return PLAIN.findall(_without_controls(text.lower() if self._lowercase else text))
        return "".join(map(self._spaced, self._folded(text))).split()

    def _folded(self, text: str) -> str:
        shown = "".join(" " if char.isspace() else char for char in text if _is_shown(char))
        if not self._lowercase:
            return shown
        bare = (char for char in unicodedata.normalize("NFD", shown) if unicodedata.category(char) != "Mn")
        return "".join(char.lower() for char in bare)  # one by one: no final sigma

    def _spaced(self, char: str) -> str:
        return f" {char} " if _is_word(char) else char

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(self._cached) >= CACHED_WORDS_MAX:
            self._cached.clear()
        self._cached[word] = pieces = self._cut(word)
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > WORD_CHARS_MAX:
            return (self._unknown,)
        pieces: list[int] = []
        at, prefix = 0, ""
        while at < len(word):
            for end in range(len(word), at, -1):
                number = self._numbers.get(prefix + word[at:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(number)
            at, prefix = end, CONTINUED
        return tuple(pieces)


def _without_controls(text: str) -> str:
    """Return ASCII text without its control characters, so that the letters beside one stand together."""
    return text if text.isprintable() else text.translate(ASCII_CONTROLS)


def _is_shown(char: str) -> bool:
    return char in "\t\n\r" or not (char == "\ufffd" or unicodedata.category(char) in HIDDEN)


def _is_word(char: str) -> bool:
    """Tell whether a character is a word of its own: an ideograph, or a punctuation mark in the sense of BERT."""
    point = ord(char)
    if point < 128:
        return point > 32 and not char.isalnum()
    return any(low <= point <= high for low, high in IDEOGRAPHS) or unicodedata.category(char).startswith("P")
