"""Who sees an attribute: the tables, walked whole against a second spelling by hand."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.attributes import Attribute, AttributeGovernance, AttributePolicy, AttributeScope
from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.events.identity import TurnId
from muniment.events.labels import content_fields, meta_fields
from muniment.events.message import Authority
from muniment.events.records import TurnMeta
from muniment.events.references import Visibility
from muniment.governance import attribute_visibility as attributes
from muniment.governance.admission import AdmittedTurn, admit
from muniment.governance.annotation import AcceptedAttribute, AttributeRecord, AttributeState, admit_attribute
from muniment.governance.attribute_visibility import (
    REPLACEMENT,
    REPLACEMENT_SCHEMA,
    ShownValue,
    disclosed_attribute_labels,
    judge,
    judge_attribute,
    order_of,
)
from muniment.governance.budgets import applied_to_slices
from muniment.governance.judgement import TurnRecord, standing
from muniment.governance.limits import Limits
from muniment.governance.phases import MASKED_PHASES, NEXT, Phase
from muniment.governance.profiles import Budget, Ceiling, Profile
from muniment.governance.redaction import Redaction
from muniment.governance.slices import audit, cut
from muniment.governance.views import SHOWS_ORIGIN, Reason, View
from tests.attributes import RULED, attribute, expected, of_turn, ruled
from tests.turns import MARK, message_of, plain_turn, turn_records

TURN = TurnId("turn-1")
SHOWN = {"value": ShownValue.VALUE, "replacement": ShownValue.REPLACEMENT, "nothing": ShownValue.NOTHING}


def recorded(given: Attribute, position: int = 9) -> AttributeRecord:
    found = admit_attribute(given, MARK, 1000, None, Limits())
    assert isinstance(found, AcceptedAttribute), found
    return AttributeRecord(position=position, meta=found.meta, content=found.content)


def state_of(phase: Phase) -> str:
    return "erased" if phase is Phase.ERASED else "masked" if phase in MASKED_PHASES else "active"


@pytest.mark.parametrize(("visibility", "policy"), RULED)
def test_every_view_shows_what_the_table_says_in_every_phase(visibility: Visibility, policy: AttributePolicy) -> None:
    """AT-14 to AT-18, word by word: visibility first, then the policy, phase by phase."""
    record = recorded(ruled("a", visibility, policy))
    for view, phase in product(View, Phase):
        shown, reason = judge(view, AttributeState(phase, barred=False), record)
        assert shown is SHOWN[expected(view, visibility, policy, state_of(phase))], (view, phase)
        unseen = expected(view, visibility, policy, "active") == "nothing"
        wanted = Reason.ATTR_VISIBILITY if unseen else Reason.ATTR_LIFECYCLE_POLICY
        assert reason is (None if shown is ShownValue.VALUE else wanted), (view, phase)


@pytest.mark.parametrize("phase", Phase)
def test_an_export_contains_only_attributes_that_allow_it(phase: Phase) -> None:
    """AT-14: export needs the visibility and the permission; other views do not ask for the permission."""
    record = recorded(ruled("a", Visibility.EXPORT, AttributePolicy.METADATA_SURVIVES_MASK))
    kept = replace(record, meta=replace(record.meta, governance=AttributeGovernance(export_allowed=False)))
    assert judge(View.EXPORT, AttributeState(phase, barred=False), kept) == (ShownValue.NOTHING, Reason.ATTR_VISIBILITY)
    assert judge(View.RAW_OWNER, AttributeState(Phase.ACTIVE, barred=False), kept) == (ShownValue.VALUE, None)


@pytest.mark.parametrize(("visibility", "policy"), RULED)
def test_a_turn_on_its_way_down_never_shows_a_view_more_of_an_attribute(
    visibility: Visibility, policy: AttributePolicy
) -> None:
    """Views are monotone: but for restore and unmask, which give back content that is there, no step shows more."""
    rank = [ShownValue.NOTHING, ShownValue.REPLACEMENT, ShownValue.VALUE]
    record = recorded(ruled("a", visibility, policy))
    for view, (phase, after) in product(View, NEXT.items()):
        before, _ = judge(view, AttributeState(phase, barred=False), record)
        for transition, now in after.items():
            shown, _ = judge(view, AttributeState(now, barred=False), record)
            assert rank.index(shown) <= rank.index(before) or transition == "unmask"


@given(st.sampled_from(RULED), st.sampled_from(View), st.sampled_from(Phase), st.booleans())
def test_what_an_export_discloses_of_an_attribute_is_what_a_page_shows(
    rules: tuple[Visibility, AttributePolicy], view: View, phase: Phase, barred: bool
) -> None:
    """Labels and page agree: the value is disclosed when it is shown, and nothing of what is hidden."""
    record, place = recorded(ruled("a", *rules)), AttributeState(phase, barred)
    labels = disclosed_attribute_labels(view, place, record)
    as_what, _ = judge(view, place, record)
    assert record.content is not None
    everything = {label for label, _ in [*meta_fields(record.meta), *content_fields(record.content)]}
    origin = {"source", "visibility", "governance", "reason"}
    if as_what is ShownValue.NOTHING:
        assert labels == set()
        return
    shown = attributes.shown(view, None, record, as_what)
    assert (shown.source is not None) is (view in SHOWS_ORIGIN) is ("source" in labels)
    if as_what is ShownValue.VALUE:
        assert labels == (everything if view in SHOWS_ORIGIN else everything - origin)
        assert (shown.value, shown.links, shown.redacted) == (record.content.value, record.content.links, False)
    else:
        assert labels == {"attribute", "source", "visibility", "governance"}
        assert (shown.value, shown.schema, shown.links) == (REPLACEMENT, REPLACEMENT_SCHEMA, [])
        assert (shown.redacted, shown.reason, shown.kind) == (True, None, "object")


def test_an_attribute_that_is_not_valid_any_more_is_hidden_and_the_others_are_shown() -> None:
    """AT-19, RE-05: the reason is attr_visibility, and the page goes on."""
    good = recorded(attribute("good"))
    place = AttributeState(Phase.ACTIVE, barred=False)
    assert good.content is not None
    for bad in (
        replace(good, content=replace(good.content, value=7)),
        replace(good, meta=replace(good.meta, attribute=replace(good.meta.attribute, key="host"))),
        replace(good, content=None),
    ):
        assert judge(View.RAW_OWNER, place, bad) == (ShownValue.NOTHING, Reason.ATTR_VISIBILITY)
        assert disclosed_attribute_labels(View.RAW_OWNER, place, bad) == set()
    assert judge(View.RAW_OWNER, place, good) == (ShownValue.VALUE, None)


@given(turn_records(), st.sampled_from(View))
def test_attributes_change_nothing_else_of_a_turn(record: TurnRecord, view: View) -> None:
    """A slice with attributes is the slice without them, and the attributes; each is shown or has an item."""
    several = tuple(recorded(ruled(f"{place}", *rules)) for place, rules in enumerate(RULED))
    bare, items = cut(record, view)
    turn, more = cut(replace(record, attributes=several), view)
    assert replace(turn, attributes=[]) == bare
    assert [item for item in more if item.attribute is None] == items
    told = {item.attribute: item for item in more if item.attribute is not None}
    for each in several:
        name = each.meta.attribute.id
        shown = [one for one in turn.attributes if one.id == name]
        assert bool(told.get(name)) is (not shown or shown[0].redacted)
    assert all(item.attribute_key == "host.billing.tokens" and item.message is None for item in told.values())


def test_attributes_are_in_the_order_of_message_creation_and_id() -> None:
    """AT-20: those of the turn first."""
    given = [
        attribute("d", target=of_turn(1, 1), created_ms=1),
        attribute("c", target=of_turn(1, 0), created_ms=2),
        attribute("b", created_ms=2),
        attribute("a", created_ms=2),
        attribute("z", created_ms=1),
    ]
    assert [each.meta.attribute.id for each in sorted(map(recorded, given), key=order_of)] == ["z", "a", "b", "c", "d"]
    name = message_of(TURN, 1)
    shown = attributes.shown(View.RAW_OWNER, name, recorded(given[0]), ShownValue.VALUE)
    assert (shown.scope, shown.message) == (AttributeScope.MESSAGE, name)


@given(turn_records(), st.sampled_from(View), st.integers(0, 3))
def test_a_budget_leaves_attributes_out_and_never_shows_another(record: TurnRecord, view: View, most: int) -> None:
    """BG-02, BG-04: of the turn and of each message the first so many; an item for each other, and the reason."""
    several = [recorded(ruled(f"{place}", *rules)) for place, rules in enumerate(RULED)]
    several += [recorded(attribute(f"m{place}", target=of_turn(1, 0))) for place in range(3)]
    whole, freely = cut(replace(record, attributes=tuple(several)), view)
    turn, items = cut(replace(record, attributes=tuple(several)), view, None, most)
    for message in (None, message_of(record.meta.delivery.turn, 0)):
        shown = [one for one in whole.attributes if one.message == message]
        assert [one for one in turn.attributes if one.message == message] == shown[:most]
    over = [item.attribute for item in items if item.reason is Reason.ATTR_VALUE_BUDGET]
    left_out = [one.id for one in whole.attributes if one not in turn.attributes]
    assert over == left_out
    assert len(items) == len(freely) + sum(not one.redacted for one in whole.attributes if one.id in left_out)
    reasons = audit(view, [turn], items).reasons
    assert (Reason.PROFILE_BUDGET in reasons) is bool(over)
    told = applied_to_slices(Budget(profile=Profile.EMBEDDED, attributes_per_turn=most), items)
    assert [(one.ceiling, one.limit, one.found) for one in told] == (
        [(Ceiling.ATTRIBUTES_PER_TURN, most, most + len(over))] if over else []
    )


# --- where an attribute stands ----------------------------------------------------------------------------------------


@given(turn_records(), st.sampled_from(View))
def test_a_view_that_is_barred_from_a_message_is_barred_from_its_attributes(record: TurnRecord, view: View) -> None:
    """SP-02: what belongs to a private plane is the raw owner's alone; so is what is said of it."""
    private = {Authority.PRIVATE_GARDEN_INTERNAL, Authority.SOUL_GOVERNANCE}
    for place, head in enumerate(record.meta.messages):
        barred = view is not View.RAW_OWNER and head.authority in private
        assert standing(record, view, place) == AttributeState(record.phase, barred)
    assert standing(record, view, None) == AttributeState(record.phase, barred=False)
    assert standing(record, view, len(record.meta.messages)) == AttributeState(record.phase, barred=False)


