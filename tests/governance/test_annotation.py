"""What an annotation takes: every rule refuses what it is about, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from muniment.events.attributes import (
    TAGS_KEY,
    TITLE_KEY,
    Attribute,
    AttributeGovernance,
    AttributeLink,
    AttributeScope,
    AttributeSource,
    AttributeTarget,
    SourceKind,
    ValueKind,
)
from muniment.events.identity import TurnId
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.governance.annotation import (
    ATTRIBUTE_LINKS_MAX,
    ATTRIBUTE_REASON_BYTES_MAX,
    RULES,
    AcceptedAttribute,
    AttributeRefusal,
    KnownAttribute,
    ResolvedTarget,
    admit_attribute,
    flaw,
    is_erased,
    refused_by_target,
)
from muniment.governance.limits import Limits
from muniment.governance.phases import Phase
from muniment.kernel.canonical import DEPTH_MAX, encode
from tests.attributes import GATEWAY, attribute, of_turn, values
from tests.turns import MARK, json_values

NOW_MS = 1_700_000_000_000
LIMITS = Limits()
LINK = AttributeLink(relation="of", kind="case", id="17")


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def judged(given: Attribute) -> AcceptedAttribute | AttributeRefusal:
    return admit_attribute(given, MARK, NOW_MS, "write-7", LIMITS)


def admitted(given: Attribute) -> AcceptedAttribute:
    found = judged(given)
    assert isinstance(found, AcceptedAttribute), found
    return found


GOOD = attribute(links=[LINK], schema="usage/1", target=of_turn(1, 0))

# what is wrong -> how to make it of a good one, and the reason that it is refused for
WRONG: dict[str, tuple[Callable[[Attribute], Attribute], AttributeRefusal]] = {
    "empty id": (lambda it: replace(it, id=""), AttributeRefusal.ID_MALFORMED),
    "blank id": (lambda it: replace(it, id=" a"), AttributeRefusal.ID_MALFORMED),
    "long id": (lambda it: replace(it, id="a" * 513), AttributeRefusal.ID_MALFORMED),
    "id with a control character": (lambda it: replace(it, id="a\x00"), AttributeRefusal.ID_MALFORMED),
    "two parts": (lambda it: replace(it, key="host.tokens"), AttributeRefusal.KEY_MALFORMED),
    "another first part": (lambda it: replace(it, key="user.a.b"), AttributeRefusal.KEY_MALFORMED),
    "first part alike": (lambda it: replace(it, key="hosts.a.b"), AttributeRefusal.KEY_MALFORMED),
    "empty part": (lambda it: replace(it, key="host..b"), AttributeRefusal.KEY_MALFORMED),
    "empty last part": (lambda it: replace(it, key="host.a.b."), AttributeRefusal.KEY_MALFORMED),
    "blank in front": (lambda it: replace(it, key=" host.a.b"), AttributeRefusal.KEY_MALFORMED),
    "newline behind": (lambda it: replace(it, key="host.a.b\n"), AttributeRefusal.KEY_MALFORMED),
    "letter of elsewhere": (lambda it: replace(it, key="host.a.ö"), AttributeRefusal.KEY_MALFORMED),
    "sign": (lambda it: replace(it, key="host.a.b/c"), AttributeRefusal.KEY_MALFORMED),
    "long key": (lambda it: replace(it, key="host.a." + "b" * 506), AttributeRefusal.KEY_MALFORMED),
    "empty schema": (lambda it: replace(it, schema=""), AttributeRefusal.SCHEMA_MALFORMED),
    "a title that is no text": (
        lambda it: replace(it, key=TITLE_KEY, kind=ValueKind.NUMBER, value=7),
        AttributeRefusal.DESCRIPTION_MALFORMED,
    ),
    "tags that are no list": (
        lambda it: replace(it, key=TAGS_KEY, kind=ValueKind.STRING, value="tag"),
        AttributeRefusal.DESCRIPTION_MALFORMED,
    ),
    "tags that are no text": (
        lambda it: replace(it, key=TAGS_KEY, kind=ValueKind.ARRAY, value=["tag", 7]),
        AttributeRefusal.DESCRIPTION_MALFORMED,
    ),
    "a tag that is no name": (
        lambda it: replace(it, key=TAGS_KEY, kind=ValueKind.ARRAY, value=["tag", " padded"]),
        AttributeRefusal.DESCRIPTION_MALFORMED,
    ),
    "null": (lambda it: replace(it, value=None), AttributeRefusal.KIND_DIFFERS),
    "not finite": (
        lambda it: replace(it, kind=ValueKind.NUMBER, value=float("inf")),
        AttributeRefusal.VALUE_NOT_CANONICAL,
    ),
    "not JSON": (lambda it: replace(it, kind=ValueKind.ARRAY, value=[b"x"]), AttributeRefusal.VALUE_NOT_CANONICAL),
    "deep": (
        lambda it: replace(it, kind=ValueKind.ARRAY, value=nested(DEPTH_MAX + 1)),
        AttributeRefusal.VALUE_NOT_CANONICAL,
    ),
    "no size": (
        lambda it: replace(it, governance=AttributeGovernance(value_bytes_max=0)),
        AttributeRefusal.SIZE_OUT_OF_RANGE,
    ),
    "above its size": (
        lambda it: replace(it, value="äb", governance=AttributeGovernance(value_bytes_max=4)),
        AttributeRefusal.VALUE_TOO_LARGE,
    ),
    "above the limit": (
        lambda it: replace(it, value="a" * 65535, governance=AttributeGovernance(value_bytes_max=2**20)),
        AttributeRefusal.VALUE_TOO_LARGE,
    ),
    "scope message without one": (
        lambda it: replace(it, target=AttributeTarget(turn=TurnId("turn-1"), scope=AttributeScope.MESSAGE)),
        AttributeRefusal.MESSAGE_MISSING,
    ),
    "scope turn with one": (
        lambda it: replace(it, target=AttributeTarget(turn=TurnId("turn-1"), message="turn-1#0")),
        AttributeRefusal.MESSAGE_NOT_TAKEN,
    ),
    "message of another turn": (
        lambda it: replace(it, target=replace(of_turn(1, 0), message="turn-2#0")),
        AttributeRefusal.UNKNOWN_MESSAGE,
    ),
    "no id of a message": (
        lambda it: replace(it, target=replace(of_turn(1, 0), message="turn-1")),
        AttributeRefusal.UNKNOWN_MESSAGE,
    ),
    "message spelt otherwise": (
        lambda it: replace(it, target=replace(of_turn(1, 0), message="turn-1#00")),
        AttributeRefusal.UNKNOWN_MESSAGE,
    ),
    "empty writer": (lambda it: replace(it, source=replace(GATEWAY, writer="")), AttributeRefusal.WRITER_MALFORMED),
    "no reason": (
        lambda it: replace(it, source=AttributeSource(writer="w", kind=SourceKind.UNAVAILABLE, reason="")),
        AttributeRefusal.REASON_MALFORMED,
    ),
    "blank reason": (lambda it: replace(it, source=replace(GATEWAY, reason=" \n")), AttributeRefusal.REASON_MALFORMED),
    "long reason": (
        lambda it: replace(it, source=replace(GATEWAY, reason="ä" * (ATTRIBUTE_REASON_BYTES_MAX // 2 + 1))),
        AttributeRefusal.REASON_MALFORMED,
    ),
    "link without relation": (
        lambda it: replace(it, links=[replace(LINK, relation="")]),
        AttributeRefusal.LINK_MALFORMED,
    ),
    "link without kind": (
        lambda it: replace(it, links=[LINK, replace(LINK, kind="")]),
        AttributeRefusal.LINK_MALFORMED,
    ),
    "link without id": (lambda it: replace(it, links=[replace(LINK, id="")]), AttributeRefusal.LINK_MALFORMED),
    "many links": (lambda it: replace(it, links=[LINK] * (ATTRIBUTE_LINKS_MAX + 1)), AttributeRefusal.TOO_MANY_LINKS),
    "created before 1970": (lambda it: replace(it, created_ms=-1), AttributeRefusal.TIME_OUT_OF_RANGE),
    "updated after 9999": (lambda it: replace(it, updated_ms=OBSERVED_MS_MAX + 1), AttributeRefusal.TIME_OUT_OF_RANGE),
    "written after 9999": (
        lambda it: replace(it, source=replace(GATEWAY, written_ms=OBSERVED_MS_MAX + 1)),
        AttributeRefusal.TIME_OUT_OF_RANGE,
    ),
    "updated before created": (
        lambda it: replace(it, created_ms=8, updated_ms=7),
        AttributeRefusal.UPDATED_BEFORE_CREATED,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_attribute_is_refused_for_what_is_wrong_with_it(name: str) -> None:
    """AT-02 to AT-08: one fault, one reason."""
    spoilt, refusal = WRONG[name]
    assert isinstance(judged(GOOD), AcceptedAttribute)
    assert judged(spoilt(GOOD)) is refusal


def test_an_attribute_needs_no_invented_reason() -> None:
    """A source without a reason has a usable one; an empty reason that somebody gives is refused, see below."""
    source = AttributeSource(writer="w", kind=SourceKind.GATEWAY_COUNTED)
    assert admitted(replace(GOOD, source=source)).content.reason == "recorded"


def test_every_rule_is_seen_to_refuse() -> None:
    assert {refusal for refusal, _ in RULES} <= {refusal for _, refusal in WRONG.values()}


@pytest.mark.parametrize(
    "good",
    [
        replace(GOOD, key="memory.a-b.C_9.d"),
        replace(GOOD, key="host.a." + "b" * 505),
        replace(GOOD, value="a" * 65534),
        replace(GOOD, links=[LINK] * ATTRIBUTE_LINKS_MAX),
        replace(GOOD, value="ä", governance=AttributeGovernance(value_bytes_max=4)),
        replace(GOOD, kind=ValueKind.ARRAY, value=nested(DEPTH_MAX)),
        replace(GOOD, created_ms=7, updated_ms=7),
    ],
    ids=lambda good: good.key[:20],
)
def test_an_attribute_at_the_limits_is_accepted(good: Attribute) -> None:
    assert isinstance(judged(good), AcceptedAttribute)


@given(json_values)
def test_a_value_is_accepted_only_as_its_own_kind(value: Any) -> None:
    """AT-03: exactly one kind fits a value, none fits null; what is taken is committed to as it is."""
    taken = []
    for kind in ValueKind:
        found = judged(replace(GOOD, kind=kind, value=value))
        if isinstance(found, AcceptedAttribute):
            taken.append(kind)
            assert dict(found.fields)["value"] == encode(value)
        else:
            assert found is AttributeRefusal.KIND_DIFFERS
    assert len(taken) == (value is not None)


def test_an_absent_time_means_now_and_never_makes_an_attribute_older_than_itself() -> None:
    """AT-08."""

    def times(created_ms: int, updated_ms: int) -> tuple[int, int]:
        head = admitted(replace(GOOD, created_ms=created_ms, updated_ms=updated_ms)).meta.attribute
        return head.created_ms, head.updated_ms

    assert times(0, 0) == (NOW_MS, NOW_MS)
    assert times(7, 0) == (7, NOW_MS)
    assert times(NOW_MS + 7, 0) == (NOW_MS + 7, NOW_MS + 7)
    assert times(0, 7) == (7, 7)
    assert times(0, NOW_MS + 7) == (NOW_MS, NOW_MS + 7)
    written = admitted(GOOD).meta.source
    assert (written.written_ms, written.request) == (NOW_MS, "write-7")
    assert admitted(replace(GOOD, source=replace(GATEWAY, written_ms=7))).meta.source.written_ms == 7


@given(values)
def test_nothing_that_somebody_phrased_is_in_the_meta_cell(value: Any) -> None:
    """Decision 0003: value, reason and links are content; the meta data of equal heads are equal."""
    one = admitted(attribute(value=value, links=[LINK], kind=attribute(value=value).kind))
    other = admitted(attribute(value=value, source=replace(GATEWAY, reason="another")))
    assert one.meta == other.meta
    assert (one.content.value, one.content.links, other.content.reason) == (value, [LINK], "another")


def test_what_is_kept_is_judged_as_what_was_handed_over() -> None:
    """AT-19: the rules are asked of what was read, too; the limit of the store is not."""
    kept = admitted(GOOD)
    assert flaw(kept.meta, kept.content) is None
    assert flaw(kept.meta, replace(kept.content, value=7)) is AttributeRefusal.KIND_DIFFERS
    assert flaw(kept.meta, replace(kept.content, value="a" * 70_000)) is AttributeRefusal.VALUE_TOO_LARGE
    assert admit_attribute(GOOD, MARK, NOW_MS, None, Limits(attribute_bytes_max=9)) is AttributeRefusal.VALUE_TOO_LARGE


FREE = KnownAttribute(None, 0)


@pytest.mark.parametrize(
    ("aim", "taken", "refusal"),
    [
        (ResolvedTarget(1, None, 2, erased=False), FREE, None),
        (ResolvedTarget(1, 1, 2, erased=False), FREE, None),
        (ResolvedTarget(1, 2, 2, erased=False), FREE, AttributeRefusal.UNKNOWN_MESSAGE),
        (ResolvedTarget(1, None, 2, erased=True), FREE, AttributeRefusal.ERASED),
        (ResolvedTarget(1, None, 2, erased=False), KnownAttribute((1, None), 63), None),
        (ResolvedTarget(1, None, 2, erased=False), KnownAttribute((2, None), 0), AttributeRefusal.TARGET_DIFFERS),
        (ResolvedTarget(1, 0, 2, erased=False), KnownAttribute((1, None), 0), AttributeRefusal.TARGET_DIFFERS),
        (ResolvedTarget(1, None, 2, erased=False), KnownAttribute(None, 64), AttributeRefusal.TOO_MANY_OF_TURN),
    ],
)
def test_an_attribute_is_refused_when_its_target_does_not_allow_it(
    aim: ResolvedTarget, taken: KnownAttribute, refusal: AttributeRefusal | None
) -> None:
    assert refused_by_target(aim, taken, LIMITS) is refusal


def test_a_message_is_erased_with_its_turn_or_alone() -> None:
    erased = frozenset({1})
    assert [is_erased(Phase.ACTIVE, message, erased) for message in (None, 0, 1)] == [False, False, True]
    assert all(is_erased(Phase.ERASED, message, frozenset()) for message in (None, 0))
