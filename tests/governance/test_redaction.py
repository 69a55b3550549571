"""Redactions: ranges and their markers, and the laws that hold for any turn, any redactions and every view."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import InvalidInput, UnknownPlace, WordsErased
from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.events.labels import content_fields, encode_part, meta_fields
from muniment.events.message import Part, ReasoningPart, Role, TextPart, ToolCallPart, part_label
from muniment.events.records import MessageHead, TurnContent
from muniment.governance.judgement import TurnRecord
from muniment.governance.phases import Phase
from muniment.governance.redaction import (
    Redaction,
    TextRange,
    WithheldRange,
    beside,
    is_said,
    reach,
    replaced,
    stretches,
    withheld_from,
)
from muniment.governance.slices import RedactionItem, SliceTurn, audit, cut, disclosed_labels
from muniment.governance.views import Reason, View
from tests.governance.test_views import record_of, words_of
from tests.turns import message_of, short, turn_records

views = st.sampled_from(View)
FACE, ACCENTED = "\U0001f600", "e\u0301"  # one code point in two UTF-16 units; two code points in one sign


def redaction(
    target: RedactionTarget, reason: RedactionReason = RedactionReason.LEGAL, views: frozenset[View] = frozenset(View)
) -> Redaction:
    """Return a redaction of a turn, for all views."""
    return Redaction(position=9, target=target, views=views, reason=reason)


def shown_with(record: TurnRecord, *redactions: Redaction, view: View = View.RAW_OWNER) -> SliceTurn:
    """Return what a view shows of a turn with those redactions."""
    return cut(replace(record, redactions=redactions), view)[0]


# --- strategies -------------------------------------------------------------------------------------------------------


def targets(record: TurnRecord) -> st.SearchStrategy[RedactionTarget]:
    """Draw what a redaction may name of a turn: all that is there, and here and there what is not."""
    assert record.content is not None
    parts = [
        (place, index, part) for place, inside in enumerate(record.content.parts) for index, part in enumerate(inside)
    ]
    places = [(place, index) for place, index, _ in parts]
    words = [(place, index) for place, index, part in parts if isinstance(part, TextPart | ReasoningPart)]
    fields = [f"tools/{place}/summary" for place in range(len(record.content.summaries))]
    fields += [f"host_ref/{place}/label" for place in range(len(record.content.labels))]
    part = st.sampled_from(places) | st.sampled_from(words or places) | st.tuples(st.integers(0, 6), st.integers(0, 5))
    ends = st.tuples(st.integers(0, 13), st.integers(0, 13)).map(sorted)
    return st.one_of(
        st.just(RedactionTarget()),
        st.integers(0, 6).map(lambda place: RedactionTarget(message=place)),
        part.map(lambda at: RedactionTarget(message=at[0], part=at[1])),
        st.tuples(part, ends).map(
            lambda at: RedactionTarget(message=at[0][0], part=at[0][1], start=at[1][0], end=at[1][1])
        ),
        *[st.just(RedactionTarget(field=field)) for field in fields],
    )


@st.composite
def redacted_records(draw: st.DrawFn) -> TurnRecord:
    """Draw a turn, mostly one whose words are shown, with redactions."""
    record = draw(turn_records())
    record = replace(record, phase=draw(st.sampled_from([Phase.ACTIVE, Phase.ACTIVE, record.phase])))
    drawn = st.builds(
        Redaction,
        position=st.integers(0, 99),
        target=targets(record),
        views=st.frozensets(views, min_size=1),
        reason=st.sampled_from(RedactionReason),
    )
    return replace(record, redactions=tuple(draw(st.lists(drawn, max_size=5))))


ranges = st.builds(
    TextRange, start=st.integers(0, 20), end=st.integers(0, 20), cause=st.sampled_from(["legal", "policy", "secret"])
)
covers = st.lists(ranges, max_size=6)


# --- ranges of a text -------------------------------------------------------------------------------------------------


@given(covers)
def test_stretches_are_the_union_of_their_ranges_in_any_order(asked: list[TextRange]) -> None:
    """Exactly the code points of the ranges are covered, no two stretches touch, and order decides nothing."""
    made = stretches(Reason.REDACTED, asked)
    points = [point for each in made for point in range(each.start, each.end)]
    assert points == sorted({point for each in asked for point in range(each.start, each.end)})
    assert all(one.end < other.start for one, other in pairwise(made))
    for each in made:
        causes = {one.cause for one in asked if one.start < one.end and each.start <= one.start < each.end}
        assert each.causes == tuple(sorted(causes))
    assert stretches(Reason.REDACTED, reversed(asked)) == made == stretches(Reason.REDACTED, asked * 2)


@given(covers, covers)
def test_what_is_covered_already_is_not_covered_twice(one: list[TextRange], other: list[TextRange]) -> None:
    """beside(a, b) covers what either covers, leaves a as it is, and nothing of it overlaps."""
    first, second = stretches(Reason.REDACTED, one), stretches(Reason.VIEW_POLICY, other)
    both = beside(first, second)
    points = [point for each in both for point in range(each.start, each.end)]
    assert points == sorted({point for each in (*first, *second) for point in range(each.start, each.end)})
    assert tuple(each for each in both if each.reason is Reason.REDACTED) == first
    assert beside((), second) == second


@given(st.text(), covers)
def test_a_text_shows_all_but_its_stretches(text: str, asked: list[TextRange]) -> None:
    """Code point by code point: covered ones are left out, and where a stretch begins its marker stands."""
    made = stretches(Reason.REDACTED, asked)
    expected = ""
    for point in range(max(len(text), 21)):
        for each in made:
            if point == each.start:
                expected += each.marker
        if not any(each.start <= point < each.end for each in made):
            expected += text[point : point + 1]
    assert replaced(text, made) == expected


def test_a_marker_names_the_reason_and_every_cause_once() -> None:
    made = stretches(Reason.REDACTED, [TextRange(4, 9, "secret"), TextRange(0, 4, "legal"), TextRange(1, 2, "secret")])
    assert made == (WithheldRange(0, 9, Reason.REDACTED, ("legal", "secret")),)
    assert replaced("0123456789", made) == "[redacted: legal, secret]9"


# --- the parts of a turn ----------------------------------------------------------------------------------------------


def with_text(text: str) -> TurnRecord:
    """Return a turn whose first message says this."""
    record = record_of()
    assert record.content is not None
    return replace(record, content=replace(record.content, parts=[[TextPart(content=text)], *record.content.parts[1:]]))


@pytest.mark.parametrize(
    ("text", "start", "end", "shown"),
    [
        (f"a{FACE}b", 1, 2, "a[redacted: legal]b"),
        (f"{FACE}{FACE}secret{FACE}", 2, 8, f"{FACE}{FACE}[redacted: legal]{FACE}"),
        (f"caf{ACCENTED}!", 3, 5, "caf[redacted: legal]!"),
        (f"caf{ACCENTED}!", 3, 4, "caf[redacted: legal]\u0301!"),
        ("\u202eabc\r\n", 0, 1, "[redacted: legal]abc\r\n"),
        ("abc", 0, 3, "[redacted: legal]"),
    ],
)
def test_a_range_counts_code_points(text: str, start: int, end: int, shown: str) -> None:
    """Not bytes, not UTF-16 units, not signs: an accent that stands alone is a code point of its own."""
    target = RedactionTarget(message=0, part=0, start=start, end=end)
    turn = shown_with(with_text(text), redaction(target))
    assert turn.messages[0].parts == [TextPart(content=shown)]


def test_a_redacted_turn_shows_none_of_its_content() -> None:
    """Messages, summaries and labels are withheld, each with an item; who, when and what it refers to stays."""
    record = replace(record_of(), redactions=(redaction(RedactionTarget()),))
    for view in View:
        turn, items = cut(record, view)
        assert words_of(turn) == []
        assert {item.reason for item in items if item.causes} - {Reason.VIEW_POLICY} == {Reason.REDACTED}
        assert all(item.causes == ("legal",) for item in items if item.reason is Reason.REDACTED)
        assert [ref.id for ref in turn.host_refs] == [ref.id for ref in cut(record_of(), view)[0].host_refs]
    _, items = cut(record, View.RAW_OWNER)
    assert sum(item.message is not None for item in items) == 7
    assert [item.tool for item in items if item.tool is not None] == [0]
    assert [item.host_ref for item in items if item.host_ref is not None] == [0, 1, 2, 3, 4]


def test_a_range_in_what_has_no_text_withholds_the_part() -> None:
    """Whoever wrote such an event: in doubt it withholds."""
    target = RedactionTarget(message=2, part=1, start=0, end=1)
    turn = shown_with(record_of(), redaction(target))
    assert turn.messages[2].parts == [ReasoningPart(content="the reasoning words")]


def test_a_message_of_which_every_shown_part_is_redacted_is_redacted_as_a_whole() -> None:
    """RP-04; its causes are those of its parts."""
    record = replace(
        record_of(),
        redactions=(
            redaction(RedactionTarget(message=2, part=1), RedactionReason.SECRET),
            redaction(RedactionTarget(message=2, part=0), RedactionReason.LEGAL),
        ),
    )
    for view, causes in [(View.RAW_OWNER, ("legal", "secret")), (View.MODEL_CONTEXT, ("secret",))]:
        turn, items = cut(record, view)
        assert turn.messages[2].parts == []
        assert turn.messages[2].redacted
        assert [(item.part, item.reason, item.causes) for item in items if item.message == message_of("rich", 2)] == [
            (None, Reason.REDACTED, causes)
        ]


@pytest.mark.parametrize("gone", ["redacted", "erased"])
def test_no_step_is_taken_for_the_answer_when_the_answer_is_gone(gone: str) -> None:
    """Redacting or erasing the answer shows nobody what the assistant said on the way."""
    record = record_of()
    record = replace(
        record,
        meta=replace(record.meta, messages=[MessageHead(role=Role.ASSISTANT)] * 2),
        content=TurnContent(parts=[[TextPart(content="step")], [TextPart(content="answer")]], digest=b""),
    )
    if gone == "redacted":
        record = replace(record, redactions=(redaction(RedactionTarget(message=1)),))
    else:
        assert record.content is not None
        record = replace(
            record, erased=frozenset({1}), content=replace(record.content, parts=[record.content.parts[0], []])
        )
    turn, _ = cut(record, View.EXPORT)
    assert [message.redacted for message in turn.messages] == [True, True]


def test_a_part_with_a_redacted_range_is_shown_and_not_disclosed() -> None:
    """A commitment covers the whole part; its proof would open what the marker stands for."""
    record = replace(
        with_text("the words"), redactions=(redaction(RedactionTarget(message=0, part=0, start=4, end=9)),)
    )
    turn, _ = cut(record, View.MODEL_CONTEXT)
    assert turn.messages[0].parts == [TextPart(content="the [redacted: legal]")]
    assert "message/0" in disclosed_labels(record, View.MODEL_CONTEXT)
    assert "message/0/content/0" not in disclosed_labels(record, View.MODEL_CONTEXT)
    assert "message/0/content/0" in disclosed_labels(replace(record, redactions=()), View.MODEL_CONTEXT)


# --- laws -------------------------------------------------------------------------------------------------------------


def texts(record: TurnRecord, turn: SliceTurn, items: list[RedactionItem]) -> dict[str, Part]:
    """Return the parts that a slice shows by label, worked out from its items alone."""
    assert record.content is not None
    found: dict[str, Part] = {}
    for place, message in enumerate(turn.messages):
        if message.redacted:
            continue
        gone = {item.part for item in items if item.message == message.id and item.start is None}
        kept = [index for index in range(len(record.content.parts[place])) if index not in gone]
        found |= {part_label(place, index): part for index, part in zip(kept, message.parts, strict=True)}
    return found


@given(redacted_records(), views)
def test_what_is_shown_is_what_was_committed_but_for_the_reported_ranges(record: TurnRecord, view: View) -> None:
    """Every text equals the committed one with exactly the ranges of its items replaced by their markers."""
    assert record.content is not None
    turn, items = cut(record, view)
    for label, part in texts(record, turn, items).items():
        _, place, _, index = label.split("/")
        committed = record.content.parts[int(place)][int(index)]
        name = turn.messages[int(place)].id
        withheld = [item for item in items if (item.message, item.part) == (name, int(index))]
        if not withheld:
            assert part == committed
            continue
        assert isinstance(part, TextPart | ReasoningPart)
        assert isinstance(committed, TextPart | ReasoningPart)
        expected = committed.content
        for item in reversed(withheld):
            assert item.start is not None
            assert item.end is not None
            expected = expected[: item.start] + f"[redacted: {', '.join(item.causes)}]" + expected[item.end :]
        assert part.content == expected


@given(redacted_records(), views, st.data())
def test_a_redaction_never_adds_a_word_to_any_view(record: TurnRecord, view: View, data: st.DataObject) -> None:
    """Monotone: with one more redaction a view shows the same or less, of every message, part, text and field."""
    one = data.draw(st.builds(redaction, targets(record), st.sampled_from(RedactionReason), st.frozensets(views)))
    more = replace(record, redactions=(*record.redactions, one))
    (before, told_before), (after, told_after) = cut(record, view), cut(more, view)
    parts_before, parts_after = texts(record, before, told_before), texts(record, after, told_after)
    assert set(parts_after) <= set(parts_before)
    assert disclosed_labels(more, view) <= disclosed_labels(record, view)
    for label, part in parts_after.items():
        assert points_of(label, part, told_after, record) <= points_of(label, parts_before[label], told_before, record)
    fields_before, fields_after = (
        [(ref.id, ref.label) for ref in turn.host_refs] + [(tool.id, tool.summary) for tool in turn.tools or []]
        for turn in (before, after)
    )
    for (_, was), (_, now) in zip(fields_before, fields_after, strict=True):
        assert now == was or not now
    if view not in withheld_from(one.views):
        assert (after, told_after) == (before, told_before)


def points_of(label: str, part: Part, items: list[RedactionItem], record: TurnRecord) -> set[int]:
    """Return which code points of a committed text are shown; of anything else all or nothing."""
    if not isinstance(part, TextPart | ReasoningPart):
        return {0}
    assert record.content is not None
    _, place, _, index = label.split("/")
    committed = record.content.parts[int(place)][int(index)]
    assert isinstance(committed, TextPart | ReasoningPart)
    shown = set(range(len(committed.content)))
    for item in items:
        if item.message is not None and short(item.message).endswith(f"#{place}") and item.part == int(index):
            shown -= set(range(item.start or 0, item.end or 0))
    return shown


@given(redacted_records(), views)
def test_no_view_shows_more_than_the_raw_owner_sees(record: TurnRecord, view: View) -> None:
    """Whoever a redaction names: each part and code point that a view shows the raw owner sees too."""
    (turn, items), (whole, all_items) = cut(record, view), cut(record, View.RAW_OWNER)
    shown, seen = texts(record, turn, items), texts(record, whole, all_items)
    assert set(shown) <= set(seen)
    for label, part in shown.items():
        assert points_of(label, part, items, record) <= points_of(label, seen[label], all_items, record)
    assert disclosed_labels(record, view) <= disclosed_labels(record, View.RAW_OWNER)


@given(redacted_records(), views)
def test_the_order_of_redactions_does_not_matter(record: TurnRecord, view: View) -> None:
    """Any order, and any of them twice: the same slice, the same items."""
    turned = replace(record, redactions=(*reversed(record.redactions), *record.redactions))
    assert cut(turned, view) == cut(record, view)
    assert disclosed_labels(turned, view) == disclosed_labels(record, view)


@given(redacted_records())
def test_a_view_that_is_not_named_shows_everything_that_it_showed(record: TurnRecord) -> None:
    """What redactions name stays visible to the views that they do not name."""
    for view in View:
        others = tuple(each for each in record.redactions if view in withheld_from(each.views))
        assert cut(record, view) == cut(replace(record, redactions=others), view)


@given(redacted_records(), views)
def test_no_part_is_disclosed_that_the_view_shows_otherwise(record: TurnRecord, view: View) -> None:
    """A disclosure opens a part only when the slice of that view shows exactly what was committed."""
    assert record.content is not None
    turn, items = cut(record, view)
    shown = texts(record, turn, items)
    disclosed = disclosed_labels(record, view)
    for place, parts in enumerate(record.content.parts):
        for index, part in enumerate(parts):
            label = part_label(place, index)
            whole = label in shown and not any(
                (item.message, item.part) == (turn.messages[place].id, index) for item in items
            )
            assert (label in disclosed) == whole
            if whole:
                assert encode_part(shown[label]) == encode_part(part)
    fields = {label for label, _ in content_fields(record.content)}
    for place, tool in enumerate(turn.tools or []):
        if f"tools/{place}/summary" in disclosed & fields:
            assert tool.summary == record.content.summaries[place]
    assert {label for label, _ in meta_fields(record.meta)} & disclosed == {
        label for label, _ in meta_fields(record.meta)
    } & disclosed_labels(replace(record, redactions=()), view)


@given(redacted_records(), views)
def test_everything_redacted_has_exactly_one_item(record: TurnRecord, view: View) -> None:
    """RP-06: each item is about another thing, and each that is redacted says why."""
    _, items = cut(record, view)
    places = [(item.message, item.part, item.host_ref, item.tool, item.start) for item in items]
    assert len(set(places)) == len(places)
    for item in items:
        if (view, item.reason) != (View.MODEL_CONTEXT, Reason.VIEW_POLICY):  # reasoning may be redacted, too
            assert bool(item.causes) == (item.reason is Reason.REDACTED)
        assert item.causes == tuple(sorted(set(item.causes)))
        assert set(item.causes) <= set(RedactionReason)


@given(redacted_records(), views)
def test_a_reference_that_lost_its_label_alone_is_not_counted(record: TurnRecord, view: View) -> None:
    """RP-07: withheld references are those that are not there."""
    turn, items = cut(record, view)
    assert audit(view, [turn], items).host_refs_redacted == len(record.meta.host_refs) - len(turn.host_refs)


def test_an_item_of_a_range_contains_no_content() -> None:
    """An item holds places, reasons and causes; so does its form on the wire."""
    target = RedactionTarget(message=0, part=0, start=4, end=10)
    _, items = cut(replace(with_text("the system words"), redactions=(redaction(target),)), View.MODEL_CONTEXT)
    (item,) = [item for item in items if item.start is not None]
    assert msgspec.to_builtins(item) == {
        "turn": "rich", "reason": "redacted", "view": "model_context", "message": message_of("rich", 0), "part": 0,
        "authority": "legacy_transcript", "start": 4, "end": 10, "causes": ("legal",),
    }  # fmt: skip


def test_a_whole_part_is_withheld_whatever_it_is() -> None:
    turn = shown_with(record_of(), redaction(RedactionTarget(message=2, part=0)))
    assert isinstance(turn.messages[2].parts, list)
    assert [type(part) for part in turn.messages[2].parts] == [ToolCallPart]


@given(redacted_records(), views)
def test_redactions_show_nothing_of_content_that_was_not_read(record: TurnRecord, view: View) -> None:
    turn, _ = cut(replace(record, content=None), view)
    assert words_of(turn) == []


# --- what may be redacted ---------------------------------------------------------------------------------------------


@given(redacted_records(), st.data())
def test_a_target_inside_the_turn_is_accepted_and_any_other_is_refused(record: TurnRecord, data: st.DataObject) -> None:
    """`reach` accepts exactly the targets that name something of the turn; what it counts is what is named."""
    assert record.content is not None
    target, content = data.draw(targets(record)), record.content
    parts = [] if target.message is None else list(dict(enumerate(content.parts)).get(target.message, []))
    if target.field is not None:
        place = int(target.field.split("/")[1])
        there = bool(
            content.summaries[place] if target.field.endswith("summary") else content.labels[place] is not None
        )
    else:
        part = dict(enumerate(parts)).get(target.part or 0)
        there = target.message is None or part is not None
        if target.end is not None:
            there = isinstance(part, TextPart | ReasoningPart) and target.end <= len(part.content)
    try:
        counted = reach(target, content, frozenset())
    except (UnknownPlace, InvalidInput):
        assert not there
    else:
        assert there
        assert bool(counted.parts or counted.messages) == (target.field is None)


def test_an_erased_message_is_no_target() -> None:
    content = record_of().content
    assert content is not None
    assert reach(RedactionTarget(), content, frozenset({0, 2})) == (5, 8, 6)
    with pytest.raises(WordsErased):
        reach(RedactionTarget(message=2), content, frozenset({0, 2}))


@given(st.lists(st.frozensets(views, min_size=1), max_size=3), st.frozensets(views, min_size=1))
def test_a_redaction_is_redundant_when_earlier_ones_withhold_its_target_from_all_its_views(
    earlier: list[frozenset[View]], asked: frozenset[View]
) -> None:
    """The same target and reason; of another target or reason nothing counts."""
    target, other = RedactionTarget(message=0), RedactionTarget(message=0, part=0)
    said = [redaction(target, views=each) for each in earlier]
    covered = {view for view in View if any(view in withheld_from(each) for each in earlier)}
    assert is_said(target, RedactionReason.LEGAL, asked, said) == (withheld_from(asked) <= covered)
    assert not is_said(other, RedactionReason.LEGAL, asked, said)
    assert not is_said(target, RedactionReason.OTHER, asked, said)
