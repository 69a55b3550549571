"""Running detectors over a text, within bounds, and resolving what they found.

1. Places are counted in code points, as Python counts them.
2. A detector is a pure function from a text to its candidates, in any order: a span for what it accepts, None for what
   it looked at and turned down. Both are steps; a detector that takes more steps than it may has overrun, and so has
   one that is given a longer text than it may read. The bounds need no clock: the work of a step is bounded too.
3. A detector that overruns or fails makes the whole text `failed`: nothing is said about it, and whoever asked must
   withhold all of it.
4. Spans that overlap become one span that covers them all. Its type and detector are those of the span whose type
   stands first in `DetectedType`, then of the one that begins first, then of the longest, then by name. Spans that only
   touch stay apart. The order of the detectors is irrelevant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

TEXT_CHARACTERS_MAX = 2**20
DETECTOR_STEPS_MAX = 100_000


class DetectedType(StrEnum):
    """What can be looked for; where spans overlap, the type that stands first wins."""

    PRIVATE_KEY = "private_key"
    JWT = "jwt"
    API_KEY = "api_key"
    PAYMENT_CARD = "payment_card"
    IBAN = "iban"
    EMAIL = "email"
    IP_ADDRESS = "ip_address"
    PHONE_NUMBER = "phone_number"
    SECRET = "secret"  # noqa: S105 - the name of a type
    KNOWN_NAME = "known_name"


RANK = {kind: rank for rank, kind in enumerate(DetectedType)}


class TextSpan(NamedTuple):
    """A range of code points: from `start` up to, and not including, `end`."""

    start: int
    end: int


class DetectedSpan(NamedTuple):
    """A span, what it is, and which detector said so."""

    start: int
    end: int
    type: DetectedType
    detector: str


class Coverage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One type that was looked for, and the detectors that looked for it."""

    type: DetectedType
    detectors: list[str]


class Detector(Struct, frozen=True, kw_only=True):
    """How one type is found, and how much work that may be."""

    name: str
    type: DetectedType
    find: Callable[[str], Iterable[TextSpan | None]]
    characters_max: int = TEXT_CHARACTERS_MAX
    steps_max: int = DETECTOR_STEPS_MAX


class ScanResult(Struct, frozen=True, kw_only=True):
    """What was found in a text, in order of place. When `failed` names detectors, nothing may be shown of the text."""

    findings: list[DetectedSpan] = []
    failed: list[str] = []


NOTHING = ScanResult()

# What a checker can run into on text that it did not expect. Anything else is a bug, and stops the operation.
FAILURES = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)


def scan(text: str, detectors: Sequence[Detector]) -> ScanResult:
    """Run detectors over a text; their order is irrelevant."""
    found: list[DetectedSpan] = []
    failed: list[str] = []
    for detector in detectors:
        spans = _run(detector, text)
        if spans is None:
            failed.append(detector.name)
        else:
            found += spans
    if failed:
        return ScanResult(failed=sorted(failed))
    return ScanResult(findings=resolved(found)) if found else NOTHING


def _run(detector: Detector, text: str) -> list[DetectedSpan] | None:
    """Return what a detector found, or None when it failed or overran."""
    if len(text) > detector.characters_max:
        return None
    found: list[DetectedSpan] = []
    steps = 0
    try:
        for span in detector.find(text):
            steps += 1
            if steps > detector.steps_max:
                return None
            if span is not None:
                start, end = span
                if not 0 <= start < end <= len(text):
                    return None
                found.append(DetectedSpan(start, end, detector.type, detector.name))
    except FAILURES:
        return None
    return found


def resolved(findings: Iterable[DetectedSpan]) -> list[DetectedSpan]:
    """Return findings without overlaps, in order of place, that cover exactly what the given ones cover."""
    clusters: list[list[DetectedSpan]] = []
    end = -1
    for finding in sorted(findings, key=lambda one: one.start):
        if finding.start < end:
            clusters[-1].append(finding)
        else:
            clusters.append([finding])
        end = max(end, finding.end)
    return [_covering(cluster) for cluster in clusters]


def _covering(cluster: list[DetectedSpan]) -> DetectedSpan:
    first = min(cluster, key=lambda one: (RANK[one.type], one.start, -one.end, one.detector))
    start, end = min(one.start for one in cluster), max(one.end for one in cluster)
    return DetectedSpan(start, end, first.type, first.detector)
