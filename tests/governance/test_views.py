"""Who sees what: the tables against a second statement of the rules, and the laws that hold for any turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain, product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.events.labels import content_fields, meta_fields
from muniment.events.message import (
    DEFAULT_AUTHORITY,
    Authority,
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
    part_label,
)
from muniment.events.records import MessageHead, ReferenceRecord, TurnContent
from muniment.events.references import Relation, Visibility
from muniment.events.turn import Attribution
from muniment.governance.admission import AdmittedTurn, admit
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.judgement import TurnRecord, needs_content
from muniment.governance.limits import Limits
from muniment.governance.phases import MASKED_PHASES, Phase
from muniment.governance.redaction import Redaction
from muniment.governance.slices import RedactionItem, SliceTurn, audit, cut, disclosed_labels
from muniment.governance.views import PartRole, Reason, View, place_of, withheld_by_authority, withheld_by_phase
from tests.turns import MARK, committed, message_of, rich_turn, turn_records

views = st.sampled_from(View)

# BEHAVIOUR HR-02 as it is there: y = the view shows references of this visibility.
REFERENCES = """
view            internal host_ui model_context operator_audit export
raw_owner       y        y       y             y              y
model_context   -        -       y             -              -
host_ui         -        y       -             -              y
operator_audit  -        y       -             y              y
export          -        -       -             -              y
"""
# HR-04: y = the view shows the label of a reference of this visibility.
LABELS = """
view            internal host_ui model_context operator_audit export
raw_owner       y        y       y             y              y
model_context   -        -       -             -              -
host_ui         -        y       -             -              -
operator_audit  -        -       -             -              -
export          -        -       -             -              -
"""
# DESIGN §6: y = the view shows what is there.
WORDS = """
view            user_words answer tool_step system_step assistant_step reasoning
raw_owner       y          y      y         y           y              y
model_context   y          y      y         y           y              -
host_ui         y          y      -         -           -              -
operator_audit  -          -      -         -           -              -
export          y          y      -         -           -              -
"""


def matrix(text: str) -> dict[tuple[str, str], bool]:
    """Return (view, column) -> shown."""
    head, *rows = (line.split() for line in text.strip().splitlines())
    return {(row[0], column): mark == "y" for row in rows for column, mark in zip(head[1:], row[1:], strict=True)}


def record_of(phase: Phase = Phase.ACTIVE) -> TurnRecord:
    """Return the turn with a value everywhere, as the log has it in a phase."""
    kept = admit(rich_turn(), Limits(), 1000)
    assert isinstance(kept, AdmittedTurn)
    content = TurnContent(parts=kept.parts, digest=b"", summaries=kept.summaries, labels=kept.labels)
    return TurnRecord(
        position=5, sequence=1, mark=MARK, time_ms=kept.time_ms, phase=phase, meta=kept.meta, content=content
    )


def with_reference(record: TurnRecord, visibility: Visibility) -> TurnRecord:
    reference = ReferenceRecord(host="h", type="t", id="i", relation=Relation.ORIGIN, visibility=visibility)
    assert record.content is not None
    return replace(
        record,
        meta=replace(record.meta, host_refs=[reference]),
        content=replace(record.content, labels=["label"]),
    )


def with_words(record: TurnRecord, role: Role, authority: Authority | None, parts: list[Part]) -> TurnRecord:
    assert record.content is not None
    return replace(
        record,
        meta=replace(record.meta, messages=[MessageHead(role=role, authority=authority)]),
        content=replace(record.content, parts=[parts]),
    )


# --- the matrices -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("view", "visibility"), list(product(View, Visibility)))
def test_a_view_shows_the_references_and_labels_that_the_catalogue_lets_it(view: View, visibility: Visibility) -> None:
    """HR-02, HR-04, HR-05: a hidden reference is one item with its place; a hidden label another, not counted."""
    turn, items = cut(with_reference(record_of(), visibility), view)
    of_refs = [item for item in items if item.host_ref is not None]
    if not matrix(REFERENCES)[view, visibility]:
        assert turn.host_refs == []
        assert [(item.host_ref, item.reason) for item in of_refs] == [(0, Reason.HOST_REF_VISIBILITY)]
    elif not matrix(LABELS)[view, visibility]:
        assert [ref.label for ref in turn.host_refs] == [None]
        assert [(item.host_ref, item.reason) for item in of_refs] == [(0, Reason.HOST_REF_LABEL)]
        assert audit(view, [turn], items).host_refs_redacted == 0
    else:
        assert [ref.label for ref in turn.host_refs] == ["label"]
        assert of_refs == []


EXAMPLES: dict[PartRole, tuple[Role, Part]] = {
    PartRole.USER_WORDS: (Role.USER, TextPart(content="x")),
    PartRole.ANSWER: (Role.ASSISTANT, TextPart(content="x")),
    PartRole.TOOL_STEP: (Role.TOOL, ToolCallResponsePart(response="x")),
    PartRole.SYSTEM_STEP: (Role.SYSTEM, TextPart(content="x")),
    PartRole.ASSISTANT_STEP: (Role.ASSISTANT, TextPart(content="x")),
    PartRole.REASONING: (Role.ASSISTANT, ReasoningPart(content="x")),
}


@pytest.mark.parametrize(("view", "place"), list(product(View, PartRole)))
def test_a_view_shows_the_content_that_the_matrix_allows(view: View, place: PartRole) -> None:
    """DESIGN §6: host_ui, export: user messages and the answer; model_context: no reasoning; the operator: none."""
    role, part = EXAMPLES[place]
    record = with_words(record_of(), role, None, [part])
    if place is PartRole.ASSISTANT_STEP:  # a step is a step because an answer follows
        record = with_words(record_of(), role, None, [part])
        assert record.content is not None
        record = replace(
            record,
            meta=replace(record.meta, messages=[MessageHead(role=role)] * 2),
            content=replace(record.content, parts=[[part], [TextPart(content="answer")]]),
        )
    turn, items = cut(record, view)
    shown = matrix(WORDS)[view, place]
    assert (turn.messages[0].parts == [part]) == shown
    assert turn.messages[0].redacted == (not shown)
    assert [item.reason for item in items if item.message == message_of("rich", 0)] == (
        [] if shown else [Reason.VIEW_POLICY]
    )


@pytest.mark.parametrize(("view", "authority", "phase"), list(product(View, Authority, Phase)))
def test_the_first_reason_that_matches_withholds_a_message(view: View, authority: Authority, phase: Phase) -> None:
    """RP-03: erased, then lifecycle_masked, both also for the raw owner; then the authorities of other planes."""
    private = {Authority.PRIVATE_GARDEN_INTERNAL, Authority.SOUL_GOVERNANCE}
    if phase is Phase.ERASED:
        expected: Reason | None = Reason.ERASED
    elif phase in (Phase.MASKED, Phase.MASKED_ARCHIVED):
        expected = Reason.LIFECYCLE_MASKED
    elif view is View.RAW_OWNER:
        expected = None
    elif authority in private:
        expected = Reason.PRIVATE_AUTHORITY
    elif authority is Authority.OPERATOR_DIAGNOSTIC:
        expected = Reason.OPERATOR_ONLY
    else:
        expected = Reason.VIEW_POLICY if view is View.OPERATOR_AUDIT else None
    turn, items = cut(with_words(record_of(phase), Role.USER, authority, [TextPart(content="x")]), view)
    message = turn.messages[0]
    assert [item.reason for item in items if item.message is not None] == ([] if expected is None else [expected])
    assert message.redacted == (expected is not None)
    assert (message.parts == []) == (expected is not None)
    assert message.authority is authority
    assert withheld_by_phase(phase) == (expected if phase in {*MASKED_PHASES, Phase.ERASED} else None)
    assert withheld_by_authority(View.RAW_OWNER, authority) is None


@pytest.mark.parametrize("view", View)
@pytest.mark.parametrize("phase", [Phase.ACTIVE, Phase.MASKED, Phase.ERASED])
def test_what_is_withheld_is_none_or_empty_and_takes_no_room_in_json(view: View, phase: Phase) -> None:
    """A reader meets no other mark of absence: every list can be iterated, and `redacted` says what is withheld."""
    turn, _ = cut(record_of(phase), view)
    for message in turn.messages:
        assert [*message.parts] == ([] if message.redacted else message.parts)
        told = msgspec.json.decode(msgspec.json.encode(message))
        assert ("parts" in told) is bool(message.parts)
    told = msgspec.json.decode(msgspec.json.encode(turn))
    assert ("external" in told) is ("source" in told) is (turn.external is not None)
    assert [*turn.tools] == turn.tools


@pytest.mark.parametrize("view", View)
def test_origin_and_observations_are_for_owner_and_operator(view: View) -> None:
    """RP-11: source, tool observations and the flag of external content; a summary is somebody's words."""
    turn, _ = cut(record_of(), view)
    if view in (View.RAW_OWNER, View.OPERATOR_AUDIT):
        assert turn.source == rich_turn().source
        assert turn.external is True
        assert turn.tools == rich_turn().tools
    else:
        assert (turn.source, turn.tools, turn.external) == (None, [], None)
    masked, _ = cut(record_of(Phase.MASKED), View.OPERATOR_AUDIT)
    assert isinstance(masked.tools, list)
    assert [(tool.id, tool.summary) for tool in masked.tools] == [("obs-1", "")]


