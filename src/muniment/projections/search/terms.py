"""From text to terms: what counts as the same word.

SQLite's own tokenizers do it (`porter` over `unicode61`): case, diacritics and English endings do not matter, whatever
is no letter or digit separates. A run of Chinese, Japanese or Korean has no separators; its terms are its pieces of two
characters in their order, and beside them its pieces of three (BEHAVIOUR CT-12); a character alone is a term.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import apsw

TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
CJK = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
RUNS = re.compile(f"[{CJK}]+|[^{CJK}]+")
HAS_CJK = re.compile(f"[{CJK}]")

Plain = Callable[[bytes, int, str | None], list[str]]
Located = Callable[[bytes, int, str | None], list[tuple[int, int, str]]]


class Term(NamedTuple):
    """A term where it stands in a text: code points, the end not included. `place` counts the terms of the text."""

    term: str
    place: int
    start: int
    end: int


class Tokenizer:
    """Turns texts into terms. For one thread at a time."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        tokenizer: Any = self._connection.fts5_tokenizer(*TOKENIZER)  # what it returns depends on what it is asked for
        self._plain: Plain = partial(tokenizer, include_offsets=False, include_colocated=False)
        self._located: Located = partial(tokenizer, include_colocated=False)

    def words(self, text: str) -> list[str]:
        """Return the terms of a text in the order of their places, without those of three characters beside them."""
        found = self._plain(text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None)
        if text.isascii() or HAS_CJK.search(text) is None:
            return found
        return [piece for token in found for piece, _ in _pieces(token)]

    def beside(self, text: str) -> list[tuple[str, int]]:
        """Return the terms of three characters, each with the place of the term that it begins with."""
        if text.isascii() or HAS_CJK.search(text) is None:
            return []
        words, found = self.words(text), list[tuple[str, int]]()
        for place in range(len(words) - 1):
            first, second = words[place], words[place + 1]
            if len(first) == len(second) == 2 and first[1] == second[0] and HAS_CJK.match(first):
                found.append((first + second[1], place))
        return found

    def located(self, text: str) -> list[Term]:
        """Return the terms of a text where they stand, in the order of their places."""
        encoded = text.encode("utf-8", "replace")
        found = self._located(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        points = _points(encoded, text)
        terms: list[Term] = []
        for first, last, token in found:
            start, end = points(first), points(last)
            pieces = _pieces(token)
            for piece, at in pieces:
                stands = (start, end) if len(pieces) == 1 else (min(start + at, end), min(start + at + len(piece), end))
                terms.append(Term(piece, len(terms), *stands))
        return terms


def _pieces(token: str) -> list[tuple[str, int]]:
    """Return what a token is cut into, each with the character of the token that it begins with."""
    if token.isascii():
        return [(token, 0)]
    found: list[tuple[str, int]] = []
    for run in RUNS.finditer(token):
        text, first = run.group(), run.start()
        if len(text) > 2 and HAS_CJK.match(text):
            found += [(text[at : at + 2], first + at) for at in range(len(text) - 1)]
        else:
            found.append((text, first))
    return found


def _points(encoded: bytes, text: str) -> Callable[[int], int]:
    """Return how to count code points up to a byte at which a character begins."""
    if len(encoded) == len(text):
        return lambda at: at
    starts = [at for at, byte in enumerate(encoded) if byte & 0xC0 != 0x80]
    return lambda at: bisect_left(starts, at)
