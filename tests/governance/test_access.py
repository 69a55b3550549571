"""Rights only shrink."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import AccessDenied, CapabilityHidden
from muniment.governance.access import Access, Bound, Effect, SecondRight
from muniment.governance.policy import HIDES, Family, Policy, hiding_family
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue

accesses = st.builds(
    Access,
    effects=st.frozensets(st.sampled_from(Effect)),
    views=st.frozensets(st.sampled_from(View)),
    subject=st.none() | st.sampled_from(["ada", "bob", "", "a|b", "export", "no_export"]),
    policies=st.frozensets(st.sampled_from(Policy)),
    channels=st.none() | st.frozensets(st.sampled_from(["default", "a,b", "a", "b", "", '"']), max_size=3),
    operations=st.none() | st.frozensets(st.sampled_from(["a.b", "a.c", "a.*", "b.b", "b.*", "*"]), max_size=3),
)
families = st.sampled_from(Family)
second_rights = st.builds(
    SecondRight,
    effect=st.none() | st.sampled_from(Effect),
    views=st.lists(st.sampled_from(View), max_size=2).map(tuple),
)
claims = st.none() | st.sampled_from(["ada", "bob", "", "a|b"])


def allowed(access: Access, effect: Effect, view: View, claim: str | None, family: Family = Family.SYSTEM) -> bool:
    """Tell whether an operation of this effect on this view, speaking for this subject, gets through."""
    try:
        access.require(effect)
        access.require_family("group.verb", family)
        access.require_view(view)
        access.require_subjects(None, claim)
    except (AccessDenied, CapabilityHidden):
        return False
    return True


@given(accesses, accesses, st.sampled_from(Effect), st.sampled_from(View), claims, families)
def test_narrowed_rights_allow_what_both_allow_and_nothing_else(
    one: Access, other: Access, effect: Effect, view: View, claim: str | None, family: Family
) -> None:
    """Narrowing is intersection: monotone, and no chain of it gives back what one link took."""
    both = all(allowed(each, effect, view, claim, family) for each in (one, other))
    clash = None not in (one.subject, other.subject) and one.subject != other.subject
    assert allowed(one.narrowed(other), effect, view, claim, family) == (both and not clash)


@given(accesses, accesses, st.sampled_from(["a.b", "a.c", "b.b", "c.c"]), st.sampled_from(["default", "a", "a,b", "x"]))
def test_narrowed_bounds_let_through_what_both_let_through(
    one: Access, other: Access, operation: str, channel: str
) -> None:
    """Names and groups of operations intersect as the sets of operations that they stand for; so do channels."""
    both, heeds = one.narrowed(other), tuple(Bound)
    each = [access.missing(operation, heeds) is None for access in (one, other)]
    assert (both.missing(operation, heeds) is None) == all(each)
    assert both.shows_channel(channel) == (one.shows_channel(channel) and other.shows_channel(channel))
    assert set(both.bounds) == {*one.bounds, *other.bounds}


def test_an_operation_is_refused_by_each_bound_that_it_does_not_keep_to() -> None:
    both = Access(subject="ada", channels=frozenset({"desk"}))
    for access, heeds, missing in (
        (Access(), (), None),
        (both, tuple(Bound), None),
        (both, (), Bound.SUBJECT),
        (both, (Bound.SUBJECT,), Bound.CHANNELS),
        (Access(operations=frozenset()), tuple(Bound), "operations"),
        (Access(operations=frozenset({"group.*"})), (), None),
        (Access(operations=frozenset({"group.other", "verb"})), (), "operations"),
    ):
        assert access.missing("group.verb", heeds) == missing
        if missing is not None:
            with pytest.raises(AccessDenied, match=missing):
                access.require_within("group.verb", heeds)
    Access(operations=frozenset()).require_whole()
    for bounded in (both, Access(channels=frozenset())):
        with pytest.raises(AccessDenied):
            bounded.require_whole()


def test_writing_into_a_channel_takes_that_channel() -> None:
    Access(channels=frozenset({"desk"})).require_channel("desk")
    Access().require_channel("other")
    with pytest.raises(AccessDenied, match="channel"):
        Access(channels=frozenset({"desk"})).require_channel("other")


def test_two_different_subjects_leave_no_right_at_all() -> None:
    """Nobody gets through a door that two people must open as one."""
    for effect in Effect:
        with pytest.raises(AccessDenied):
            Access(subject="ada").narrowed(Access(subject="bob")).require(effect)
        Access(subject="ada").narrowed(Access(subject="ada")).require(effect)
        Access().narrowed(Access(subject="ada")).require(effect)


@given(accesses, accesses, accesses)
def test_the_order_of_narrowing_gives_and_takes_nothing(one: Access, two: Access, three: Access) -> None:
    """(a ∩ b) ∩ c allows the effects and views of a ∩ (b ∩ c); narrowing by oneself changes nothing."""
    left, right = one.narrowed(two).narrowed(three), one.narrowed(two.narrowed(three))
    assert (left.effects, left.views, left.policies) == (right.effects, right.views, right.policies)
    assert one.narrowed(one) == one
    assert one.narrowed(Access()) == one


@given(accesses, accesses)
def test_rights_are_spelt_alike_only_if_they_are_the_same(one: Access, other: Access) -> None:
    """PG-03: a cursor that is bound to the spelling of one set of rights fits no other."""
    assert (one.spelled() == other.spelled()) == (one == other)


@pytest.mark.parametrize("claim", ["eve", ""])
def test_nobody_claims_another_subject_through_a_public_entry(claim: str) -> None:
    """AC-05: subject, acting subject or mounted subject; what is absent claims nothing."""
    entry = Access(subject="ada")
    entry.require_subjects("ada", None, "ada")
    for claims_made in [(claim,), ("ada", claim), (None, None, claim)]:
        with pytest.raises(AccessDenied) as refused:
            entry.require_subjects(*claims_made)
        assert refused.value.at == "subject"
        assert "eve" not in str(refused.value)
    Access().require_subjects("eve", "bob")


def test_a_denial_names_the_effect_or_the_view() -> None:
    nothing = Access(effects=frozenset(), views=frozenset())
    with pytest.raises(AccessDenied, match="erase"):
        nothing.require(Effect.ERASE)
    with pytest.raises(AccessDenied, match="host_ui"):
        nothing.require_view(View.HOST_UI)


# --- policies ---------------------------------------------------------------------------------------------------------


def test_without_a_policy_nothing_is_hidden() -> None:
    for family in Family:
        Access().require_family("group.verb", family)
    for view in View:
        Access().require_view(view)


def test_no_export_hides_what_hands_words_out_and_nothing_else() -> None:
    """CP-02."""
    assert {family for family in Family if hiding_family(family, [Policy.NO_EXPORT])} == {Family.EXPORT}
    hidden = {each.path for each in catalogue() if hiding_family(each.terms.family, [Policy.NO_EXPORT])}
    assert hidden == {
        *("evidence.prove", "evidence.export", "spaces.export", "archives.export", "subjects.export"),
        "attachments.save",
        "memory.journal",
    }
    assert HIDES[Policy.NO_EXPORT].views == frozenset()


def test_a_debugging_replay_is_denied_while_that_for_the_interface_stays() -> None:
    """RP-14: two capabilities, and the reason is the policy."""
    desktop = Access(policies=frozenset({Policy.NO_DEBUG_REPLAY}))
    desktop.require_family("transcripts.replay", Family.REPLAY)
    for view in (View.HOST_UI, View.MODEL_CONTEXT, View.EXPORT):
        desktop.require_view(view)
    for view in (View.RAW_OWNER, View.OPERATOR_AUDIT):
        with pytest.raises(CapabilityHidden) as refused:
            desktop.require_view(view)
        assert (refused.value.at, refused.value.problem) == (view, "no_debug_replay")


@pytest.mark.parametrize("policy", Policy)
def test_no_policy_hides_what_says_what_is_hidden(policy: Policy) -> None:
    for operation in ("system.capabilities", "system.health", "system.recover", "system.close"):
        (family,) = [each.terms.family for each in catalogue() if each.path == operation]
        Access(policies=frozenset({policy})).require_family(operation, family)


def test_a_missing_right_is_reported_before_a_policy() -> None:
    access = Access(views=frozenset(), policies=frozenset(Policy))
    with pytest.raises(AccessDenied):
        access.require_view(View.RAW_OWNER)


# --- second rights ----------------------------------------------------------------------------------------------------


@given(accesses, accesses, second_rights)
def test_a_second_right_is_narrowed_as_rights_are(one: Access, other: Access, right: SecondRight) -> None:
    """What both have may still be lost: each has another one of the views that would do."""
    narrowed = one.narrowed(other)
    assert not narrowed.has(right) or (one.has(right) and other.has(right))
    if narrowed.has(right):
        narrowed.require_second("a.b", right)
    else:
        hidden = right.when is None and narrowed.hiding_right(right) is not None
        with pytest.raises(CapabilityHidden if hidden else AccessDenied):
            narrowed.require_second("a.b", right)


def test_one_of_several_views_is_enough_and_a_condition_is_left_to_the_operation() -> None:
    access = Access(effects=frozenset({Effect.READ}), views=frozenset({View.RAW_OWNER}))
    access.require_second("a.b", SecondRight(views=(View.OPERATOR_AUDIT, View.RAW_OWNER)))
    with pytest.raises(AccessDenied, match="operator_audit"):
        access.require_second("a.b", SecondRight(views=(View.OPERATOR_AUDIT,)))
    access.require_second("a.b", SecondRight(effect=Effect.ADMIN, when="scope.whole_space"))
    with pytest.raises(AccessDenied, match="admin"):
        access.require_second("a.b", SecondRight(effect=Effect.ADMIN))
