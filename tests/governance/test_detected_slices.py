"""What is looked for in a view: markers in what is shown, items that account for them, nothing of it in a proof."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import LimitExceeded
from muniment.events.attributes import AttributeGovernance, AttributeSource, SourceKind
from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.events.message import (
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.events.records import MessageHead, ToolRecord, TurnContent
from muniment.events.references import Visibility
from muniment.governance.admission import AdmittedTurn, admit
from muniment.governance.annotation import AcceptedAttribute, AttributeRecord, admit_attribute
from muniment.governance.attribute_visibility import REASON_PATH, disclosed_attribute_labels
from muniment.governance.detection import ALL, DetectedType, Detector, DetectorSet, TextSpan
from muniment.governance.detection.before_commit import without_detected
from muniment.governance.detection.detection import NOWHERE, Detect, ViewDetection, detection_for, names_of
from muniment.governance.detection.known_names import NAMES_MAX
from muniment.governance.detection.parts import found_in, marked
from muniment.governance.judgement import TurnRecord, judge, standing
from muniment.governance.limits import Limits
from muniment.governance.phases import Phase
from muniment.governance.redaction import Redaction, WithheldRange, replaced
from muniment.governance.slices import audit, cut, disclosed_labels
from muniment.governance.views import Reason, View
from tests.attributes import attribute
from tests.turns import rich_turn, turn_records

MAIL = "ada@example.org"
EMAILS = detection_for(Detect(views=dict.fromkeys(View, frozenset({DetectedType.EMAIL})))).view(View.EXPORT)
EVERYTHING = detection_for(Detect(views=dict.fromkeys(View, ALL), names=frozenset({"Grace Hopper"}))).view(View.EXPORT)
MARK = "[detected: email]"

# Texts with something in them, for the words of any turn.
WORDS = [
    MAIL,
    f"to {MAIL}, 192.0.2.1",
    "Grace Hopper",
    "plain words",
    "4111 1111 1111 1111",
    "DE89370400440532013000",
    "",
]


def _breaks(text: str) -> Iterator[TextSpan | None]:
    if "plain" in text:
        raise ValueError
    yield None


BROKEN = ViewDetection(
    detection=DetectorSet(detectors=(Detector(name="breaks", type=DetectedType.EMAIL, find=_breaks),))
)


def record_of(*parts: Part, role: Role = Role.USER) -> TurnRecord:
    """Return a turn of one message, beside the references and the observation of the rich turn."""
    kept = admit(rich_turn(), Limits(), 1)
    assert isinstance(kept, AdmittedTurn)
    return TurnRecord(
        mark="m",
        position=1,
        sequence=1,
        time_ms=1,
        phase=Phase.ACTIVE,
        meta=replace(kept.meta, messages=[MessageHead(role=role)]),
        content=TurnContent(parts=[list(parts)], digest=b"", summaries=kept.summaries, labels=kept.labels),
    )


@st.composite
def telling_records(draw: st.DrawFn) -> TurnRecord:
    """Draw a turn in whose words there is something to find, with redactions."""
    record = draw(turn_records())
    assert record.content is not None
    said = st.sampled_from(WORDS)

    def spoken(part: Part) -> Part:
        if isinstance(part, TextPart | ReasoningPart):
            return replace(part, content=draw(said))
        if isinstance(part, ToolCallPart):
            return replace(part, arguments={draw(said): [draw(said), part.arguments]})
        return part

    redactions = draw(
        st.lists(
            st.builds(
                Redaction,
                position=st.integers(1, 9),
                target=st.builds(
                    RedactionTarget,
                    message=st.just(0),
                    part=st.just(0),
                    start=st.integers(0, 3),
                    end=st.integers(4, 20),
                ),
                views=st.frozensets(st.sampled_from(View)),
                reason=st.sampled_from(RedactionReason),
            ),
            max_size=2,
        )
    )
    content = replace(
        record.content,
        parts=[[spoken(part) for part in message] for message in record.content.parts],
        summaries=[draw(said) for _ in record.content.summaries],
        labels=[None if label is None else draw(said) for label in record.content.labels],
    )
    return replace(record, content=content, redactions=tuple(redactions))


# --- a part at a time -------------------------------------------------------------------------------------------------


def test_texts_have_markers_where_something_was_found() -> None:
    for part in (TextPart(content=f"to {MAIL}!"), ReasoningPart(content=f"to {MAIL}!")):
        one = marked(part, EMAILS.detection.detectors)
        assert one.part == replace(part, content=f"to {MARK}!")
        assert one.stretches == (WithheldRange(3, 18, Reason.DETECTED, ("email",)),)
    at = marked(UriPart(uri=f"mailto:{MAIL}"), EMAILS.detection.detectors)
    assert at.part == UriPart(uri=f"mailto:{MARK}")


def test_calls_and_what_they_returned_have_markers_in_their_strings_numbers_and_names() -> None:
    """A JSON pointer says where; a name of a member is withheld like any other text, and names stay apart."""
    given_json = {
        "to": [f"x {MAIL}", 1.5, None, True],
        "a/~b": {"card": 4111111111111111, "n": 12},
        MAIL: "one",
        "bob@example.org": MAIL,
    }
    detection = detection_for(Detect(views={View.EXPORT: frozenset({DetectedType.EMAIL, DetectedType.PAYMENT_CARD})}))
    detectors = detection.view(View.EXPORT).detection.detectors
    one = marked(ToolCallPart(name="send", arguments=given_json), detectors)
    assert one.part == ToolCallPart(
        name="send",
        arguments={
            "to": [f"x {MARK}", 1.5, None, True],
            "a/~b": {"card": "[detected: payment_card]", "n": 12},
            MARK: "one",
            f"{MARK} (2)": MARK,
        },
    )
    assert [(each.path, each.start, each.end, each.causes) for each in one.stretches] == [
        ("/to/0", 2, 17, ("email",)),
        ("/a~1~0b/card", 0, 16, ("payment_card",)),
        (f"/{MARK}", 0, 15, ("email",)),
        (f"/{MARK} (2)", 0, 15, ("email",)),
        (f"/{MARK} (2)", 0, 15, ("email",)),
    ]
    back = marked(ToolCallResponsePart(response=MAIL), EMAILS.detection.detectors)
    assert back.part == ToolCallResponsePart(response=MARK)


@pytest.mark.parametrize(
    "part",
    [
        TextPart(content="plain"),
        TextPart(content=""),
        UriPart(uri="https://example.org"),
        ToolCallPart(name="f", arguments={"a": [1234567890, "b"]}),
        ToolCallResponsePart(response=None),
        BlobPart(content=MAIL.encode()),
        FilePart(file_id=MAIL),
    ],
)
def test_a_part_without_findings_or_detectors_is_unchanged(part: Part) -> None:
    assert marked(part, EMAILS.detection.detectors).part is part
    assert marked(part, ()).stretches == ()


def test_a_text_whose_detection_failed_is_withheld_as_a_whole() -> None:
    """Fails closed, in what is shown and in what a proof discloses."""
    record = record_of(TextPart(content="plain words"), TextPart(content="others"))
    turn, items = cut(record, View.EXPORT, detection=BROKEN)
    assert turn.messages[0].parts == [TextPart(content="[detection_failed: breaks]"), TextPart(content="others")]
    failed = [item for item in items if item.reason is Reason.DETECTION_FAILED]
    assert [(item.part, item.start, item.end, item.causes) for item in failed] == [(0, 0, 11, ("breaks",))]
    disclosed = disclosed_labels(record, View.EXPORT, BROKEN)
    assert "message/0/content/0" not in disclosed
    assert "message/0/content/1" in disclosed


def test_labels_and_summaries_have_markers_too() -> None:
    record = record_of(TextPart(content="x"))
    assert record.content is not None
    content = replace(record.content, summaries=[f"wrote to {MAIL}"], labels=[f"case of {MAIL}"] * 5)
    record = replace(record, content=content)
    turn, items = cut(record, View.RAW_OWNER, detection=EMAILS)
    assert [tool.summary for tool in turn.tools or []] == [f"wrote to {MARK}"]
    assert {ref.label for ref in turn.host_refs} == {f"case of {MARK}"}
    assert [(item.host_ref, item.start, item.end) for item in items if item.host_ref is not None] == [
        (place, 8, 23) for place in range(5)
    ]
    assert [(item.tool, item.start, item.end, item.causes) for item in items if item.tool is not None] == [
        (0, 9, 24, ("email",))
    ]
    disclosed = disclosed_labels(record, View.RAW_OWNER, EMAILS)
    assert not {label for label in disclosed if label.endswith(("/label", "/summary"))}
    hidden, _ = cut(record, View.EXPORT, detection=EMAILS)  # a view that shows no labels says nothing about them
    assert {ref.label for ref in hidden.host_refs} == {None}


def test_a_redacted_range_is_not_reported_twice() -> None:
    """A redaction of half an address: the rest of the address is withheld because it was found in the whole text."""
    record = replace(
        record_of(TextPart(content=f"to {MAIL}")),
        redactions=(
            Redaction(
                position=2,
                target=RedactionTarget(message=0, part=0, start=0, end=7),
                views=frozenset(View),
                reason=RedactionReason.LEGAL,
            ),
        ),
    )
    turn, items = cut(record, View.EXPORT, detection=EMAILS)
    assert turn.messages[0].parts == [TextPart(content=f"[redacted: legal]{MARK}")]
    told = [(item.reason, item.start, item.end) for item in items if item.part == 0]
    assert told == [(Reason.REDACTED, 0, 7), (Reason.DETECTED, 7, 18)]
    whole = replace(record.redactions[0], target=RedactionTarget(message=0))
    turn, items = cut(replace(record, redactions=(whole,)), View.EXPORT, detection=EMAILS)
    assert [item.reason for item in items if item.message] == [Reason.REDACTED]


def test_names_of_the_turn_itself_are_known() -> None:
    record = record_of(TextPart(content="ADA asked bob and Grace Hopper and Eve"))
    assert names_of(record.meta) >= {"ada", "bob", "agent"}
    turn, _ = cut(record, View.EXPORT, detection=EVERYTHING)
    name = "[detected: known_name]"
    assert turn.messages[0].parts == [TextPart(content=f"{name} asked {name} and {name} and Eve")]


def test_coverage_contains_the_detected_types_and_nothing_else() -> None:
    told = audit(View.EXPORT, [], [], EVERYTHING)
    assert [one.type for one in told.coverage] == [kind for kind in DetectedType if kind in ALL]
    assert told.coverage[-1].detectors == ["given_names", "names_of_turn"]
    assert audit(View.EXPORT, [], []).coverage == []
    assert b"coverage" not in msgspec.json.encode(audit(View.EXPORT, [], []))
    assert EMAILS.summary == "email"
    assert NOWHERE.summary == ""


def test_there_is_a_limit_to_how_many_names_are_known() -> None:
    detection_for(Detect(names=frozenset(map(str, range(NAMES_MAX)))))
    with pytest.raises(LimitExceeded) as raised:
        detection_for(Detect(names=frozenset(map(str, range(NAMES_MAX + 1)))))
    assert (raised.value.at, raised.value.limit, raised.value.found) == ("detect.names", NAMES_MAX, NAMES_MAX + 1)


def test_a_view_without_detected_types_detects_nothing() -> None:
    asked = detection_for(Detect(views={View.EXPORT: ALL}))
    assert asked.view(View.HOST_UI) is NOWHERE
    assert asked.before_commit.detection.detectors == ()


def test_the_types_of_the_raw_view_are_detected_in_every_view() -> None:
    """Views are monotone: none shows more than the raw owner sees."""
    asked = detection_for(Detect(views={View.RAW_OWNER: frozenset({DetectedType.EMAIL}), View.EXPORT: frozenset()}))
    assert {asked.view(view).summary for view in View} == {"email"}


# --- laws -------------------------------------------------------------------------------------------------------------

told_values = st.dictionaries(
    st.sampled_from(WORDS),
    st.recursive(
        st.sampled_from([*WORDS, 4111111111111111, 12]), lambda inner: st.lists(inner, max_size=3), max_leaves=4
    ),
    min_size=1,
    max_size=3,
)
lookings = st.sampled_from([EMAILS, EVERYTHING, BROKEN])
views = st.sampled_from(View)


@given(telling_records(), views, lookings)
def test_detection_never_shows_more(record: TurnRecord, view: View, detection: ViewDetection) -> None:
    """A view that looks for something discloses no more, reports no less, and keeps every message and part in place."""
    plain, plain_items = cut(record, view)
    turn, items = cut(record, view, detection=detection)
    assert disclosed_labels(record, view, detection) <= disclosed_labels(record, view)
    assert set(map(_spot, plain_items)) <= set(map(_spot, items))
    for before, after in zip(plain.messages, turn.messages, strict=True):
        assert before.redacted == after.redacted
        assert [type(part) for part in before.parts or []] == [type(part) for part in after.parts or []]


def _spot(item: Any) -> tuple[Any, ...]:
    return (item.message, item.part, item.host_ref, item.tool, item.reason, item.start, item.end)


@given(telling_records(), views)
def test_nothing_that_is_found_is_left_in_what_is_shown(record: TurnRecord, view: View) -> None:
    """No text of a slice holds anything that the view looks for; a marker holds nothing to find either."""
    turn, _ = cut(record, view, detection=EVERYTHING)
    detectors = EVERYTHING.detectors(record.meta)
    plain = [word for word in WORDS if len(word) > 3 and found_in(word, detectors)]
    shown = [msgspec.json.encode(message.parts).decode() for message in turn.messages if not message.redacted]
    shown += [tool.summary for tool in turn.tools or []] + [ref.label or "" for ref in turn.host_refs]
    assert not [word for word in plain for text in shown if word in text]


@given(telling_records(), views, lookings)
def test_a_part_that_is_not_shown_as_committed_is_not_disclosed(
    record: TurnRecord, view: View, detection: ViewDetection
) -> None:
    """disclosed_labels follows the judgement: whatever has a marker is no longer provable in this view."""
    judged = judge(view, record, detection)
    disclosed = disclosed_labels(record, view, detection)
    assert not disclosed & judged.stretches.keys()
    assert judged.marked.keys() <= judged.stretches.keys()
    assert record.content is not None
    for label, part in judged.marked.items():
        _, place, _, index = label.split("/")
        assert part != record.content.parts[int(place)][int(index)]


@given(told_values, st.sampled_from(WORDS[:-1]), views, lookings)
def test_an_attribute_shows_nothing_that_is_found_and_discloses_what_it_shows(
    value: Any, reason: str, view: View, detection: ViewDetection
) -> None:
    """Values and reasons fail closed, too: a text that could not be looked at is nowhere, on a page or in a proof."""
    why = AttributeSource(writer="gateway", kind=SourceKind.HOST_REPORTED, reason=reason)
    rules = AttributeGovernance(export_allowed=True)
    given_one = attribute("a", value, source=why, visibility=Visibility.EXPORT, governance=rules)
    admitted = admit_attribute(given_one, "m", 1, None, Limits())
    assert isinstance(admitted, AcceptedAttribute), admitted
    noted = AttributeRecord(position=9, meta=admitted.meta, content=admitted.content)
    record = replace(record_of(TextPart(content="others")), attributes=(noted,))
    turn, items = cut(record, view, detection=detection)
    labels = disclosed_attribute_labels(view, standing(record, view, None), noted, detection.detectors(record.meta))
    marked_paths = {item.path or "" for item in items if item.attribute == "a" and item.start is not None}
    for shown in turn.attributes:
        told = msgspec.json.encode([shown.value, shown.reason or ""]).decode()
        withheld = [word for word in WORDS if found_in(word, detection.detectors(record.meta))]
        assert not [word for word in withheld if word in told]
        assert ("value" in labels) == (shown.value == value) == (not marked_paths - {REASON_PATH})
        assert ("reason" in labels) == (shown.reason == reason)
    assert bool(turn.attributes) == ("attribute" in labels)


@given(telling_records())
def test_text_outside_of_what_was_found_is_unchanged(record: TurnRecord) -> None:
    """Every text part shown equals the committed one with exactly the ranges of its items replaced by markers."""
    assert record.content is not None
    judged = judge(View.RAW_OWNER, replace(record, phase=Phase.ACTIVE), EVERYTHING)
    for label, part in judged.marked.items():
        _, place, _, index = label.split("/")
        before = record.content.parts[int(place)][int(index)]
        if isinstance(before, TextPart | ReasoningPart):
            assert part == replace(before, content=replaced(before.content, judged.stretches[label]))


@given(telling_records())
def test_what_is_replaced_before_a_commit_is_found_nowhere_after_it(record: TurnRecord) -> None:
    """The texts of a turn hold nothing any more of what was looked for, and counting tells how much it was."""
    assert record.content is not None
    kept = AdmittedTurn(
        time_ms=1,
        meta=record.meta,
        parts=record.content.parts,
        summaries=record.content.summaries,
        labels=record.content.labels,
    )
    after, told = without_detected(kept, EVERYTHING)
    assert told is not None
    assert bool(told.detected) is (after is not kept)
    assert told.coverage == EVERYTHING.coverage
    assert list(told.detected) == [kind for kind in DetectedType if kind in told.detected]
    written = msgspec.json.encode([after.parts, after.summaries, after.labels]).decode()
    assert not [word for word in WORDS if found_in(word, EVERYTHING.detection.detectors) and word in written]
    assert after.meta == kept.meta
    assert without_detected(kept, NOWHERE) == (kept, None)


def test_texts_that_failed_are_counted_apart() -> None:
    record = record_of(TextPart(content="plain"), TextPart(content="fine"))
    assert record.content is not None
    kept = AdmittedTurn(
        time_ms=1, meta=record.meta, parts=record.content.parts, summaries=["plain"], labels=[None, "plain"]
    )
    after, told = without_detected(kept, BROKEN)
    assert told is not None
    assert (told.detected, told.failed) == ({}, 3)
    gone = "[detection_failed: breaks]"
    assert (after.summaries, after.labels) == ([gone], [None, gone])
    assert after.parts == [[TextPart(content=gone), TextPart(content="fine")]]


def test_every_caller_in_the_product_passes_the_detection() -> None:
    """No caller in the product leaves it out: forgetting it would show what the view looks for."""
    forgotten = [
        f"{path.name}:{node.lineno}"
        for path in Path(muniment.__file__).parent.rglob("*.py")
        if "from muniment.governance.slices import" in (code := path.read_text())
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in {"cut", "disclosed_labels"} and "detection" not in ast.unparse(node).lower()
    ]
    assert forgotten == []


def test_tools_are_shown_without_summaries_when_content_was_not_read() -> None:
    record = replace(record_of(TextPart(content="x")), content=None)
    turn, _ = cut(record, View.OPERATOR_AUDIT, detection=EMAILS)
    assert [tool.summary for tool in turn.tools or []] == [""]
    assert isinstance(record.meta.tools[0], ToolRecord)