def test_five_references_of_each_visibility_leave_two_for_a_host() -> None:
    """HR-03: the worked example; three are counted as redacted."""
    turn, items = cut(record_of(), View.HOST_UI)
    assert [ref.visibility for ref in turn.host_refs] == [Visibility.HOST_UI, Visibility.EXPORT]
    assert [ref.label for ref in turn.host_refs] == ["label of host_ui", None]
    assert audit(View.HOST_UI, [turn], items).host_refs_redacted == 3


@pytest.mark.parametrize(
    ("part", "role", "is_answer", "place"),
    [
        (ReasoningPart(content=""), Role.USER, False, PartRole.REASONING),
        (ToolCallPart(name=""), Role.ASSISTANT, True, PartRole.TOOL_STEP),
        (ToolCallResponsePart(), Role.USER, False, PartRole.TOOL_STEP),
        (TextPart(content=""), Role.ASSISTANT, True, PartRole.ANSWER),
        (BlobPart(content=b""), Role.ASSISTANT, False, PartRole.ASSISTANT_STEP),
        (FilePart(file_id=""), Role.SYSTEM, False, PartRole.SYSTEM_STEP),
        (UriPart(uri=""), Role.TOOL, False, PartRole.TOOL_STEP),
        (TextPart(content=""), Role.USER, False, PartRole.USER_WORDS),
    ],
)
def test_a_part_is_judged_by_its_type_first_and_then_by_its_message(
    part: Part, role: Role, is_answer: bool, place: PartRole
) -> None:
    assert place_of(type(part), role, is_answer=is_answer) is place


