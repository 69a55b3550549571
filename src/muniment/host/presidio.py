"""Names and places in free text, found by Presidio (the extra `pii`).

    detect = Detect(
        views={View.EXPORT: {DetectedType.PERSON, DetectedType.LOCATION}}, detectors=presidio_detectors()
    )

Presidio asks a language model of spaCy, which has to be installed for each language. Such a model guesses: it misses
names and finds some that are none. A view scans its text again whenever it is shown, and a model is much slower than
the detectors of muniment; before commits it runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from muniment.errors import ModelUnavailable
from muniment.governance.detection.scan import DetectedType, Detector

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

# entity of Presidio -> the type under which it is reported
ENTITIES: Mapping[str, DetectedType] = {
    "PERSON": DetectedType.PERSON,
    "LOCATION": DetectedType.LOCATION,
}
SCORE_MIN = 0.5


def presidio_detectors(
    analyzer: AnalyzerEngine | None = None,
    *,
    language: str = "en",
    entities: Mapping[str, DetectedType] = ENTITIES,
    score_min: float = SCORE_MIN,
) -> tuple[Detector, ...]:
    """Return one detector for each type in `entities`, for `Detect.detectors`.

    `analyzer` is yours, or the default one of Presidio. Results with a score (0 to 1) below `score_min` are ignored.
    Raises `model.unavailable` when Presidio is not installed.
    """
    if analyzer is None:
        try:
            from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 - an extra
        except ImportError:
            raise ModelUnavailable(at="presidio_analyzer", problem="not_installed") from None
        analyzer = AnalyzerEngine()
    return tuple(
        Detector(name=f"presidio_{kind}", type=kind, find=_finder(analyzer, language, wanted, score_min))
        for kind in DetectedType
        if (wanted := sorted(entity for entity, reported in entities.items() if reported is kind))
    )


def _finder(
    analyzer: AnalyzerEngine, language: str, entities: list[str], score_min: float
) -> Callable[[str], Iterator[tuple[int, int] | None]]:
    def find(text: str) -> Iterator[tuple[int, int] | None]:
        for result in analyzer.analyze(text, language=language, entities=entities):
            yield (result.start, result.end) if result.score >= score_min else None

    return find
