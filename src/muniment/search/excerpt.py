"""Excerpts: the piece of a text that best shows why it was found, and where in it the terms are.

1. A long text is searched passage by passage; the first passage with most of the wanted terms and phrases is shown.
2. Each wanted term is highlighted, and each wanted phrase as one range; ranges that touch are merged. The markers of
   withheld ranges (`[redacted: legal]`) are never highlighted: nobody said them.
3. The window is placed around the highlights that hold most different terms within its size, and its edges move to
   blanks where there are any nearby. It never cuts a marker, or a letter from its accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from muniment.governance.views import Reason
from muniment.search.document_table import SHORT_CHARS, split_passages
from muniment.search.terms import Tokenizer

EXCERPT_CHARS_MAX = 240
AROUND_CHARS = 1280  # searched on either side of a passage: longer than any phrase of a query
EDGE_CHARS = 24  # how far an edge is moved to a blank
JOINERS = "\u200d\ufe0e\ufe0f"

_MARKED = f"{Reason.REDACTED}|{Reason.DETECTED}|{Reason.DETECTION_FAILED}"
MARKER = re.compile(rf"\[(?:{_MARKED}): [^\[\]\n]*\]")

Highlight = tuple[int, int, frozenset[str]]  # code points, the end not included, and the terms between them
_span, _term = itemgetter(0, 1), itemgetter(2)


class WantedTerms(NamedTuple):
    """What to highlight: terms, and phrases of two terms or more by their first term."""

    terms: frozenset[str]
    phrases: Mapping[str, Sequence[tuple[str, ...]]]


class Window(NamedTuple):
    """A piece of a text, the highlights in it, and whether there is more before or after it."""

    text: str
    highlights: list[tuple[int, int]]
    cut_before: bool
    cut_after: bool


def wanted_terms(phrases: Iterable[Sequence[str]]) -> WantedTerms:
    """Return what phrases of one term or more ask to highlight."""
    terms: set[str] = set()
    longer: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        if len(phrase) == 1:
            terms.add(phrase[0])
        else:
            same = longer.setdefault(phrase[0], [])
            same += [tuple(phrase)] if tuple(phrase) not in same else []
    return WantedTerms(frozenset(terms), longer)


def excerpt(text: str, wanted: WantedTerms, tokenizer: Tokenizer) -> Window:
    """Return the piece of a text that best shows what was wanted; its beginning where nothing of that is in it."""
    low, high = (0, len(text)) if len(text) <= SHORT_CHARS else _region(text, wanted, tokenizer)
    markers = [marker.span() for marker in MARKER.finditer(text, low, high)] if "[" in text else []
    first = last = 0
    highlights = _highlights(text, low, high, markers, wanted, tokenizer)
    if highlights:
        first, last = highlights[0][:2] if len(highlights) == 1 else _best(highlights)
    start, end = _window(text, first, min(last, first + EXCERPT_CHARS_MAX), markers)
    shown: list[tuple[int, int]] = []
    for begins, ends, _ in highlights:
        if begins < end and ends > start:
            shown.append((max(begins, start) - start, min(ends, end) - start))
    return Window(
        text=text[start:end],
        highlights=shown,
        cut_before=start > 0 and not text[:start].isspace(),
        cut_after=end < len(text) and not text[end:].isspace(),
    )


def _region(text: str, wanted: WantedTerms, tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the passage with most of what was wanted, and some text around it."""
    pieces = split_passages(text)
    words = list(map(tokenizer.words, pieces))
    held = [_held(words[place], words[place + 1 : place + 3], wanted) for place in range(len(pieces))]
    best = held.index(max(held))
    ends = list(accumulate(map(len, pieces)))
    return max(0, ends[best] - len(pieces[best]) - AROUND_CHARS), min(len(text), ends[best] + AROUND_CHARS)


