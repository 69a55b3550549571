"""Whether a change is valid for its stream, rule by rule."""

from __future__ import annotations

import pytest

from muniment.events.changes import Custody, RedactionReason, Transition
from muniment.events.records import EventKind
from muniment.governance.change_rules import ChangeFlaw, StreamState, flaws_of

LIFECYCLE, REDACTED, ATTRIBUTE = EventKind.TURN_LIFECYCLE, EventKind.TURN_REDACTED, EventKind.ATTR_RECORDED
THREE = StreamState(3, {7}, {1: 2, 2: 1, 3: None}.get)  # three turns, a hold; nobody can read the third turn
EMPTY = StreamState(0, ())
SPACE = StreamState(0, {7}, is_space=True)

VALID = [
    (LIFECYCLE, Transition.MASK, {"turn": 3}, THREE),
    (LIFECYCLE, Transition.ERASE, {"through": 3}, THREE),
    (LIFECYCLE, Transition.ERASE, {"first": 2, "through": 3}, THREE),
    (LIFECYCLE, Transition.ERASE, {"turn": 1, "message": 1}, THREE),
    (LIFECYCLE, Transition.ERASE, {"turn": 3, "message": 9}, THREE),
    (LIFECYCLE, Transition.ERASE, {"replaced": 1, "through": 0}, EMPTY),
    (LIFECYCLE, Custody.HOLD, {"first": 1}, THREE),
    (LIFECYCLE, Custody.HOLD, {"first": 1}, SPACE),
    (LIFECYCLE, Custody.RELEASE, {"first": 1, "hold": 7}, SPACE),
    (REDACTED, RedactionReason.SECRET, {"turn": 1}, THREE),
    (ATTRIBUTE, None, {"turn": 2, "message": 0}, THREE),
    (EventKind.POLICY_SET, None, {"first": 1}, SPACE),
]
INVALID = [
    (LIFECYCLE, "forget", {"turn": 1}, THREE, {ChangeFlaw.REASON}),
    (LIFECYCLE, None, {"turn": 1}, THREE, {ChangeFlaw.REASON}),
    (REDACTED, Transition.MASK, {"turn": 1}, THREE, {ChangeFlaw.REASON}),
    (ATTRIBUTE, Transition.MASK, {"turn": 1}, THREE, {ChangeFlaw.REASON}),
    (LIFECYCLE, Transition.MASK, {"turn": 4}, THREE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.MASK, {"turn": 0}, THREE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.MASK, {"first": 3, "through": 2}, THREE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.MASK, {"first": 1}, THREE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.ERASE, {"through": 0}, EMPTY, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.ERASE, {"replaced": 1, "through": 4}, THREE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.MASK, {"first": 1}, SPACE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Custody.HOLD, {"first": 0}, THREE, {ChangeFlaw.TURN}),
    (REDACTED, RedactionReason.SECRET, {"through": 3}, THREE, {ChangeFlaw.TURN}),
    (LIFECYCLE, Transition.ERASE, {"turn": 1, "message": 2}, THREE, {ChangeFlaw.MESSAGE}),
    (LIFECYCLE, Transition.ERASE, {"through": 3, "message": 0}, THREE, {ChangeFlaw.MESSAGE}),
    (LIFECYCLE, Custody.RELEASE, {"first": 1}, THREE, {ChangeFlaw.HOLD}),
    (LIFECYCLE, Custody.RELEASE, {"first": 1, "hold": 8}, THREE, {ChangeFlaw.HOLD}),
    (LIFECYCLE, Transition.MASK, {"turn": 1, "hold": 8}, THREE, {ChangeFlaw.HOLD}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "reason", "refs", "state"), VALID)
def test_a_valid_change_has_no_flaw(kind: str, reason: str | None, refs: dict[str, int], state: StreamState) -> None:
    assert list(flaws_of(kind, reason, refs, state)) == []


@pytest.mark.parametrize(("kind", "reason", "refs", "state", "flaws"), INVALID)
def test_every_rule_that_a_change_breaks_is_a_flaw(
    kind: str, reason: str | None, refs: dict[str, int], state: StreamState, flaws: set[ChangeFlaw]
) -> None:
    assert set(flaws_of(kind, reason, refs, state)) == flaws


def test_what_is_not_known_of_a_stream_is_no_flaw() -> None:
    """A writer knows how many turns there are, and leaves holds and messages to its operation."""
    refs = {"turn": 1, "message": 9, "hold": 9}
    assert list(flaws_of(LIFECYCLE, Custody.RELEASE, refs, StreamState(1))) == []
