"""Detectors of hosts: their own functions, and adapters to libraries."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from muniment import Detect, DetectedType, Detector, Options, open  # noqa: A004 - what a host types
from muniment.errors import InvalidInput, ModelUnavailable
from muniment.events.identity import SubjectId, TurnId
from muniment.events.message import TextPart
from muniment.events.turn import Turn
from muniment.governance.detection.detection import detection_for
from muniment.governance.detection.scan import scan
from muniment.governance.views import Reason, View
from muniment.host.presidio import presidio_detectors
from muniment.host.standard_numbers import standard_number
from tests.turns import TALK, asked
from tests.worlds import key_of

BADGE = "My badge is B-20418, thanks."


def badges(text: str) -> Iterator[tuple[int, int]]:
    """Find the numbers of badges."""
    yield from (match.span() for match in re.finditer(r"B-\d{5}", text))


def shown(detect: Detect, text: str) -> tuple[str | None, list[Reason]]:
    """Return what the host interface shows of a text, and why something is withheld."""
    with open("memory:", options=Options(detect=detect)) as runtime:
        turn = Turn(turn=TurnId("t"), subject=SubjectId("ada"), conversation=TALK, messages=[asked(text)])
        runtime.transcripts.commit(turn)
        page = runtime.transcripts.replay(key_of(TALK), View.HOST_UI)
        parts = page.turns[0].messages[0].parts
        said = parts[0].content if parts and isinstance(parts[0], TextPart) else None
        return said, [item.reason for item in page.items]


def test_a_detector_of_the_host_withholds_what_it_finds() -> None:
    """In the views that name its type, as those of muniment do."""
    badge = Detector(name="badges", type=DetectedType.OTHER, find=badges)
    detect = Detect(views={View.HOST_UI: frozenset({DetectedType.OTHER})}, detectors=(badge,))
    assert shown(detect, BADGE)[0] == "My badge is [detected: other], thanks."
    elsewhere = Detect(views={View.EXPORT: frozenset({DetectedType.OTHER})}, detectors=(badge,))
    assert shown(elsewhere, BADGE)[0] == BADGE


def test_a_detector_of_the_host_that_raises_withholds_the_text() -> None:
    """Whatever it raises: nothing is shown that was not looked at."""

    def broken(_text: str) -> Iterator[tuple[int, int]]:
        raise ConnectionError("model is away")

    detector = Detector(name="broken", type=DetectedType.OTHER, find=broken)
    detect = Detect(views={View.HOST_UI: frozenset({DetectedType.OTHER})}, detectors=(detector,))
    said, reasons = shown(detect, BADGE)
    assert BADGE not in (said or "")
    assert reasons == [Reason.DETECTION_FAILED]


def test_a_fault_in_a_detector_of_muniment_is_not_hidden() -> None:
    """Only what a host brings along may raise anything: a bug of ours ends the operation."""

    def broken(_text: str) -> Iterator[tuple[int, int]]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        scan("text", [Detector(name="ours", type=DetectedType.OTHER, find=broken)])


@pytest.mark.parametrize("name", ["luhn", "names_of_turn", "given_names"])
def test_a_name_of_a_detector_is_taken_once(name: str) -> None:
    """Reports name detectors; two of one name could not be told apart."""
    with pytest.raises(InvalidInput):
        detection_for(Detect(detectors=(Detector(name=name, type=DetectedType.OTHER, find=badges),)))


def found(detector: Detector, text: str) -> list[str]:
    """Return what a detector finds, as text."""
    return [text[span.start : span.end] for span in scan(text, [detector]).findings]


def test_a_standard_number_is_found_after_its_word() -> None:
    """Of a country that the detectors of muniment do not know."""
    pytest.importorskip("stdnum")
    egn = standard_number("bg.egn", words=["EGN", "ЕГН"])
    assert found(egn, "EGN: 7523169263, tel. 7523169263") == ["7523169263"]
    assert found(egn, "EGN: 7523169264") == []
    assert found(egn, "Order 7523169263") == []
    isbn = standard_number("isbn", type=DetectedType.OTHER)
    assert found(isbn, "see 978-0-471-11709-4 or 978-9024538270 today") == ["978-0-471-11709-4", "978-9024538270"]


def test_a_standard_number_that_there_is_not_is_refused() -> None:
    """When the detector is made, not when the first text is scanned."""
    pytest.importorskip("stdnum")
    with pytest.raises(InvalidInput):
        standard_number("nowhere.number")


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    for module in ("stdnum", "presidio_analyzer"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModelUnavailable):
        standard_number("bg.egn")
    with pytest.raises(ModelUnavailable):
        presidio_detectors()


def test_presidio_finds_the_names_that_its_analyzer_knows() -> None:
    """With an analyzer of the host; here one that knows a list of names, without a language model."""
    analyzer = pytest.importorskip("presidio_analyzer")
    spacy = pytest.importorskip("spacy")

    class Blank(analyzer.nlp_engine.SpacyNlpEngine):  # type: ignore[name-defined]  # an extra without types
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": spacy.blank("en")}

    registry = analyzer.RecognizerRegistry(
        recognizers=[analyzer.PatternRecognizer(supported_entity="PERSON", deny_list=["Grace Hopper"])],
        supported_languages=["en"],
    )
    engine = analyzer.AnalyzerEngine(nlp_engine=Blank(), registry=registry, supported_languages=["en"])
    detect = Detect(views={View.HOST_UI: frozenset({DetectedType.PERSON})}, detectors=presidio_detectors(engine))
    assert shown(detect, "Ask Grace Hopper.")[0] == "Ask [detected: person]."
