"""Whether words are kept or erased: the table, over everything that may be said of a turn at once."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.changes import RetentionPolicy
from muniment.events.turn import Attribution
from muniment.governance.custody import (
    KEEPS,
    PolicyInForce,
    RetentionTerms,
    Rule,
    in_force,
    ruling,
    subjects_of,
    terms_of,
)

COMBINATIONS = [set(some) for count in range(len(Rule) + 1) for some in combinations(Rule, count)]

periods = st.none() | st.integers(1, 5)
scopes = st.sampled_from([(None, None), ("mail", None), ("mail", "talk"), ("mail", "other"), ("chat", "talk")])


@st.composite
def policies(draw: st.DrawFn) -> list[PolicyInForce]:
    """Draw policies in the order in which they were set."""
    return [
        PolicyInForce(
            position=position,
            policy=RetentionPolicy(
                channel=channel, conversation=conversation, keep_at_least_ms=draw(periods), erase_after_ms=draw(periods)
            ),
        )
        for position, (channel, conversation) in enumerate(draw(st.lists(scopes, max_size=8)), start=10)
    ]


@pytest.mark.parametrize("applying", COMBINATIONS, ids=lambda some: "+".join(sorted(some)) or "nothing")
def test_content_is_erased_only_when_a_rule_requires_it_and_no_stronger_rule_keeps_it(applying: set[Rule]) -> None:
    """Hold > legal minimum > erase request > retention > default, for every combination."""
    kept = Rule.HOLD in applying or Rule.LEGAL_MINIMUM in applying
    asked = Rule.ERASE_REQUEST in applying or Rule.RETENTION in applying
    rule = ruling(applying)
    assert KEEPS[rule] == (kept or not asked)
    assert rule in applying | {Rule.DEFAULT}
    assert next(each for each in Rule if each in applying | {Rule.DEFAULT}) is rule


def test_the_table_has_every_rule_in_the_order_of_its_name() -> None:
    assert list(KEEPS) == list(Rule)


@given(policies())
def test_the_last_policy_of_each_scope_is_in_force(drawn: list[PolicyInForce]) -> None:
    """Setting replaces; setting neither period takes back."""
    last = {(each.policy.channel, each.policy.conversation): each for each in drawn}
    alive = [each for each in last.values() if each.policy.keep_at_least_ms or each.policy.erase_after_ms]
    assert sorted(in_force(drawn), key=lambda each: each.position) == sorted(alive, key=lambda each: each.position)


@given(policies(), st.integers(0, 6))
def test_no_narrower_scope_shortens_a_minimum(drawn: list[PolicyInForce], age_ms: int) -> None:
    """The longest minimum of space, channel and conversation holds; the end is that of the narrowest that names one."""
    known = in_force(drawn)
    applying = [each.policy for each in known if (each.policy.channel, each.policy.conversation) in
                {(None, None), ("mail", None), ("mail", "talk")}]  # fmt: skip
    terms = terms_of(known, "mail", "talk")
    minima = [each.keep_at_least_ms for each in applying if each.keep_at_least_ms is not None]
    assert terms.keep_at_least_ms == max(minima, default=None)
    assert terms.kept_by_law(age_ms) == any(age_ms < minimum for minimum in minima)
    if terms.policy is not None:
        (setter,) = [each for each in known if each.position == terms.policy]
        assert setter.policy.keep_at_least_ms == terms.keep_at_least_ms
    by_width = sorted(applying, key=lambda each: (each.conversation is None, each.channel is None))
    ends = [each.erase_after_ms for each in by_width if each.erase_after_ms is not None]
    assert terms.erase_after_ms == (ends[0] if ends else None)
    assert terms.due(age_ms) == (bool(ends) and age_ms >= ends[0])


def test_without_policies_nothing_is_due_and_nothing_is_kept_by_law() -> None:
    assert terms_of([], "mail", "talk") == RetentionTerms()
    assert not RetentionTerms().due(10**15)
    assert not RetentionTerms().kept_by_law(0)


def test_a_turn_belongs_to_its_subjects_and_not_to_who_speaks_in_it() -> None:
    """AC-01, AC-02, AC-06: subject, acting and mounted subject; absent ones are the subject."""
    assert subjects_of(Attribution(subject="ada", speaker_id="bob", agent_id="cy", trigger="dan")) == {"ada"}
    assert subjects_of(Attribution(subject="ada", acting_subject="bob", mounted_subject="cy")) == {"ada", "bob", "cy"}
    assert subjects_of(Attribution()) == frozenset()
