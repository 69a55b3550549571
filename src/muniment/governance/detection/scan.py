"""Scanning: runs detectors over a text within limits, and resolves overlapping findings.

1. Positions are code points, as in Python.
2. A detector is a pure function from a text to its candidates, in any order: a span for an accepted one, None for a
   rejected one. Each candidate is a step. A detector that exceeds its number of steps, or its length of text, has
   failed. The limits need no clock, because the work of a step is bounded too.
3. When a detector fails, the scan of the whole text has failed: there are no findings, and the caller must withhold the
   whole text.
4. Overlapping spans become one span that covers them all. It has the type and detector of the span whose type is first
   in `DetectedType`, then of the first, then of the longest, then by name. Adjacent spans remain separate. The order of
   the detectors is irrelevant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

TEXT_CHARACTERS_MAX = 2**20
DETECTOR_STEPS_MAX = 100_000


class DetectedType(StrEnum):
    """The detectable types; where spans overlap, the first type wins.

    muniment finds no `person`, `location` and `other` itself: detectors of hosts do.
    """

    PRIVATE_KEY = "private_key"
    JWT = "jwt"
    API_KEY = "api_key"
    PAYMENT_CARD = "payment_card"
    IBAN = "iban"
    NATIONAL_ID = "national_id"
    BANK_CODE = "bank_code"
    BIRTH_DATE = "birth_date"
    EMAIL = "email"
    IP_ADDRESS = "ip_address"
    PHONE_NUMBER = "phone_number"
    SECRET = "secret"  # noqa: S105 - the name of a type
    KNOWN_NAME = "known_name"
    PERSON = "person"
    LOCATION = "location"
    OTHER = "other"


RANK = {kind: rank for rank, kind in enumerate(DetectedType)}


class TextSpan(NamedTuple):
    """A range of code points; `end` is not included."""

    start: int
    end: int


class DetectedSpan(NamedTuple):
    """A span, its type, and the detector that found it."""

    start: int
    end: int
    type: DetectedType
    detector: str


class Coverage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A detected type and its detectors."""

    type: DetectedType
    detectors: list[str]


class Detector(Struct, frozen=True, kw_only=True):
    """The function that finds one type, and its limits.

    A host adds its own through `Detect.detectors`. `find` gets a text and yields a pair of code points (start, end) for
    each finding, or None for each candidate that it looked at and rejected. It must depend on the text alone, because
    the same text is scanned again whenever it is shown. When it raises, the text is withheld.
    """

    name: str
    type: DetectedType
    find: Callable[[str], Iterable[tuple[int, int] | None]]
    characters_max: int = TEXT_CHARACTERS_MAX
    steps_max: int = DETECTOR_STEPS_MAX
    of_host: bool = False


class ScanResult(Struct, frozen=True, kw_only=True):
    """The findings in a text, in order of position. When `failed` names detectors, the whole text must be withheld."""

    findings: list[DetectedSpan] = []
    failed: list[str] = []


NOTHING = ScanResult()

# Exceptions of a detector on unexpected text. Any other exception of our own is a bug and ends the operation.
FAILURES = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)


def scan(text: str, detectors: Sequence[Detector]) -> ScanResult:
    """Run detectors over a text; their order is irrelevant."""
    findings: list[DetectedSpan] = []
    failed: list[str] = []
    for detector in detectors:
        spans = _run(detector, text)
        if spans is None:
            failed.append(detector.name)
        else:
            findings += spans
    if failed:
        return ScanResult(failed=sorted(failed))
    return ScanResult(findings=resolved(findings)) if findings else NOTHING


def _run(detector: Detector, text: str) -> list[DetectedSpan] | None:
    """Return the findings of a detector, or None when it failed."""
    if len(text) > detector.characters_max:
        return None
    findings: list[DetectedSpan] = []
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
                findings.append(DetectedSpan(start, end, detector.type, detector.name))
    except FAILURES:
        return None
    except Exception:
        if detector.of_host:
            return None
        raise
    return findings


def resolved(findings: Iterable[DetectedSpan]) -> list[DetectedSpan]:
    """Return findings without overlaps, in order of position, that cover exactly the given ones."""
    clusters: list[list[DetectedSpan]] = []
    end = -1
    for finding in sorted(findings, key=lambda finding: finding.start):
        if finding.start < end:
            clusters[-1].append(finding)
        else:
            clusters.append([finding])
        end = max(end, finding.end)
    return [_covering(cluster) for cluster in clusters]


def _covering(cluster: list[DetectedSpan]) -> DetectedSpan:
    first = min(cluster, key=lambda span: (RANK[span.type], span.start, -span.end, span.detector))
    start, end = min(span.start for span in cluster), max(span.end for span in cluster)
    return DetectedSpan(start, end, first.type, first.detector)
