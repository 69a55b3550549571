"""Whether two statements say the same, in the words that they use.

This compares words and knows no meaning. So only statements of the same words count as near duplicates: "lives in Oslo"
and "lives in Rome" differ in one word, and in everything that matters.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
# words, a minus before a number, and other signs that say something: C and C++ are two, 5 and -5 are
_SAID = re.compile(r"""\w+|(?<!\w)-(?=\d)|[^\w\s.,:;!?'"()\[\]\u2018\u2019\u201c\u201d\u2010-\u2015\u2026-]+""")


def normalised(text: str) -> str:
    """Return a text without differences of case, width and blanks: equal for exact duplicates."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words_in(*texts: str | None) -> set[str]:
    """Return the words of some texts, without differences of case and width."""
    return {word for text in texts if text is not None for word in _WORD.findall(normalised(text))}


def likeness(one: str, other: str) -> float:
    """Return the share of the words of both texts that are in both (Jaccard), from 0 to 1; order does not count.

    Signs that say something count as words, those of sentences do not.
    """
    words, others = (set(_SAID.findall(normalised(text))) for text in (one, other))
    if not words | others:
        return float(normalised(one) == normalised(other))
    return len(words & others) / len(words | others)
