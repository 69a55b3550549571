"""Whether two statements say the same, in the words that they use.

This compares words and knows no meaning. So only statements of the same words count as near duplicates: "lives in Oslo"
and "lives in Rome" differ in one word, and in everything that matters.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")


def normalised(text: str) -> str:
    """Return a text without differences of case, width and blanks: equal for exact duplicates."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words_in(*texts: str | None) -> set[str]:
    """Return the words of some texts, without differences of case and width."""
    return {word for text in texts if text is not None for word in _WORD.findall(normalised(text))}


def likeness(one: str, other: str) -> float:
    """Return the share of the words of both texts that are in both (Jaccard), from 0 to 1; order does not count."""
    words, others = words_in(one), words_in(other)
    if not words | others:
        return float(normalised(one) == normalised(other))
    return len(words & others) / len(words | others)
