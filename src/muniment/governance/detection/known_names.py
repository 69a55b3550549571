"""Known names: found as whole words, in any case, in any script.

1. A name is split into words and compared word by word, folded (NFKC and case), so that spans need no mapping back. A
   name of several words is found with blanks, hyphens, dots or apostrophes between them.
2. Scripts without spaces between words (Han, kana, Thai, ...) and Hangul, which appends endings, have no word
   boundaries: there a name is found wherever its characters occur.
3. A name needs two characters and a letter: `1` would hide every digit 1.
4. Inflected forms are not found: the genitive `Adas` is not `Ada`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from muniment.governance.detection.letters import MARKS, UNSPACED, unspaced
from muniment.governance.detection.scan import TextSpan

NAMES_MAX = 10_000
NAME_WORDS_MAX = 16
NAME_CHARACTERS_MIN = 2
BETWEEN_WORDS_MAX = 3

_WORD = re.compile(rf"[\w{MARKS}]+")
_BETWEEN = re.compile(rf"[\s.'’`´ʼ\-‐‑–·・]{{1,{BETWEEN_WORDS_MAX}}}")
_RUN = re.compile(f"[{UNSPACED}]+")


class _Node:
    """A node of the trie of words of known names: the next words, and whether a name ends here."""

    __slots__ = ("ends", "next")

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.ends = False


class _NameIndex(NamedTuple):
    spaced: _Node
    unspaced: dict[str, tuple[str, ...]]  # first two characters -> the names with this beginning, longest first


def finder(names: Collection[str]) -> Callable[[str], Iterator[TextSpan | None]]:
    """Return a function that finds these names in a text."""
    index = _index(names)

    def find(text: str) -> Iterator[TextSpan | None]:
        if index.spaced.next:
            yield from _find_words(text, index.spaced)
        if index.unspaced:
            yield from _find_runs(text, index.unspaced)

    return find


def folded(word: str) -> str:
    """Return the form of a word that is independent of case and composition."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def _index(names: Collection[str]) -> _NameIndex:
    root = _Node()
    runs: dict[str, set[str]] = {}
    for name in names:
        if len(name) < NAME_CHARACTERS_MIN or not any(char.isalpha() for char in name):
            continue
        if unspaced.match(name) and unspaced.match(name, 1):
            runs.setdefault(name[:2], set()).add(name)
            continue
        node = root
        for word in _WORD.findall(name)[:NAME_WORDS_MAX]:
            node = node.next.setdefault(folded(word), _Node())
        node.ends = node is not root
    unspaced_names = {key: tuple(sorted(group, key=lambda name: (-len(name), name))) for key, group in runs.items()}
    return _NameIndex(root, unspaced_names)


def _find_words(text: str, root: _Node) -> Iterator[TextSpan | None]:
    words = list(_WORD.finditer(text))
    for index, word in enumerate(words):
        node = root.next.get(folded(word.group()))
        if node is not None:
            yield _longest(text, words, index, node)


def _longest(text: str, words: list[re.Match[str]], first: int, node: _Node) -> TextSpan | None:
    """Return the longest name that begins at a word."""
    start, end = words[first].start(), words[first].end() if node.ends else -1
    for index in range(first + 1, min(first + NAME_WORDS_MAX, len(words))):
        word = words[index]
        deeper = node.next.get(folded(word.group()))
        if deeper is None or not _BETWEEN.fullmatch(text, words[index - 1].end(), word.start()):
            break
        node = deeper
        end = word.end() if node.ends else end
    return TextSpan(start, end) if end >= 0 else None


def _find_runs(text: str, known: dict[str, tuple[str, ...]]) -> Iterator[TextSpan | None]:
    for run in _RUN.finditer(text):
        for start in range(run.start(), run.end() - 1):
            for name in known.get(text[start : start + 2], ()):
                if text.startswith(name, start):
                    yield TextSpan(start, start + len(name))
                    break
