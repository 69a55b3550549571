"""From text to terms: what counts as the same word.

SQLite's own tokenizers do it (`porter` over `unicode61`): case, diacritics and English endings (Porter 1980, "An
algorithm for suffix stripping") do not matter, and everything but letters, digits and marks separates (SQLite's table
of characters is old: separators that came later are replaced here). A run of Chinese, Japanese or Korean has no
separators; its terms are its pieces of two characters in their order, and its pieces of three at the same places; a
character alone is a term. The text between such runs is a word, so endings are removed after a text is cut into runs.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import apsw

FOLDED = ("unicode61", ["remove_diacritics", "2"])
STEMMED = ("porter", [FOLDED[0], *FOLDED[1]])
CJK = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
RUNS = re.compile(f"[{CJK}]+|[^{CJK}]+")
NO_WORD = re.compile(r"[^\w\s]")
HAS_CJK = re.compile(f"[{CJK}]")

Plain = Callable[[bytes, int, str | None], list[str]]

Term = tuple[int, int, str]  # from where to where in a text (code points, the end not included), and the term
Located = Callable[[bytes, int, str | None], list[Term]]


class Piece(NamedTuple):
    """A term in a token: from which character of it to which, the end not included."""

    term: str
    first: int
    end: int


class Tokenizer:
    """Turns texts into terms. For one thread at a time."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        stemmed: Any = self._connection.fts5_tokenizer(*STEMMED)  # what they return depends on their arguments
        folded: Any = self._connection.fts5_tokenizer(*FOLDED)
        self._plain: Plain = partial(stemmed, include_offsets=False, include_colocated=False)
        self._folded: Plain = partial(folded, include_offsets=False, include_colocated=False)
        self._located: Located = partial(stemmed, include_colocated=False)
        self._folded_located: Located = partial(folded, include_colocated=False)

    def words(self, text: str) -> list[str]:
        """Return the terms of a text in the order of their places, without trigrams."""
        if text.isascii():
            return self._plain(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
        spaced = _spaced(text).encode()
        if HAS_CJK.search(text) is None:
            return self._plain(spaced, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        tokens = self._folded(spaced, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        return [piece.term for token in tokens for piece in self._pieces(token)]

    def trigrams(self, text: str) -> list[tuple[str, int]]:
        """Return the CJK terms of three characters, each with the place of the term that it begins with."""
        if text.isascii() or HAS_CJK.search(text) is None:
            return []
        words, trigrams = self.words(text), list[tuple[str, int]]()
        for place in range(len(words) - 1):
            first, second = words[place], words[place + 1]
            if len(first) == len(second) == 2 and first[1] == second[0] and HAS_CJK.match(first):
                trigrams.append((first + second[1], place))
        return trigrams

    def located(self, text: str) -> list[Term]:
        """Return the terms of a text with their locations, in their order."""
        if text.isascii():
            return self._located(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
        spaced = _spaced(text)
        encoded = spaced.encode()
        points = _points(encoded, spaced)
        if HAS_CJK.search(text) is None:
            terms = self._located(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None)
            return [(points(first), points(last), term) for first, last, term in terms]
        terms = []
        for first, last, token in self._folded_located(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None):
            start, end = points(first), points(last)
            pieces = self._pieces(token)
            borders = self._borders(spaced[start:end]) if len(pieces) > 1 else {len(token): end - start}
            for piece in pieces:
                terms.append((start + borders.get(piece.first, 0), start + borders[piece.end], piece.term))
        return terms

    def _pieces(self, token: str) -> list[Piece]:
        """Return the pieces of a folded token; a run of another script in it is a word of its own."""
        pieces: list[Piece] = []
        for run in RUNS.finditer(token):
            text, first = run.group(), run.start()
            if not HAS_CJK.match(text):
                words = self._plain(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
                pieces.append(Piece(words[0] if words else text, first, run.end()))
            elif len(text) <= 2:
                pieces.append(Piece(text, first, run.end()))
            else:
                pieces += [Piece(text[at : at + 2], first + at, first + at + 2) for at in range(len(text) - 1)]
        return pieces

    def _borders(self, word: str) -> dict[int, int]:
        """Return where in a word the characters of its token begin, after the first; marks stay with their letter."""
        kept = [at for at, char in enumerate(word) if self._plain(char.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)]
        return dict(enumerate([*kept[1:], len(word)], start=1))


def _spaced(text: str) -> str:
    """Return a text with a blank for each character that is no letter, digit or mark."""
    return text if text.isascii() else NO_WORD.sub(_kept_mark, text)


def _kept_mark(char: re.Match[str]) -> str:
    return char.group() if unicodedata.category(char.group()).startswith("M") else " "


def _points(encoded: bytes, text: str) -> Callable[[int], int]:
    """Return how to count code points up to a byte at which a character begins."""
    if len(encoded) == len(text):
        return lambda at: at
    starts = [at for at, byte in enumerate(encoded) if byte & 0xC0 != 0x80]
    return lambda at: bisect_left(starts, at)
