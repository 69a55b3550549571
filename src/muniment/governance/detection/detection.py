"""Where a store detects personal data: in the slices of some views, and in what is about to be committed.

What is found for a view is withheld from that view only; the log has the content. Names are those that the store was
given, and those that the turn itself names: its subjects, speakers and agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.records import TurnMeta
from muniment.governance.detection.detectors import (
    DETECTORS,
    NAMES_DETECTOR,
    DetectorSet,
    coverage_of,
    detectors_for,
)
from muniment.governance.detection.known_names import NAMES_MAX, finder
from muniment.governance.detection.scan import Coverage, DetectedType, Detector
from muniment.governance.views import View

TURN_NAMES_DETECTOR = "names_of_turn"
FINDERS_CACHED_MAX = 256


class Detect(Struct, frozen=True, kw_only=True):
    """What to detect: in which views, before a commit, and the known names besides those of the turn itself.

    `detectors` are those of the host; each works where its type is detected.

    The types of `raw_owner` apply to every view, because no view shows more than `raw_owner`.
    """

    views: Mapping[View, frozenset[DetectedType]] = {}
    before_commit: frozenset[DetectedType] = frozenset()
    names: frozenset[str] = frozenset()
    detectors: tuple[Detector, ...] = ()


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
        return self.detectors_beside(names_of(meta)) if self.turn_names else self.detection.detectors

    def detectors_beside(self, names: frozenset[str]) -> tuple[Detector, ...]:
        """Return the detectors for a text beside which names stand; empty without detection."""
        return (*self.detection.detectors, _finder(names)) if self.turn_names else self.detection.detectors


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
    of_host = tuple(replace(detector, of_host=True) for detector in detect.detectors)
    taken = {detector.name for detector in DETECTORS} | {NAMES_DETECTOR, TURN_NAMES_DETECTOR}
    if len(taken | {detector.name for detector in of_host}) < len(taken) + len(of_host):
        raise InvalidInput(at="detect.detectors", problem="exists")
    everywhere = detect.views.get(View.RAW_OWNER, frozenset())
    types_of = {view: everywhere | detect.views.get(view, frozenset()) for view in View}
    return Detection(
        views={view: _detection(types, detect.names, of_host) for view, types in types_of.items() if types},
        before_commit=_detection(detect.before_commit, detect.names, of_host),
    )


def _detection(types: frozenset[DetectedType], names: frozenset[str], of_host: tuple[Detector, ...]) -> ViewDetection:
    if DetectedType.KNOWN_NAME not in types:
        return ViewDetection(detection=detectors_for(types, of_host=of_host))
    return ViewDetection(detection=detectors_for(types, names, of_host), turn_names=True, names=names)


@lru_cache(maxsize=FINDERS_CACHED_MAX)
def _finder(names: frozenset[str]) -> Detector:
    return Detector(name=TURN_NAMES_DETECTOR, type=DetectedType.KNOWN_NAME, find=finder(names))


def names_of(meta: TurnMeta) -> frozenset[str]:
    """Return the names of the participants of a turn."""
    actor = meta.actor
    behind = {actor.speaker_id, actor.subject, actor.acting_subject, actor.mounted_subject, actor.agent_id}
    return frozenset(name for name in behind | {head.speaker_id for head in meta.messages} if name)
