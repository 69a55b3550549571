"""Detection as a whole: where spans lie, how they are resolved, what happens when a detector breaks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.governance.detection import (
    ALL,
    DetectedSpan,
    DetectedType,
    Detector,
    ScanResult,
    TextSpan,
    addresses,
    coverage_of,
    credentials,
    detectors_for,
    numbers,
    scan,
)
from muniment.governance.detection import known_names as names
from muniment.governance.detection import secret_tokens as tokens
from muniment.governance.detection.detectors import DETECTORS, NAMES_DETECTOR
from muniment.governance.detection.scan import TEXT_CHARACTERS_MAX, resolved
from replay.labelled import CUT, Half, Line, lines, scores
from tests.costs import assert_linear

KNOWN = ("Ada Lovelace", "Ada", "Jürgen Müller", "Νίκος", "王小明", "김민수", "a a a b")
EVERYTHING = detectors_for(ALL, KNOWN).detectors

# Pieces that detectors look for, whole and broken, so that random texts are dense with them.
PIECES = [
    *(line.read()[0] for line in lines()),
    *("@", "a@b.cd", "+49 30 23125123", "DE89", "eyJ", "-----BEGIN PRIVATE KEY-----", "-----END", "://u:p@h", "AKIA"),
    *(
        "Ada",
        "ada lovelace",
        "王小明",
        "김민수는",
        "4111 1111 1111 1111",
        "192.0.2.1",
        "2001:db8::1234",
        "\n",
        " ",
        ".",
        "0",
    ),
    *("\ud800", "\u0301", "\u202e", "\0", "𝔸𝔡𝔞", "ﬀ", "İ", "ß", "１９２.0.2.1", "٤١١١"),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=12).map("".join)


def spans_of(text: str, kind: DetectedType, *known: str) -> list[str]:
    """Return what is found of one type, as text."""
    return [text[one.start : one.end] for one in scan(text, detectors_for({kind}, known).detectors).findings]


@given(texts)
def test_spans_lie_inside_the_text_in_order_and_apart(text: str) -> None:
    """For any text: no detector raises or fails, 0 <= start < end <= size, and no span overlaps the next."""
    detected = scan(text, EVERYTHING)
    assert detected.failed == []
    at = 0
    for finding in detected.findings:
        assert at <= finding.start < finding.end <= len(text)
        at = finding.end


@given(texts, st.randoms())
def test_the_order_of_the_detectors_is_irrelevant(text: str, chance: random.Random) -> None:
    """scan(text, detectors) is a function of the set of detectors."""
    shuffled = list(EVERYTHING)
    chance.shuffle(shuffled)
    assert scan(text, shuffled) == scan(text, EVERYTHING)


@given(texts)
def test_more_detectors_never_show_more(text: str) -> None:
    """What some detectors cover is covered by all of them together: asking for more types hides no less."""
    covered = _covered(scan(text, EVERYTHING))
    for detector in EVERYTHING:
        assert _covered(scan(text, [detector])) <= covered


def _covered(detected: ScanResult) -> set[int]:
    return {place for one in detected.findings for place in range(one.start, one.end)}


findings = st.builds(
    lambda start, size, kind, name: DetectedSpan(start, start + size, kind, name),
    st.integers(0, 30),
    st.integers(1, 9),
    st.sampled_from(DetectedType),
    st.sampled_from("abc"),
)


@given(st.lists(findings), st.randoms())
def test_resolving_covers_the_same_and_ignores_order(given_findings: list[DetectedSpan], chance: random.Random) -> None:
    """The result has no overlaps, covers exactly what was covered, is a fixed point, and does not depend on order."""
    one = resolved(given_findings)
    assert all(before.end <= after.start for before, after in pairwise(one))
    assert _covered(ScanResult(findings=one)) == _covered(ScanResult(findings=given_findings))
    assert resolved(one) == one
    chance.shuffle(given_findings)
    assert resolved(given_findings) == one


def test_of_overlapping_spans_the_first_type_wins() -> None:
    phone = DetectedSpan(0, 12, DetectedType.PHONE_NUMBER, "x")
    card = DetectedSpan(4, 20, DetectedType.PAYMENT_CARD, "y")
    assert resolved([phone, card]) == [DetectedSpan(0, 20, DetectedType.PAYMENT_CARD, "y")]
    assert resolved([phone, DetectedSpan(12, 14, DetectedType.EMAIL, "z")])[0] == phone  # what touches stays apart


# --- bounds and failures ----------------------------------------------------------------------------------------------


def _breaking(error: Exception) -> Detector:
    def find(text: str) -> Iterator[TextSpan | None]:
        yield TextSpan(0, len(text))
        raise error

    return Detector(name="broken", type=DetectedType.EMAIL, find=find)


@pytest.mark.parametrize(
    "error",
    [ValueError(), IndexError(), TypeError(), ZeroDivisionError(), RecursionError()],
    ids=lambda e: type(e).__name__,
)
def test_a_detector_that_breaks_makes_the_whole_text_failed(error: Exception) -> None:
    """Fails closed: nothing that others found is passed on as if it were all there is."""
    detected = scan("ada@example.org", [*EVERYTHING, _breaking(error)])
    assert detected == ScanResult(failed=["broken"])


def test_an_error_that_nobody_expects_stops_the_operation() -> None:
    with pytest.raises(OSError, match="disk"):
        scan("text", [_breaking(OSError("disk"))])


@pytest.mark.parametrize("span", [TextSpan(-1, 2), TextSpan(3, 3), TextSpan(2, 1), TextSpan(0, 5)])
def test_a_detector_that_points_outside_the_text_has_failed(span: TextSpan) -> None:
    detector = Detector(name="outside", type=DetectedType.EMAIL, find=lambda _: [span])
    assert scan("text", [detector]).failed == ["outside"]


@pytest.mark.parametrize("detector", EVERYTHING, ids=lambda one: one.name)
def test_a_text_above_the_bound_is_failed_by_every_detector(detector: Detector) -> None:
    assert scan("x" * TEXT_CHARACTERS_MAX, [detector]).failed == []
    assert scan("x" * (TEXT_CHARACTERS_MAX + 1), [detector]).failed == [detector.name]


def test_what_is_turned_down_counts_as_work() -> None:
    """A detector takes a step for every candidate, so that a text full of almost-hits overruns."""
    almost = Detector(name="almost", type=DetectedType.EMAIL, find=lambda text: [None] * len(text), steps_max=10)
    assert scan("x" * 10, [almost]).failed == []
    assert scan("x" * 11, [almost]).failed == ["almost"]


def test_a_text_of_addresses_alone_overruns_rather_than_being_shown() -> None:
    assert scan("@" * 200_000, EVERYTHING).failed == ["mailbox"]


HOSTILE = [
    *(
        "a@a.",
        "a@a.a.a.a.a.a.",
        "a@a" + "-" * 60,
        "1 ",
        "+1 2",
        "0 1 2",
        "(0",
        "0012 ",
        "tel 123456 ",
        "4111 ",
        "DE89 ",
    ),
    *("a:", "f::", "eyJaaaaa.", "-----BEGIN PRIVATE KEY-----", "AKIA", "://a:@", "x:aB1cD2eF3gH4iJ5kL6mN7 ", "a a "),
    *("-----BEGIN CERTIFICATE-----aaaaaaaaaaaaaaaaaaaaaB1 ", "王小"),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_hostile_text_costs_little(unit: str) -> None:
    """Every pattern is linear, whatever a text repeats that is nearly a hit."""

    def text(length: int) -> str:
        return (unit * (length // len(unit) + 1))[: length - 5] + "@a.bc"

    assert_linear(lambda text: scan(text, EVERYTHING), text, TEXT_CHARACTERS_MAX // 8)


def test_no_pattern_can_run_away() -> None:
    """A repeat of a repeat is bounded inside or keeps what it took, so that no failure is retried in every way."""
    modules = (addresses, credentials, names, numbers, tokens)
    patterns = {value for module in modules for value in vars(module).values() if isinstance(value, re.Pattern)}
    parser: Any = vars(re)["_parser"]
    patterns |= {vendor.rest for vendor in credentials.VENDORS}
    assert len(patterns) > 60
    for pattern in patterns:
        assert _worst(parser.parse(pattern.pattern, pattern.flags)) <= 1, pattern.pattern


def _worst(parsed: Any, depth: int = 0) -> int:
    """Return how deep wide repeats that give back stand in each other, at the worst place of a parsed pattern."""
    worst = depth
    for operation, argument in parsed:
        name = str(operation)
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            wide = name != "POSSESSIVE_REPEAT" and argument[1] > 64
            worst = max(worst, _worst(argument[2], depth + wide))
        elif name == "BRANCH":
            worst = max([worst, *(_worst(branch, depth) for branch in argument[1])])
        elif name in {"SUBPATTERN", "ASSERT", "ASSERT_NOT"}:
            worst = max(worst, _worst(argument[-1], depth))
    return worst


# --- coverage and the labelled set ------------------------------------------------------------------------------------


def test_coverage_names_the_detected_types_and_their_detectors() -> None:
    asked = detectors_for({DetectedType.IP_ADDRESS, DetectedType.EMAIL, DetectedType.KNOWN_NAME}, {"Ada"})
    assert [(one.type, one.detectors) for one in coverage_of(asked)] == [
        (DetectedType.EMAIL, ["mailbox"]),
        (DetectedType.IP_ADDRESS, ["ipv4", "ipv6"]),
        (DetectedType.KNOWN_NAME, [NAMES_DETECTOR]),
    ]
    assert coverage_of(detectors_for([])) == []


def test_every_type_has_a_detector_and_every_detector_a_name_of_its_own() -> None:
    assert {one.type for one in coverage_of(detectors_for(ALL))} == ALL
    assert len({one.name for one in DETECTORS} | {NAMES_DETECTOR}) == len(DETECTORS) + 1


def test_only_the_selected_types_are_found() -> None:
    text = "ada@example.org from 192.0.2.1"
    assert spans_of(text, DetectedType.IP_ADDRESS) == ["192.0.2.1"]
    assert spans_of(text, DetectedType.EMAIL) == ["ada@example.org"]


def test_the_labelled_set_is_large_and_speaks_many_languages() -> None:
    every = lines()
    assert len(every) >= 200
    assert len({line.language for line in every}) >= 12
    assert sum(not line.read()[1] for line in every) >= 60  # lines in which nothing is to be found
    assert len({line.text for line in every}) == len(every)
    assert not [line for line in every if CUT in line.read()[0]]


def test_marks_become_spans_of_the_plain_text() -> None:
    line = Line(half=Half.TUNED, language="en", text="to [[email|a@b.cd]], [[api_key|AK‖IA]]!")
    assert line.read() == ("to a@b.cd, AKIA!", {(3, 9, "email"), (11, 15, "api_key")})


# The least precision and recall by type; whoever makes a pattern better raises them.
LEAST = {
    Half.TUNED: dict.fromkeys(ALL, (1.0, 1.0)),
    Half.HELD_OUT: dict.fromkeys(ALL, (1.0, 1.0))
    | {
        DetectedType.API_KEY: (0.9, 0.9),
        DetectedType.IP_ADDRESS: (0.9, 1.0),
        DetectedType.PHONE_NUMBER: (0.96, 1.0),
    },
}


@pytest.mark.parametrize("half", Half)
def test_the_detectors_do_not_get_worse_on_the_labelled_set(half: Half) -> None:
    for kind, score in scores(half).items():
        precision, recall = LEAST[half][kind]
        assert score.right, kind
        assert score.precision >= precision, (kind, score)
        assert score.recall >= recall, (kind, score)


@settings(max_examples=30)
@given(st.sampled_from(lines()), st.text(alphabet=" \n\t.,;", min_size=1, max_size=5))
def test_positions_are_code_points_in_every_text(line: Line, before: str) -> None:
    """Characters beyond the basic plane count one; shifting a text shifts what is found in it."""
    text, _ = line.read()
    detectors = detectors_for(ALL - {DetectedType.PHONE_NUMBER, DetectedType.IP_ADDRESS}, line.names).detectors
    shift = f"🜁{before}\n"
    expected = [
        one._replace(start=one.start + len(shift), end=one.end + len(shift)) for one in scan(text, detectors).findings
    ]
    assert scan(shift + text, detectors).findings == expected


def test_a_detector_may_be_given_tighter_bounds() -> None:
    tight = [replace(one, characters_max=10) for one in EVERYTHING]
    assert scan("a" * 11, tight).failed == sorted(one.name for one in tight)