def test_the_last_assistant_message_that_says_something_is_the_answer() -> None:
    """DESIGN §6: calls and blanks behind it are steps."""
    record = record_of()
    assert record.content is not None
    said: list[list[Part]] = [
        [TextPart(content="step")], [TextPart(content="answer")], [ToolCallPart(name="n")], [TextPart(content=" ")],
    ]  # fmt: skip
    record = replace(
        record,
        meta=replace(record.meta, messages=[MessageHead(role=Role.ASSISTANT)] * 4),
        content=replace(record.content, parts=said),
    )
    turn, _ = cut(record, View.EXPORT)
    assert [message.redacted for message in turn.messages] == [True, False, True, True]


# --- laws -------------------------------------------------------------------------------------------------------------


def words_of(turn: SliceTurn) -> list[str]:
    """Return everything somebody wrote that a slice shows, one string for each thing, with its place."""
    shown = [
        f"{message.id}: {msgspec.json.encode(part).decode()}" for message in turn.messages for part in message.parts
    ]
    shown += [f"ref {ref.id}: {ref.label}" for ref in turn.host_refs if ref.label is not None]
    shown += [f"tool {tool.id}: {tool.summary}" for tool in turn.tools if tool.summary]
    return shown


def contained(small: list[str], large: list[str]) -> bool:
    return all(small.count(word) <= large.count(word) for word in small)


@given(turn_records(), views)
def test_no_view_shows_more_than_the_raw_owner_sees(record: TurnRecord, view: View) -> None:
    """Every word, reference and field that a view shows is in the raw owner's view of the same turn."""
    turn, _ = cut(record, view)
    whole, _ = cut(record, View.RAW_OWNER)
    assert contained(words_of(turn), words_of(whole))
    assert disclosed_labels(record, view) <= disclosed_labels(record, View.RAW_OWNER)
    assert [(each.id, each.role, each.authority, each.speaker_id, each.observed_ms) for each in turn.messages] == [
        (each.id, each.role, each.authority, each.speaker_id, each.observed_ms) for each in whole.messages
    ]


@given(turn_records(), views, st.sampled_from([Phase.MASKED, Phase.MASKED_ARCHIVED, Phase.ERASED]))
def test_masking_and_erasing_leave_no_content_in_any_view(record: TurnRecord, view: View, gone: Phase) -> None:
    """RP-04, AC-04, HR-06: the words are absent, everything else stays where it was."""
    before, _ = cut(replace(record, phase=Phase.ACTIVE), view)
    turn, items = cut(replace(record, phase=gone), view)
    assert words_of(turn) == []
    assert all(message.redacted and message.parts == [] for message in turn.messages)
    assert [item.reason for item in items if item.message] == [withheld_by_phase(gone)] * len(turn.messages)
    assert [replace(ref, label=None) for ref in before.host_refs] == turn.host_refs
    assert (turn.actor, turn.source, turn.sequence, turn.turn) == (
        before.actor, before.source, before.sequence, before.turn,
    )  # fmt: skip
    assert disclosed_labels(replace(record, phase=gone), view) <= disclosed_labels(record, view) | {
        label for label, _ in meta_fields(record.meta)
    }


