"""Rights only shrink."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import AccessDenied
from muniment.governance.access import Access, Effect
from muniment.governance.views import View

accesses = st.builds(
    Access,
    effects=st.frozensets(st.sampled_from(Effect)),
    views=st.frozensets(st.sampled_from(View)),
    subject=st.none() | st.sampled_from(["ada", "bob", "", "a|b", "export"]),
)
claims = st.none() | st.sampled_from(["ada", "bob", "", "a|b"])


def allowed(access: Access, effect: Effect, view: View, claim: str | None) -> bool:
    """Tell whether an operation of this effect on this view, speaking for this subject, gets through."""
    try:
        access.require(effect)
        access.require_view(view)
        access.require_subjects(None, claim)
    except AccessDenied:
        return False
    return True


@given(accesses, accesses, st.sampled_from(Effect), st.sampled_from(View), claims)
def test_narrowed_rights_allow_what_both_allow_and_nothing_else(
    one: Access, other: Access, effect: Effect, view: View, claim: str | None
) -> None:
    """Narrowing is intersection: monotone, and no chain of it gives back what one link took."""
    both = allowed(one, effect, view, claim) and allowed(other, effect, view, claim)
    clash = None not in (one.subject, other.subject) and one.subject != other.subject
    assert allowed(one.narrowed(other), effect, view, claim) == (both and not clash)


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
    assert (left.effects, left.views) == (right.effects, right.views)
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
