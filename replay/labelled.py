"""The labelled set of detection, and how well the detectors do on it.

`fixtures/redaction/labelled.jsonl` has one text a line with what should be found in it marked as `[[type|text]]`. A `‖`
in a marked text is taken away before use: it keeps invented keys from being taken for real ones where the file lies.
All values are invented, or set aside for documentation. One half was looked at while the patterns were made (`tuned`),
the other was not (`held_out`). A finding counts when type, beginning and end are exactly as marked.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.governance.detection import ALL, DetectedType, detectors_for, scan

LABELLED = Path(__file__).resolve().parents[1] / "fixtures" / "redaction" / "labelled.jsonl"
CUT = "‖"
_MARK = re.compile(r"\[\[(\w+)\|(.*?)\]\]", re.DOTALL)

Marked = tuple[int, int, str]  # start, end, type


class Half(StrEnum):
    """Whether a line was looked at while the patterns were made."""

    TUNED = "tuned"
    HELD_OUT = "held_out"


class Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the set, as it is in the file."""

    half: Half
    language: str
    text: str
    names: list[str] = []

    def read(self) -> tuple[str, set[Marked]]:
        """Return the plain text and what is to be found in it."""
        raw, plain, at = self.text.replace(CUT, ""), "", 0
        marked: set[Marked] = set()
        for mark in _MARK.finditer(raw):
            plain += raw[at : mark.start()]
            marked.add((len(plain), len(plain) + len(mark[2]), mark[1]))
            plain += mark[2]
            at = mark.end()
        return plain + raw[at:], marked


class Score(Struct, frozen=True, kw_only=True):
    """How often a type was found as marked, found where nothing was marked, and missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """The share of findings that are right."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """The share of what is marked that was found."""
        return self.right / max(1, self.right + self.missed)


def lines() -> list[Line]:
    """Return the set."""
    return [msgspec.json.decode(line, type=Line) for line in LABELLED.read_bytes().splitlines()]


def scores(half: Half) -> dict[DetectedType, Score]:
    """Return how the detectors do on one half, by type."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for line in lines():
        if line.half is not half:
            continue
        text, marked = line.read()
        detected = scan(text, detectors_for(ALL, line.names).detectors)
        assert not detected.failed, "no line is long enough to overrun"
        found = {(one.start, one.end, str(one.type)) for one in detected.findings}
        right.update(kind for _, _, kind in found & marked)
        wrong.update(kind for _, _, kind in found - marked)
        missed.update(kind for _, _, kind in marked - found)
    return {
        kind: Score(right=right[kind], wrong=wrong[kind], missed=missed[kind]) for kind in DetectedType if kind in ALL
    }