def _held(words: list[str], following: list[list[str]], wanted: WantedTerms) -> int:
    """Return how much of what was wanted a passage holds; a phrase may go on in the passages behind it."""
    held = len(wanted.terms.intersection(words))
    for first in wanted.phrases.keys() & set(words):
        behind = [*words, *(word for more in following for word in more)]
        begins = [at for at, word in enumerate(words) if word == first]
        for phrase in wanted.phrases[first]:
            held += len(phrase) * any(tuple(behind[at : at + len(phrase)]) == phrase for at in begins)
    return held


def _highlights(
    text: str, low: int, high: int, markers: list[tuple[int, int]], wanted: WantedTerms, tokenizer: Tokenizer
) -> list[Highlight]:
    """Return what to highlight in a region of a text, in order and apart from each other."""
    located = tokenizer.located(text[low:high])
    highlights: list[Highlight] = []
    for at, (start, end, term) in enumerate(located):
        if term in wanted.terms:
            highlights.append((low + start, low + end, frozenset((term,))))
        for phrase in wanted.phrases.get(term, ()):
            following = located[at : at + len(phrase)]
            if tuple(map(_term, following)) == phrase:
                highlights.append((low + start, low + following[-1][1], frozenset(phrase)))
    merged: list[Highlight] = []
    for begins, ends, terms in sorted(highlights, key=_span):
        if merged and begins <= merged[-1][1]:
            before = merged.pop()
            merged.append((before[0], max(before[1], ends), before[2] | terms))
        elif begins < ends:
            merged.append((begins, ends, terms))
    if markers or low or high < len(text):
        merged = [highlight for highlight in merged if _is_whole(highlight, low, high, len(text), markers)]
    return merged


def _is_whole(highlight: Highlight, low: int, high: int, length: int, markers: list[tuple[int, int]]) -> bool:
    """Tell whether a highlight touches no edge of the region that cuts the text, and no marker."""
    begins, ends, _ = highlight
    if (low and begins == low) or (high < length and ends == high):
        return False
    return not any(begins < end and start < ends for start, end in markers)


def _best(highlights: list[Highlight]) -> tuple[int, int]:
    """Return from where to where the highlights go that hold most different terms and fit into a window."""
    best, count = highlights[0][:2], 0
    for at, (start, _, _) in enumerate(highlights):
        terms: frozenset[str] = frozenset()
        for _, end, more in highlights[at:]:
            if end - start > EXCERPT_CHARS_MAX and terms:
                break
            terms |= more
            if len(terms) > count:
                best, count = (start, end), len(terms)
    return best


def _window(text: str, first: int, last: int, markers: list[tuple[int, int]]) -> tuple[int, int]:
    """Return from where to where to show a text around what must be shown of it."""
    start = max(0, min(first - (EXCERPT_CHARS_MAX - (last - first)) // 2, len(text) - EXCERPT_CHARS_MAX))
    end = min(len(text), start + EXCERPT_CHARS_MAX)
    if start and not text[start - 1].isspace():
        blank = re.search(r"\s", text[start : min(first, start + EDGE_CHARS)])
        start += blank.end() if blank else 0
    if end < len(text) and not text[end].isspace():
        low = max(last, end - EDGE_CHARS)
        at = end
        while at > low and not text[at - 1].isspace():
            at -= 1
        end = at - 1 if at > low else end
    if markers:
        start = next((ends for begins, ends in markers if begins < start < ends <= max(first, start)), start)
        end = next((begins for begins, ends in markers if begins < end < ends and begins >= last), end)
    if not text.isascii():
        while 0 < start < first and _joins(text, start):
            start += 1
        while last < end < len(text) and _joins(text, end):
            end -= 1
    while start < first and text[start].isspace():
        start += 1
    while end > max(last, start) and text[end - 1].isspace():
        end -= 1
    return start, end


def _joins(text: str, at: int) -> bool:
    """Tell whether a character belongs to the one before it."""
    return unicodedata.category(text[at]).startswith("M") or text[at] in JOINERS or text[at - 1] in JOINERS
