"""Detection of personal data and secrets in text: pure, bounded, with a report of its coverage.

A detector finds spans of one type. `detectors` lists them all; `scan` runs the selected ones and resolves overlaps.
`Coverage` reports the types and their detectors. No result means that these detectors found nothing, never that a text
is free of personal data.
"""

from muniment.governance.detection.detectors import ALL, DetectorSet, coverage_of, detectors_for
from muniment.governance.detection.scan import (
    Coverage,
    DetectedSpan,
    DetectedType,
    Detector,
    ScanResult,
    TextSpan,
    scan,
)

__all__ = [
    "ALL",
    "Coverage",
    "DetectedSpan",
    "DetectedType",
    "Detector",
    "DetectorSet",
    "ScanResult",
    "TextSpan",
    "coverage_of",
    "detectors_for",
    "scan",
]
