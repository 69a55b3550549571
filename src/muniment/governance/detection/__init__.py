"""Finding personal data and secrets in text: pure, bounded, honest about what it looked for.

A detector finds spans of one type. `table` names them all; `scan` runs those that are asked for and resolves what
overlaps. What was looked for, and by which detectors, is a value (`Coverage`): finding nothing means that these
detectors found nothing, never that a text is clean.
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
