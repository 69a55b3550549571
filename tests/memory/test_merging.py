"""What a candidate does to its slot: the rules of a merge, and laws that hold for any statements."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.memory_items import Audience, ItemPrivacy, Retirement
from muniment.memory.fold import MemoryItem
from muniment.memory.likeness import likeness
from muniment.memory.merging import Incoming, MergeOutcome, MergeReason, merged, sources_of
from tests.memory.items import item, source, statements

OSLO = "Lives in Oslo"
FORGOTTEN: dict[str, Any] = {
    "text": None,
    "retired": Retirement.FORGOTTEN,
    "evidence": [source("turn-1"), source("turn-2")],
}


def incoming(text: str = "Lives in Rome", *sources: str, **more: Any) -> Incoming:
    """Return what a merge looks at; other members by name."""
    fields: dict[str, Any] = {"now_ms": 2000, "observed_ms": 1000, "confidence": 900, "audience": Audience()}
    fields |= {"privacy": ItemPrivacy.SHARED_WITH_SUBJECT}
    return Incoming(text=text, sources=sources_of(source(turn) for turn in sources), **fields | more)


def test_a_free_slot_takes_any_statement() -> None:
    assert merged(incoming(), []).reason is MergeReason.FREE_SLOT


MERGES: list[tuple[Incoming, MemoryItem, MergeOutcome, MergeReason]] = [
    (incoming(), item(), MergeOutcome.SUPERSEDES, MergeReason.NEWER),
    (incoming("  lives IN oslo"), item(), MergeOutcome.DUPLICATE, MergeReason.SAME_TEXT),
    (incoming("In Oslo, lives!"), item(), MergeOutcome.DUPLICATE, MergeReason.SAME_WORDS),
    (incoming(observed_ms=999, confidence=1), item(), MergeOutcome.REFUSED, MergeReason.OLDER),
    (incoming(confidence=899), item(), MergeOutcome.REFUSED, MergeReason.LESS_CONFIDENT),
    (incoming(privacy=ItemPrivacy.PUBLIC_RUNTIME), item(), MergeOutcome.REFUSED, MergeReason.OTHER_PRIVACY),
    (incoming(audience=Audience(only=["bob"])), item(), MergeOutcome.REFUSED, MergeReason.OTHER_AUDIENCE),
    (incoming("Lives in Oslo #2"), item(), MergeOutcome.SUPERSEDES, MergeReason.NEWER),
    (incoming("Likes C++"), item("Likes C"), MergeOutcome.SUPERSEDES, MergeReason.NEWER),
    (incoming("Likes C++"), item("Likes C+"), MergeOutcome.SUPERSEDES, MergeReason.NEWER),
    (incoming("Owes -5"), item("Owes 5"), MergeOutcome.SUPERSEDES, MergeReason.NEWER),
    (incoming("Is well-known"), item("Is well known."), MergeOutcome.DUPLICATE, MergeReason.SAME_WORDS),
    (incoming(observed_ms=1499), item(confirmed_ms=1500), MergeOutcome.REFUSED, MergeReason.OLDER),
    (incoming(observed_ms=1500), item(confirmed_ms=1500), MergeOutcome.SUPERSEDES, MergeReason.NEWER),
    (incoming(observed_ms=1499), item(corrected_ms=1500), MergeOutcome.REFUSED, MergeReason.OLDER),
    (incoming(OSLO, confidence=1), item(expires_ms=2000), MergeOutcome.SUPERSEDES, MergeReason.EXPIRED),
    (incoming(observed_ms=999), item(expires_ms=2000), MergeOutcome.REFUSED, MergeReason.OLDER),
    (incoming(OSLO), item(expires_ms=2001), MergeOutcome.DUPLICATE, MergeReason.SAME_TEXT),
    (incoming(OSLO), item(expires_ms=2000, pinned=True), MergeOutcome.DUPLICATE, MergeReason.SAME_TEXT),
    (incoming(), item(expires_ms=2000, disabled=True), MergeOutcome.REFUSED, MergeReason.DISABLED),
    (incoming(), item(retired=Retirement.UNDONE), MergeOutcome.RECORDED, MergeReason.FREE_SLOT),
    (incoming(), item(retired=Retirement.INVALIDATED), MergeOutcome.RECORDED, MergeReason.FREE_SLOT),
    (incoming("x", "turn-1"), item(**FORGOTTEN), MergeOutcome.REFUSED, MergeReason.FORGOTTEN),
    (incoming("x", "turn-2", "turn-1"), item(**FORGOTTEN), MergeOutcome.REFUSED, MergeReason.FORGOTTEN),
    (incoming("x", "turn-3"), item(**FORGOTTEN), MergeOutcome.RECORDED, MergeReason.FREE_SLOT),
    (incoming("x"), item(**FORGOTTEN), MergeOutcome.RECORDED, MergeReason.FREE_SLOT),
]


@pytest.mark.parametrize(("new", "present", "outcome", "reason"), MERGES)
def test_the_first_rule_of_a_merge_decides(
    new: Incoming, present: MemoryItem, outcome: MergeOutcome, reason: MergeReason
) -> None:
    assert merged(new, [present])[:2] == (outcome, reason)


def test_what_was_forgotten_stays_forgotten_when_something_else_took_its_slot() -> None:
    history = [item("Lives in Bern", item="i-2"), item(**FORGOTTEN)]
    assert merged(incoming(OSLO, "turn-1"), history).reason is MergeReason.FORGOTTEN


def test_an_older_item_that_was_restored_is_the_one_in_the_slot() -> None:
    history = [item("Lives in Rome", item="i-2", retired=Retirement.INVALIDATED), item()]
    assert merged(incoming(OSLO), history).reason is MergeReason.SAME_TEXT


@given(statements, st.integers(0, 2000), st.integers(0, 1000))
def test_merging_twice_is_merging_once(text: str, observed_ms: int, confidence: int) -> None:
    """What was accepted changes nothing when it comes again."""
    new = incoming(text, observed_ms=observed_ms, confidence=confidence)
    if merged(new, [item()]).outcome is MergeOutcome.SUPERSEDES:
        after = item(text, observed_ms=observed_ms, confidence=confidence)
        assert merged(new, [after, item(retired=Retirement.SUPERSEDED)]).outcome is MergeOutcome.DUPLICATE


@given(statements, statements)
def test_likeness_is_the_same_both_ways_and_whole_for_the_same(one: str, other: str) -> None:
    assert 0 <= likeness(one, other) == likeness(other, one) <= 1
    assert likeness(one, one) == likeness("!", "!") == 1


def test_one_word_of_many_makes_another_statement() -> None:
    """However alike two statements are, a word that differs may be the one that matters."""
    long = "on weekdays she takes the early train to work because the later one is always late and full"
    assert likeness(long, long.replace("early", "night")) > 0.8
    assert merged(incoming(long.replace("early", "night")), [item(long)]).outcome is MergeOutcome.SUPERSEDES
