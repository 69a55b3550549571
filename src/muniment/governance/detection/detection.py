"""Where a store detects personal data: in the slices of some views, and in what is about to be committed.

What is found for a view is withheld from that view only; the log has the content. Names are those that the store was
given, and those that the turn itself names: its subjects, speakers and agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import LimitExceeded
from muniment.events.records import TurnMeta
from muniment.governance.detection.detectors import DetectorSet, coverage_of, detectors_for
from muniment.governance.detection.known_names import NAMES_MAX, finder
from muniment.governance.detection.scan import Coverage, DetectedType, Detector
from muniment.governance.views import View

TURN_NAMES_DETECTOR = "names_of_turn"
FINDERS_CACHED_MAX = 256


class Detect(Struct, frozen=True, kw_only=True):
    """What to look for: by view, before a commit, and the names that are known beyond those of the turn itself.

    What is looked for in `raw_owner` is looked for in every view: none shows more than the raw owner sees.
    """

    views: Mapping[View, frozenset[DetectedType]] = {}
    before_commit: frozenset[DetectedType] = frozenset()
    names: frozenset[str] = frozenset()


class ViewDetection(Struct, frozen=True, kw_only=True):
    """What is looked for in one place, made ready; `names` are those that were given, where names are looked for."""

    detection: DetectorSet = DetectorSet()
    turn_names: bool = False
    names: frozenset[str] = frozenset()

    @property
    def coverage(self) -> list[Coverage]:
        """What is looked for and by which detectors; empty when nothing is."""
        return [
            replace(one, detectors=sorted([*one.detectors, TURN_NAMES_DETECTOR]))
            if one.type is DetectedType.KNOWN_NAME
            else one
            for one in coverage_of(self.detection)
        ]

    @property
    def told(self) -> str:
        """The types that are looked for, as a summary tells them; empty when none is."""
        return ", ".join(one.type for one in self.coverage)

    def detectors(self, meta: TurnMeta) -> tuple[Detector, ...]:
        """Return the detectors for one turn; none when nothing is looked for."""
        if not self.turn_names:
            return self.detection.detectors
        return (*self.detection.detectors, _finder(names_of(meta)))


NOWHERE = ViewDetection()


class Detection(Struct, frozen=True, kw_only=True):
    """All that a store looks for, made ready once."""

    views: Mapping[View, ViewDetection] = {}
    before_commit: ViewDetection = NOWHERE

    def view(self, view: View) -> ViewDetection:
        """Return what is looked for in the slices of a view."""
        return self.views.get(view, NOWHERE)


def detection_for(detect: Detect) -> Detection:
    """Make ready what a store is asked to look for."""
    if len(detect.names) > NAMES_MAX:
        raise LimitExceeded(at="detect.names", problem="too_many", limit=NAMES_MAX, found=len(detect.names))
    everywhere = detect.views.get(View.RAW_OWNER, frozenset())
    asked = {view: everywhere | detect.views.get(view, frozenset()) for view in View}
    return Detection(
        views={view: _detection(types, detect.names) for view, types in asked.items() if types},
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
    """Return the names that a turn has for those behind it."""
    actor = meta.actor
    behind = {actor.speaker_id, actor.subject, actor.acting_subject, actor.mounted_subject, actor.agent_id}
    return frozenset(name for name in behind | {head.speaker_id for head in meta.messages} if name)
