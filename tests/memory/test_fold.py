"""What is left of an item after its revisions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.changes import LifecycleRequest
from muniment.events.memory_items import (
    Freshness,
    ItemPrivacy,
    ItemRetired,
    ItemRevised,
    ItemScope,
    Retirement,
    Revision,
    RevisionAction,
    StaleHint,
)
from muniment.memory.fold import EvidenceState, ItemChange, evidence_state, folded
from muniment.memory.kinds import AGES, DAY_MS
from tests.memory.items import item

REQUEST = LifecycleRequest(reason="asked", requester="ada", requested_ms=1)


def revised(action: RevisionAction = RevisionAction.CORRECT, **changes: Any) -> ItemChange:
    body = ItemRevised(revision=Revision(**changes), request=REQUEST)
    return ItemChange(position=10, time_ms=2000, reason=action, body=body)


def retired(cause: Retirement, successor: str | None = None) -> ItemChange:
    body = ItemRetired(request=REQUEST, cause=cause, successor=successor)
    return ItemChange(position=11, time_ms=3000, reason="archive", body=body)


def test_revisions_are_applied_in_the_order_of_the_log() -> None:
    after = folded(
        item(), [revised(text="A"), revised(text="B", confidence=100), revised(RevisionAction.PIN, pinned=True)]
    )
    assert (after.text, after.confidence, after.pinned, after.revision) == ("B", 100, True, 3)
    assert after.band == "low"


def test_a_revision_changes_what_it_names_and_nothing_else() -> None:
    before = item()
    after = folded(before, [revised(privacy=ItemPrivacy.PUBLIC_RUNTIME, scope=ItemScope.WORLD)])
    assert (after.privacy, after.scope) == (ItemPrivacy.PUBLIC_RUNTIME, ItemScope.WORLD)
    assert (after.text, after.meta, after.content) == (before.text, before.meta, before.content)


@pytest.mark.parametrize("cause", [Retirement.SUPERSEDED, Retirement.INVALIDATED, Retirement.EVICTED])
def test_what_is_retired_has_its_words_and_comes_back(cause: Retirement) -> None:
    out = folded(item(), [retired(cause, "i-2")])
    assert (out.is_active, out.retired, out.successor, out.text) == (False, cause, "i-2", "Lives in Oslo")
    assert folded(item(), [retired(cause), retired(Retirement.RESTORED)]) == item()


def test_what_is_forgotten_has_no_words_left_whatever_comes_later() -> None:
    after = folded(item(), [revised(text="A"), retired(Retirement.FORGOTTEN), revised(text="B")])
    assert (after.text, after.content, after.is_active) == (None, None, False)


def test_a_confirmation_makes_an_item_fresh_and_clears_the_hint() -> None:
    hints = [revised(RevisionAction.MARK_STALE, stale=StaleHint.REVIEW_BEFORE_USE)]
    late = 400 * DAY_MS
    fresh = folded(item(), [*hints, revised(RevisionAction.REFRESH, confirmed_ms=late)])
    assert evidence_state(folded(item(), hints), 1000, is_source_gone=False) is EvidenceState.NEEDS_REVIEW
    assert (fresh.stale, fresh.age_days(late)) == (StaleHint.NONE, 0)
    assert evidence_state(fresh, late, is_source_gone=False) is EvidenceState.STABLE_FACT


@given(st.sampled_from(Freshness), st.integers(0, 1000))
def test_an_item_ages_as_fast_as_its_freshness_says(freshness: Freshness, days: int) -> None:
    state = evidence_state(item(freshness=freshness, observed_ms=0), days * DAY_MS, is_source_gone=False)
    young = EvidenceState.STABLE_FACT if freshness is Freshness.STABLE else EvidenceState.RECENT_STATE
    assert state is (young if days < AGES[freshness].aged else EvidenceState.POSSIBLY_STALE)


def test_an_item_whose_source_is_gone_needs_a_review() -> None:
    assert evidence_state(item(), 1000, is_source_gone=True) is EvidenceState.NEEDS_REVIEW
    hinted = item(stale=StaleHint.VERIFY_AGAINST_CURRENT_STATE)
    assert evidence_state(hinted, 1000, is_source_gone=False) is EvidenceState.POSSIBLY_STALE


def test_an_item_expires_at_its_time_unless_it_is_pinned() -> None:
    assert [item(expires_ms=2000).holds_at(now) for now in (1999, 2000)] == [True, False]
    assert item(expires_ms=2000, pinned=True).holds_at(2000)
    assert item().holds_at(2**50)
    assert not item(retired=Retirement.EVICTED).holds_at(0)
