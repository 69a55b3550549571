"""Which policies of memory are in force, and what they stop."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.events.changes import LifecycleRequest
from muniment.events.memory_governance import MemoryPolicySet, PolicyAction, PolicySelector
from muniment.events.memory_items import ItemKind, ItemScope
from muniment.memory.kinds import slot_topic
from muniment.memory.policies import MemoryPolicy, Statement, applies, fits, in_force, stopped_by

REQUEST = LifecycleRequest(requester="ada", requested_ms=7)
SAID = Statement("ada", ItemKind.PROFILE, ItemScope.USER, "Home City", frozenset({("default", "talk")}))
FORGOTTEN_PATTERN = PolicySelector(subject="ada", has_pattern=True)


def policy(action: PolicyAction = PolicyAction.PAUSE, pattern: str | None = None, **more: Any) -> MemoryPolicy:
    """Return a policy; members of its event by name."""
    fields: dict[str, Any] = {"policy": "p-1", "action": action, "request": REQUEST}
    return MemoryPolicy(position=1, event=MemoryPolicySet(**fields | more), pattern=pattern)


@given(st.text("a b*-_B", max_size=8), st.text("a b-_B", max_size=8))
@example("ab*ba", "aba")  # the end may not take what the beginning took
def test_a_star_stands_for_any_text(pattern: str, topic: str) -> None:
    """A pattern fits a topic exactly when the regular expression with `.*` for each star matches it."""
    expected = re.fullmatch(".*".join(map(re.escape, slot_topic(pattern).split("*"))), slot_topic(topic))
    assert fits(pattern, topic) is (expected is not None)


def test_many_stars_take_no_longer_than_few() -> None:
    assert not fits("*a" * 400 + "*c", "a" * 20_000 + "b")


@pytest.mark.parametrize(
    ("selector", "pattern", "does"),
    [
        ({}, None, True),
        ({"subject": "ada", "kind": ItemKind.PROFILE, "scope": ItemScope.USER}, "home-*", True),
        ({"subject": "bob"}, None, False),
        ({"kind": ItemKind.TASK}, None, False),
        ({"scope": ItemScope.CHAT}, None, False),
        ({"channel": "default", "conversation": "talk"}, None, True),
        ({"channel": "mail", "conversation": "talk"}, None, False),
        ({"topic": "home city"}, None, True),
        ({"topic": "work"}, None, False),
        ({}, "work*", False),
    ],
)
def test_a_policy_applies_to_what_matches_all_of_its_selector(
    selector: dict[str, Any], pattern: str | None, does: bool
) -> None:
    assert applies(policy(pattern=pattern, selector=PolicySelector(**selector)), SAID, slot_topic) is does


def test_a_suppression_is_stronger_than_a_pause_and_what_is_kept_stops_nothing() -> None:
    pause, suppression = policy(), policy(PolicyAction.SUPPRESS, policy="p-2")
    assert stopped_by([pause, suppression], SAID, slot_topic) == suppression
    assert stopped_by([pause], SAID, slot_topic) == pause
    assert stopped_by([policy(PolicyAction.FOLLOW)], SAID, slot_topic) is None


def test_a_policy_ends_by_an_event_at_its_time_or_with_its_pattern() -> None:
    assert in_force([policy()], 10) == [policy()]
    assert in_force([policy(), policy(PolicyAction.RESUME, policy="p-2", ends=["p-1"])], 10) == []
    assert in_force([policy(), policy(policy="p-2", ends=["p-1"])], 10) == [policy(policy="p-2", ends=["p-1"])]
    assert in_force([policy(until_ms=11)], 10) == [policy(until_ms=11)]
    assert in_force([policy(until_ms=10)], 10) == []
    assert in_force([policy(selector=FORGOTTEN_PATTERN)], 10) == []
    kept = policy(selector=FORGOTTEN_PATTERN, pattern="home*")
    assert in_force([kept], 10) == [kept]
