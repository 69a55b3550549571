"""Character classes for patterns: the characters of words, and the scripts without spaces between words."""

from __future__ import annotations

import re

# Letters and digits of scripts with spaces between words, as the inside of a character class.
SPACED = (
    "A-Za-z0-9\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u052f\u0531-\u0587"
    "\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3\u0900-\u0963\u1e00-\u1fff"
)

# Scripts without spaces between words, or that append endings: Thai to Khmer, kana, Han, Hangul.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)

# Marks that belong to the letter before them.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0970-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20ff"
)

# Separators between the groups of a number.
GAPS = " .\\-/\u00a0\u2009\u202f\u2010\u2011\u2012\u2013\uff0d"

NEAR_CHARACTERS = 28

unspaced = re.compile(f"[{UNSPACED}]")


def before(text: str, start: int) -> str:
    """Return the characters before a position, on the same line, at most `NEAR_CHARACTERS`."""
    near = text[max(0, start - NEAR_CHARACTERS) : start]
    return near[near.rfind("\n") + 1 :]


def words_before(text: str, start: int, characters: int) -> str:
    """Return the words before a position, on the same line, at most so many characters; none is cut off."""
    first = max(0, start - characters)
    near = text[first:start]
    if first and text[first - 1].isalnum():
        near = near[re.match(r"\w*", near).end() :]  # type: ignore[union-attr]  # it matches anything
    return near[near.rfind("\n") + 1 :]
