"""Where a store detects: in the slices of some views, and before a commit.

A finding for a view is withheld from that view only; the log keeps the content. A finding before a commit is replaced
before anything is written: nobody can ever read it, and no proof can show it. The known names are those of the store's
options and those of the turn itself: its subjects, speakers and agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import LimitExceeded
from muniment.events.records import TurnMeta
from muniment.governance.admission import AdmittedTurn
from muniment.governance.detection.detectors import DetectorSet, coverage_of, detectors_for
from muniment.governance.detection.known_names import NAMES_MAX, finder
from muniment.governance.detection.parts import found_in, marked
from muniment.governance.detection.scan import Coverage, DetectedType, Detector
from muniment.governance.redaction import WithheldRange, replaced
from muniment.governance.views import Reason, View

TURN_NAMES_DETECTOR = "names_of_turn"
FINDERS_CACHED_MAX = 256


class Detect(Struct, frozen=True, kw_only=True):
    """What to detect: in which views, before a commit, and the known names besides those of the turn itself.

    The types of `raw_owner` apply to every view, because no view shows more than `raw_owner`.
    """

    views: Mapping[View, frozenset[DetectedType]] = {}
    before_commit: frozenset[DetectedType] = frozenset()
    names: frozenset[str] = frozenset()


class ViewDetection(Struct, frozen=True, kw_only=True):
    """The detectors for one view, or for commits; `names` are the configured names when names are detected."""

    detection: DetectorSet = DetectorSet()
    turn_names: bool = False
    names: frozenset[str] = frozenset()

    @property
    def coverage(self) -> list[Coverage]:
        """The detected types with their detectors; empty without detection."""
        return [
            replace(coverage, detectors=sorted([*coverage.detectors, TURN_NAMES_DETECTOR]))
            if coverage.type is DetectedType.KNOWN_NAME
            else coverage
            for coverage in coverage_of(self.detection)
        ]

    @property
    def summary(self) -> str:
        """The detected types as text; empty without detection."""
        return ", ".join(coverage.type for coverage in self.coverage)

    def detectors(self, meta: TurnMeta) -> tuple[Detector, ...]:
        """Return the detectors for one turn; empty without detection."""
        if not self.turn_names:
            return self.detection.detectors
        return (*self.detection.detectors, _finder(names_of(meta)))


NOWHERE = ViewDetection()


class Detection(Struct, frozen=True, kw_only=True):
    """The detectors of a store, built once."""

    views: Mapping[View, ViewDetection] = {}
    before_commit: ViewDetection = NOWHERE

    def view(self, view: View) -> ViewDetection:
        """Return the detection for the slices of a view."""
        return self.views.get(view, NOWHERE)


def detection_for(detect: Detect) -> Detection:
    """Return the detectors for the options of a store."""
    if len(detect.names) > NAMES_MAX:
        raise LimitExceeded(at="detect.names", problem="too_many", limit=NAMES_MAX, found=len(detect.names))
    everywhere = detect.views.get(View.RAW_OWNER, frozenset())
    types_of = {view: everywhere | detect.views.get(view, frozenset()) for view in View}
    return Detection(
        views={view: _detection(types, detect.names) for view, types in types_of.items() if types},
        before_commit=_detection(detect.before_commit, detect.names),
    )


def _detection(types: frozenset[DetectedType], names: frozenset[str]) -> ViewDetection:
    if DetectedType.KNOWN_NAME not in types:
        return ViewDetection(detection=detectors_for(types))
    return ViewDetection(detection=detectors_for(types, names), turn_names=True, names=names)


@lru_cache(maxsize=FINDERS_CACHED_MAX)
def _finder(names: frozenset[str]) -> Detector:
    return Detector(name=TURN_NAMES_DETECTOR, type=DetectedType.KNOWN_NAME, find=finder(names))


def names_of(meta: TurnMeta) -> frozenset[str]:
    """Return the names of the participants of a turn."""
    actor = meta.actor
    participants = {actor.speaker_id, actor.subject, actor.acting_subject, actor.mounted_subject, actor.agent_id}
    return frozenset(name for name in participants | {head.speaker_id for head in meta.messages} if name)


# --- before a commit --------------------------------------------------------------------------------------------------


class Replacements(Struct, frozen=True, kw_only=True):
    """What was replaced before a commit: the number of findings of each type, and of texts whose detection failed.

    `coverage` lists the detected types and their detectors.
    """

    detected: dict[DetectedType, int]
    failed: int
    coverage: list[Coverage]


def without_detected(kept: AdmittedTurn, detection: ViewDetection) -> tuple[AdmittedTurn, Replacements | None]:
    """Return the turn with findings replaced by markers, and the report; None instead of it without detection."""
    detectors = detection.detectors(kept.meta)
    if not detectors:
        return kept, None
    withheld: list[WithheldRange] = []

    def with_markers(text: str) -> str:
        ranges = found_in(text, detectors)
        withheld.extend(ranges)
        return replaced(text, ranges)

    parts = [[marked(part, detectors) for part in message] for message in kept.parts]
    withheld += [span for message in parts for part in message for span in part.stretches]
    summaries = [with_markers(summary) for summary in kept.summaries]
    labels = [label if label is None else with_markers(label) for label in kept.labels]
    kinds = Counter(cause for span in withheld if span.reason is Reason.DETECTED for cause in span.causes)
    replacements = Replacements(
        detected={kind: kinds[kind] for kind in DetectedType if kinds[kind]},
        failed=sum(span.reason is Reason.DETECTION_FAILED for span in withheld),
        coverage=detection.coverage,
    )
    if withheld:
        shown = [[part.part for part in message] for message in parts]
        kept = replace(kept, parts=shown, summaries=summaries, labels=labels)
    return kept, replacements


def add_replacements(total: Replacements | None, new: Replacements) -> Replacements:
    """Return the sum of what was replaced in several turns with the same coverage."""
    if total is None:
        return new
    kinds = Counter(total.detected) + Counter(new.detected)
    return replace(
        new, detected={kind: kinds[kind] for kind in DetectedType if kinds[kind]}, failed=total.failed + new.failed
    )