@given(turn_records(), st.sampled_from(View))
def test_a_message_that_was_erased_alone_takes_its_attributes_with_it(record: TurnRecord, view: View) -> None:
    gone = replace(record, erased=frozenset({0}))
    assert standing(gone, view, 0).phase is Phase.ERASED
    assert standing(gone, view, None).phase is record.phase


@pytest.mark.parametrize(
    ("target", "of_the_turn", "of_the_message"),
    [
        (RedactionTarget(), True, True),
        (RedactionTarget(message=0), False, True),
        (RedactionTarget(message=1), False, False),
        (RedactionTarget(message=0, part=0), False, False),
        (RedactionTarget(message=0, part=0, start=0, end=1), False, False),
        (RedactionTarget(field="tools/0/summary"), False, False),
    ],
)
def test_what_is_redacted_as_a_whole_is_so_with_its_attributes(
    target: RedactionTarget, of_the_turn: bool, of_the_message: bool
) -> None:
    redaction = Redaction(position=1, target=target, views=frozenset({View.EXPORT}), reason=RedactionReason.LEGAL)
    bare = recorded(attribute())
    record = TurnRecord(
        mark=MARK,
        position=1,
        sequence=1,
        time_ms=1,
        phase=Phase.ACTIVE,
        meta=_meta(),
        content=None,
        redactions=(redaction,),
    )
    assert standing(record, View.EXPORT, None).barred is of_the_turn
    assert standing(record, View.EXPORT, 0).barred is of_the_message
    assert not standing(record, View.RAW_OWNER, 0).barred
    judged = judge_attribute(View.EXPORT, AttributeState(Phase.ACTIVE, barred=True), bare.meta)
    assert judged == (ShownValue.NOTHING, Reason.ATTR_VISIBILITY)


def _meta() -> TurnMeta:
    kept = admit(plain_turn(1), Limits(), 1000)
    assert isinstance(kept, AdmittedTurn)
    return kept.meta
