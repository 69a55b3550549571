"""Excerpts: the piece of a text that shows best why it was found, and where in it the terms are.

1. A long text is looked at passage by passage; the first passage with most of the sought terms and phrases is shown.
2. Each sought term is marked where it stands, each sought phrase as one stretch; what touches is one mark. The markers
   of withheld ranges (`[redacted: legal]`) are never marked: they are not what somebody said.
3. The window is laid around the marks that hold most different terms within its size, and its edges are moved to
   blanks, where there are any close by. It never cuts a marker, or a letter from its accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from muniment.governance.views import Reason
from muniment.search.passages import passages
from muniment.search.terms import Tokenizer

EXCERPT_CHARS_MAX = 240
AROUND_CHARS = 1280  # looked at on either side of a passage: longer than any phrase of a query
EDGE_CHARS = 24  # how far an edge is moved to a blank
JOINERS = "\u200d\ufe0e\ufe0f"

_MARKED = f"{Reason.REDACTED}|{Reason.DETECTED}|{Reason.DETECTION_FAILED}"
MARKER = re.compile(rf"\[(?:{_MARKED}): [^\[\]\n]*\]")


class WantedTerms(NamedTuple):
    """What was looked for: terms, and phrases of two terms or more."""

    terms: frozenset[str]
    phrases: frozenset[tuple[str, ...]]


class Highlight(NamedTuple):
    """A mark: code points, the end not included, and the terms in it."""

    start: int
    end: int
    terms: frozenset[str]


class Window(NamedTuple):
    """A piece of a text, marks in it, and whether it lacks something before or behind."""

    text: str
    highlights: list[tuple[int, int]]
    cut_before: bool
    cut_after: bool


def sought(phrases: Iterable[Sequence[str]]) -> WantedTerms:
    """Return what phrases of one term or more look for."""
    told = [tuple(phrase) for phrase in phrases]
    return WantedTerms(
        frozenset(phrase[0] for phrase in told if len(phrase) == 1),
        frozenset(phrase for phrase in told if len(phrase) > 1),
    )


def excerpt(text: str, wanted: WantedTerms, tokenizer: Tokenizer) -> Window:
    """Return the piece of a text that shows best what was looked for; its beginning where nothing of that is in it."""
    low, high = _region(text, wanted, tokenizer)
    markers = [(found.start(), found.end()) for found in MARKER.finditer(text, low, high)]
    marks = [
        Highlight(low + mark.start, low + mark.end, mark.terms)
        for mark in _marks(text[low:high], wanted, tokenizer)
        if (low == 0 or mark.start > 0) and (high == len(text) or low + mark.end < high)
    ]
    marks = [mark for mark in marks if not any(mark.start < end and start < mark.end for start, end in markers)]
    first, last = _best(marks) if marks else (0, 0)
    start, end = _window(text, first, min(last, first + EXCERPT_CHARS_MAX), markers)
    shown = [(max(mark.start, start) - start, min(mark.end, end) - start) for mark in marks]
    return Window(
        text=text[start:end],
        highlights=[(begins, ends) for begins, ends in shown if begins < ends],
        cut_before=not _is_blank(text[:start]),
        cut_after=not _is_blank(text[end:]),
    )


def _region(text: str, wanted: WantedTerms, tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the passage with most of what was looked for, and some text around it."""
    pieces = passages(text)
    if len(pieces) == 1:
        return 0, len(text)
    words = [tokenizer.words(piece) for piece in pieces]
    held = [_held(words[place], words[place + 1 : place + 3], wanted) for place in range(len(pieces))]
    best = max(range(len(pieces)), key=lambda place: (held[place], -place))
    ends = list(accumulate(map(len, pieces)))
    return max(0, ends[best] - len(pieces[best]) - AROUND_CHARS), min(len(text), ends[best] + AROUND_CHARS)


def _held(words: list[str], following: list[list[str]], wanted: WantedTerms) -> int:
    """Return how much of what was looked for a passage holds; a phrase may go on in the passages behind it."""
    held = len(wanted.terms.intersection(words))
    for phrase in wanted.phrases:
        if phrase[0] in words:
            row = [*words, *(word for more in following for word in more)]
            begins = (at for at, word in enumerate(words) if word == phrase[0])
            held += len(phrase) * any(tuple(row[at : at + len(phrase)]) == phrase for at in begins)
    return held


def _marks(text: str, wanted: WantedTerms, tokenizer: Tokenizer) -> list[Highlight]:
    located = tokenizer.located(text)
    terms = [each.term for each in located]
    found = [Highlight(each.start, each.end, frozenset({each.term})) for each in located if each.term in wanted.terms]
    firsts = {phrase[0] for phrase in wanted.phrases}
    lengths = sorted({len(phrase) for phrase in wanted.phrases})
    for at in [at for at, term in enumerate(terms) if term in firsts]:
        for length in lengths:
            phrase = tuple(terms[at : at + length])
            if phrase in wanted.phrases:
                found.append(Highlight(located[at].start, located[at + len(phrase) - 1].end, frozenset(phrase)))
    return _merged(sorted(found, key=lambda mark: (mark.start, mark.end)))


def _merged(marks: list[Highlight]) -> list[Highlight]:
    merged: list[Highlight] = []
    for mark in marks:
        if merged and mark.start <= merged[-1].end:
            last = merged[-1]
            merged[-1] = Highlight(last.start, max(last.end, mark.end), last.terms | mark.terms)
        elif mark.start < mark.end:
            merged.append(mark)
    return merged


def _best(marks: list[Highlight]) -> tuple[int, int]:
    """Return from where to where the marks go that hold most different terms and fit into a window."""
    best, most = (marks[0].start, marks[0].end), 0
    for at, first in enumerate(marks):
        terms: frozenset[str] = frozenset()
        for mark in marks[at:]:
            if mark.end - first.start > EXCERPT_CHARS_MAX and terms:
                break
            terms |= mark.terms
            if len(terms) > most:
                best, most = (first.start, mark.end), len(terms)
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
        blanks = [low + found.start() for found in re.finditer(r"\s", text[low:end])]
        end = blanks[-1] if blanks else end
    start = next((ends for begins, ends in markers if begins < start < ends <= max(first, start)), start)
    end = next((begins for begins, ends in markers if begins < end < ends and begins >= last), end)
    while 0 < start < first and _hangs(text, start):
        start += 1
    while last < end < len(text) and _hangs(text, end):
        end -= 1
    while start < first and text[start].isspace():
        start += 1
    while end > max(last, start) and text[end - 1].isspace():
        end -= 1
    return start, end


def _hangs(text: str, at: int) -> bool:
    """Tell whether a character belongs to the one before it."""
    return unicodedata.category(text[at]).startswith("M") or text[at] in JOINERS or text[at - 1] in JOINERS


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
