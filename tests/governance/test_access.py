"""Rights only shrink."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import AccessDenied, CapabilityHidden
from muniment.governance.access import Access, Effect
from muniment.governance.policy import FAMILIES, HIDES, Policy, hiding_operation
from muniment.governance.views import View

accesses = st.builds(
    Access,
    effects=st.frozensets(st.sampled_from(Effect)),
    views=st.frozensets(st.sampled_from(View)),
    subject=st.none() | st.sampled_from(["ada", "bob", "", "a|b", "export", "no_export"]),
    policies=st.frozensets(st.sampled_from(Policy)),
)
operations = st.sampled_from([*FAMILIES, "memory.unheard_of"])
claims = st.none() | st.sampled_from(["ada", "bob", "", "a|b"])


def allowed(access: Access, effect: Effect, view: View, claim: str | None, operation: str = "system.health") -> bool:
    """Tell whether an operation of this effect on this view, speaking for this subject, gets through."""
    try:
        access.require(effect)
        access.require_operation(operation)
        access.require_view(view)
        access.require_subjects(None, claim)
    except (AccessDenied, CapabilityHidden):
        return False
    return True


@given(accesses, accesses, st.sampled_from(Effect), st.sampled_from(View), claims, operations)
def test_narrowed_rights_allow_what_both_allow_and_nothing_else(
    one: Access, other: Access, effect: Effect, view: View, claim: str | None, operation: str
) -> None:
    """Narrowing is intersection: monotone, and no chain of it gives back what one link took."""
    both = all(allowed(each, effect, view, claim, operation) for each in (one, other))
    clash = None not in (one.subject, other.subject) and one.subject != other.subject
    assert allowed(one.narrowed(other), effect, view, claim, operation) == (both and not clash)


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
    for operation in [*FAMILIES, "memory.unheard_of"]:
        Access().require_operation(operation)
    for view in View:
        Access().require_view(view)


@pytest.mark.parametrize("policy", Policy)
def test_an_operation_that_no_family_lists_is_hidden_by_every_policy(policy: Policy) -> None:
    """CP-01: what nobody thought of fails closed."""
    with pytest.raises(CapabilityHidden) as refused:
        Access(policies=frozenset({policy})).require_operation("memory.unheard_of")
    assert (refused.value.at, refused.value.problem) == ("memory.unheard_of", policy)


def test_no_export_hides_the_operations_that_export_content_and_nothing_else() -> None:
    """CP-02."""
    hidden = {each for each in FAMILIES if hiding_operation(each, [Policy.NO_EXPORT])}
    assert hidden == {"evidence.prove", "evidence.export", "spaces.export", "archives.export"}
    assert HIDES[Policy.NO_EXPORT].views == frozenset()


def test_a_debugging_replay_is_denied_while_that_for_the_interface_stays() -> None:
    """RP-14: two capabilities, and the reason is the policy."""
    desktop = Access(policies=frozenset({Policy.NO_DEBUG_REPLAY}))
    desktop.require_operation("transcripts.replay")
    for view in (View.HOST_UI, View.MODEL_CONTEXT, View.EXPORT):
        desktop.require_view(view)
    for view in (View.RAW_OWNER, View.OPERATOR_AUDIT):
        with pytest.raises(CapabilityHidden) as refused:
            desktop.require_view(view)
        assert (refused.value.at, refused.value.problem) == (view, "no_debug_replay")


@pytest.mark.parametrize("policy", Policy)
def test_no_policy_hides_what_says_what_is_hidden(policy: Policy) -> None:
    for operation in ("system.capabilities", "system.health", "system.recover", "system.close"):
        Access(policies=frozenset({policy})).require_operation(operation)


def test_a_missing_right_is_reported_before_a_policy() -> None:
    access = Access(views=frozenset(), policies=frozenset(Policy))
    with pytest.raises(AccessDenied):
        access.require_view(View.RAW_OWNER)