@given(turn_records(), views)
def test_archiving_changes_no_content_in_any_view(record: TurnRecord, view: View) -> None:
    """LC-09."""
    active, archived = (cut(replace(record, phase=phase), view)[0] for phase in (Phase.ACTIVE, Phase.ARCHIVED))
    assert replace(archived, phase=Phase.ACTIVE) == active


@given(turn_records(), views)
def test_a_judgement_that_needs_no_content_is_the_same_without_it(record: TurnRecord, view: View) -> None:
    """Content that `needs_content` leaves unread would have changed nothing that is shown; unread shows nothing."""
    shown, items = cut(record, view)
    blind, blind_items = cut(replace(record, content=None), view)
    assert words_of(blind) == []
    if not needs_content(view, record.phase, record.meta):
        assert blind == shown
        labels = [item for item in items if item.reason is Reason.HOST_REF_LABEL]
        assert [item for item in items if item not in labels] == blind_items


def shown_labels(record: TurnRecord, turn: SliceTurn, items: list[RedactionItem]) -> set[str]:
    """Work out from a slice and its report which fields of the turn it shows."""
    shown = {"actor", "delivery"}
    withheld_parts = {(item.message, item.part) for item in items if item.part is not None}
    for place, message in enumerate(turn.messages):
        shown.add(f"message/{place}")
        if not message.redacted:
            assert record.content is not None
            kept = [
                index for index in range(len(record.content.parts[place])) if (message.id, index) not in withheld_parts
            ]
            assert [record.content.parts[place][index] for index in kept] == message.parts
            shown |= {part_label(place, index) for index in kept}
    hidden = {item.host_ref for item in items if item.reason is Reason.HOST_REF_VISIBILITY}
    places = [place for place in range(len(record.meta.host_refs)) if place not in hidden]
    for place, reference in zip(places, turn.host_refs, strict=True):
        shown.add(f"host_ref/{place}")
        if reference.label is not None:
            shown.add(f"host_ref/{place}/label")
    if turn.external is not None:
        shown |= {"source", "external", "tools"}
        if record.content is not None and withheld_by_phase(record.phase) is None:
            shown |= {f"tools/{place}/summary" for place in range(len(turn.tools))}
    return shown


@given(turn_records(), views)
def test_what_a_slice_shows_is_what_an_export_discloses(record: TurnRecord, view: View) -> None:
    """Both read one judgement: of the fields that the turn has, the same are shown and disclosed."""
    assert record.content is not None
    fields = {label for label, _ in [*meta_fields(record.meta), *content_fields(record.content)]}
    turn, items = cut(record, view)
    assert disclosed_labels(record, view) & fields == shown_labels(record, turn, items) & fields
    assert "candidates" not in disclosed_labels(record, view)


@given(turn_records(), views)
def test_everything_withheld_has_exactly_one_item(record: TurnRecord, view: View) -> None:
    """RP-06: a message as a whole or part by part, a reference or its label; nothing twice, nothing left out."""
    turn, items = cut(record, view)
    places = [(item.message, item.part, item.host_ref) for item in items]
    assert len(set(places)) == len(places)
    assert all((item.turn, item.view) == (record.meta.delivery.turn, view) for item in items)
    assert record.content is not None
    expected: list[tuple[str | None, int | None, int | None]] = []
    for place, message in enumerate(turn.messages):
        count = len(record.content.parts[place])
        if message.redacted:
            expected.append((message.id, None, None))
        else:
            assert len(message.parts) + sum(item.message == message.id for item in items) == count
            expected += [(message.id, item.part, None) for item in items if item.message == message.id]
    labels = record.content.labels or [None] * len(record.meta.host_refs)
    for place, (reference, label) in enumerate(zip(record.meta.host_refs, labels, strict=True)):
        sees = matrix(REFERENCES)[view, reference.visibility]
        reads = matrix(LABELS)[view, reference.visibility] and withheld_by_phase(record.phase) is None
        if not sees or (label is not None and not reads):
            expected.append((None, None, place))
    assert sorted(places, key=repr) == sorted(expected, key=repr)


