"""Matching: where a text, its spelling or its kind occurs in another text, in time that grows with the text alone.

| how | what matches |
|---|---|
| literal | the text as it is |
| any_case | the text in capital or small letters |
| digits | a number by its digits, however it is divided by blanks and `- . / ( )`, and not as a part of a longer one |
| wildcard | `?` is any character of a word, `*` any run of them; in capital or small letters |
| detector | whatever a detector finds of a type that is named, as `email` or `phone_number` |

A general pattern language could take hours on a text that somebody else wrote, so there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum

from muniment.errors import InvalidInput, LimitExceeded
from muniment.governance.detection.detectors import detectors_for
from muniment.governance.detection.scan import DetectedType, TextSpan, scan

SOUGHT_CHARS_MAX = 256
SOUGHT_CHARS_MIN = 2
DIGITS_MIN = 3
DIVIDED = r"[\s\-./()]{0,3}"
WORD_CHARS_MAX = 256  # that a wildcard looks through

FindSpans = Callable[[str], Iterator[TextSpan]]


class Matching(StrEnum):
    """How a text is sought."""

    LITERAL = "literal"
    ANY_CASE = "any_case"
    DIGITS = "digits"
    WILDCARD = "wildcard"
    DETECTOR = "detector"


def finder_of(text: str, matching: Matching) -> FindSpans:
    """Return what finds a text in others, from left to right without overlaps; raises for one that says too little."""
    if len(text) > SOUGHT_CHARS_MAX:
        raise LimitExceeded(at="sought.text", problem="too_long", limit=SOUGHT_CHARS_MAX, found=len(text))
    if matching is Matching.DETECTOR:
        return _of_type(text)
    if matching is Matching.DIGITS:
        return _by(_digits(text))
    if matching is Matching.WILDCARD:
        return _wildcards(text)
    if len(text.strip()) < SOUGHT_CHARS_MIN:
        raise InvalidInput(at="sought.text", problem="without_term")
    return _by(re.compile(re.escape(text), re.IGNORECASE if matching is Matching.ANY_CASE else 0))


def _by(pattern: re.Pattern[str]) -> FindSpans:
    def find(text: str) -> Iterator[TextSpan]:
        for match in pattern.finditer(text):
            yield TextSpan(*match.span())

    return find


def _digits(text: str) -> re.Pattern[str]:
    """Return the pattern of a number; between two digits only what divides may stand, so that there is one way."""
    digits = [char for char in text if char.isdecimal()]
    rest = [char for char in text if not char.isdecimal() and not re.fullmatch(r"[\s\-./()+]", char)]
    if len(digits) < DIGITS_MIN or rest:
        raise InvalidInput(at="sought.text", problem="not_understood")
    return re.compile(rf"(?<!\d)\+?{DIVIDED.join(map(re.escape, digits))}(?!\d)")


def _wildcards(text: str) -> FindSpans:
    """Find fixed pieces one behind the other within a word; the first place of each is as good as any later one."""
    if len(text.replace("*", "").replace("?", "").strip()) < SOUGHT_CHARS_MIN:
        raise InvalidInput(at="sought.text", problem="without_term")
    first, *rest = [
        re.compile(re.escape(piece).replace(r"\?", r"\S"), re.IGNORECASE) for piece in text.split("*") if piece
    ]

    def find(where: str) -> Iterator[TextSpan]:
        at = 0
        while (found := first.search(where, at)) is not None:
            ends, at = _followed(rest, where, found.end()), found.end()
            if ends is not None:
                begin = _word_begin(where, found.start()) if text.startswith("*") else found.start()
                at = _word_end(where, ends) if text.endswith("*") else ends
                yield TextSpan(begin, at)

    return find


def _followed(pieces: list[re.Pattern[str]], where: str, at: int) -> int | None:
    """Return where the last of some pieces ends, when they follow each other in the word that goes on at a place."""
    stop = _word_end(where, at)
    for piece in pieces:
        found = piece.search(where, at, stop)
        if found is None:
            return None
        at = found.end()
    return at


def _word_begin(where: str, at: int) -> int:
    least = max(at - WORD_CHARS_MAX, 0)
    while at > least and not where[at - 1].isspace():
        at -= 1
    return at


def _word_end(where: str, at: int) -> int:
    most = min(at + WORD_CHARS_MAX, len(where))
    while at < most and not where[at].isspace():
        at += 1
    return at


def _of_type(name: str) -> FindSpans:
    if name not in set(DetectedType) - {DetectedType.KNOWN_NAME}:
        raise InvalidInput(at="sought.text", problem="unknown_word")
    detectors = detectors_for([DetectedType(name)]).detectors

    def find(text: str) -> Iterator[TextSpan]:
        scanned = scan(text, detectors)
        if scanned.failed:  # as everywhere: what could not be searched is withheld
            yield TextSpan(0, len(text))
        for span in scanned.findings:
            yield TextSpan(span.start, span.end)

    return find
