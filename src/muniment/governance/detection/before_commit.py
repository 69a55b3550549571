"""Detection before a commit: what is found is replaced by markers before anything is written.

Nobody can ever see what was replaced, and no proof can show it.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from muniment.governance.admission import AdmittedTurn
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.detection.parts import found_in, marked
from muniment.governance.detection.scan import Coverage, DetectedType
from muniment.governance.redaction import WithheldRange, replaced
from muniment.governance.views import Reason


class Replacements(Struct, frozen=True, kw_only=True):
    """What was replaced before a commit: how much of each type, how many texts as a whole because detection failed.

    `coverage` is what was looked for, never more than that.
    """

    detected: dict[DetectedType, int]
    failed: int
    coverage: list[Coverage]


def without_detected(kept: AdmittedTurn, detection: ViewDetection) -> tuple[AdmittedTurn, Replacements | None]:
    """Return what is kept of a turn with markers in the place of what is found in it; None where nobody looks."""
    detectors = detection.detectors(kept.meta)
    if not detectors:
        return kept, None
    found: list[WithheldRange] = []

    def text(words: str) -> str:
        here = found_in(words, detectors)
        found.extend(here)
        return replaced(words, here)

    parts = [[marked(part, detectors) for part in message] for message in kept.parts]
    found += [stretch for message in parts for one in message for stretch in one.stretches]
    summaries = [text(summary) for summary in kept.summaries]
    labels = [label if label is None else text(label) for label in kept.labels]
    kinds = Counter(cause for stretch in found if stretch.reason is Reason.DETECTED for cause in stretch.causes)
    told = Replacements(
        detected={kind: kinds[kind] for kind in DetectedType if kinds[kind]},
        failed=sum(stretch.reason is Reason.DETECTION_FAILED for stretch in found),
        coverage=detection.coverage,
    )
    if found:
        shown = [[one.part for one in message] for message in parts]
        kept = replace(kept, parts=shown, summaries=summaries, labels=labels)
    return kept, told


def add_replacements(one: Replacements | None, other: Replacements) -> Replacements:
    """Return what was replaced in several turns; what was looked for is the same in all of them."""
    if one is None:
        return other
    kinds = Counter(one.detected) + Counter(other.detected)
    return replace(
        other, detected={kind: kinds[kind] for kind in DetectedType if kinds[kind]}, failed=one.failed + other.failed
    )