SAID = list(product([Role.USER, Role.ASSISTANT], [" ", "hello"]))
WHOLE = Redaction(position=9, target=RedactionTarget(), views=frozenset({View.HOST_UI}), reason=RedactionReason.LEGAL)
DEVIATIONS: dict[str, Callable[[TurnRecord], TurnRecord]] = {
    "nothing": lambda record: record,
    "masked": lambda record: replace(record, phase=Phase.MASKED),
    "archived": lambda record: replace(record, phase=Phase.ARCHIVED),
    "a message was erased": lambda record: replace(record, erased=frozenset({0})),
    "it was redacted": lambda record: replace(record, redactions=(WHOLE,)),
    "a system message": lambda record: with_first(record, replace(record.meta.messages[0], role=Role.SYSTEM)),
    "of the operator": lambda record: with_first(
        record, replace(record.meta.messages[0], authority=Authority.OPERATOR_DIAGNOSTIC)
    ),
    "names and times": lambda record: with_first(
        record, replace(record.meta.messages[0], speaker_id="desk", speaker_kind="agent", observed_ms=5)
    ),
    "reasoning": lambda record: with_first(record, record.meta.messages[0], [ReasoningPart(content="why")]),
    "two parts": lambda record: with_first(
        record, record.meta.messages[0], [TextPart(content="a"), ReasoningPart(content="why")]
    ),
    "the agent is the subject": lambda record: replace(
        record, meta=replace(record.meta, actor=replace(record.meta.actor, agent_id=record.meta.actor.subject))
    ),
}


def with_first(record: TurnRecord, head: MessageHead, parts: list[Part] | None = None) -> TurnRecord:
    """Return a turn with another first message."""
    assert record.content is not None
    said = record.content.parts if parts is None else [parts, *record.content.parts[1:]]
    return replace(
        record,
        meta=replace(record.meta, messages=[head, *record.meta.messages[1:]]),
        content=replace(record.content, parts=said),
    )


@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("view", View)
def test_a_plain_dialogue_is_shown_as_it_is_judged(view: View, deviation: str) -> None:
    """The short way of `cut` and the long one agree; looking for nothing takes the long one."""
    for said in chain.from_iterable(product(SAID, repeat=count) for count in (1, 2, 3)):
        plain = record_of()
        plain = replace(
            plain,
            meta=replace(plain.meta, messages=[MessageHead(role=role) for role, _ in said], tools=[], host_refs=[]),
            content=TurnContent(parts=[[TextPart(content=text)] for _, text in said], digest=b""),
        )
        record = DEVIATIONS[deviation](plain)
        assert cut(record, view) == cut(record, view, detection=ViewDetection())


@given(turn_records(), views)
def test_the_audit_counts_what_the_report_lists(record: TurnRecord, view: View) -> None:
    """RP-07."""
    turn, items = cut(record, view)
    counted = audit(view, [turn, turn], items * 2)
    assert (counted.view, counted.turns_read, counted.turns_returned) == (view, 2, 2)
    assert counted.messages_redacted == 2 * sum(message.redacted for message in turn.messages)
    assert counted.host_refs_redacted == 2 * (len(record.meta.host_refs) - len(turn.host_refs))
    assert set(counted.reasons) == {item.reason for item in items}
    assert counted.reasons == sorted(set(counted.reasons))


@given(committed(), st.integers(1, 2**40))
def test_a_message_that_names_nobody_and_no_time_has_those_of_its_turn(
    bodies: tuple[Any, TurnContent], time_ms: int
) -> None:
    """AC-03, TR-06, TR-22: its own speaker where it has one, else that of its role; likewise authority and time."""
    meta = replace(bodies[0], actor=Attribution(subject="ada", speaker_id="bob"))
    record = TurnRecord(position=1, sequence=1, mark=MARK, time_ms=time_ms, phase=Phase.ACTIVE, meta=meta, content=None)
    turn, _ = cut(record, View.RAW_OWNER)
    for head, message in zip(meta.messages, turn.messages, strict=True):
        by_role = ("bob", "subject") if head.role is Role.USER else (head.role, head.role)
        assert message.speaker_id == (head.speaker_id or by_role[0])
        assert message.speaker_kind == (head.speaker_kind or by_role[1])
        assert message.authority == (head.authority or DEFAULT_AUTHORITY[head.role])
        assert message.observed_ms == (head.observed_ms or time_ms)
    assert (turn.actor.speaker_id, turn.actor.agent_id) == ("bob", "ada")


@pytest.mark.parametrize("view", View)
def test_withheld_content_is_absent_on_the_wire(view: View) -> None:
    """RP-04: no empty string, no placeholder, no null; a flag says redacted."""
    turn, _ = cut(record_of(Phase.ERASED), view)
    for message in json.loads(msgspec.json.encode(turn))["messages"]:
        assert "parts" not in message
        assert message["redacted"] is True
