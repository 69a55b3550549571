"""What an amendment makes of an item, and when it changes nothing."""

from __future__ import annotations

import pytest

from muniment.events.memory_items import (
    Audience,
    InvalidityGround,
    ItemPrivacy,
    ItemScope,
    MemoryPlane,
    Retirement,
    Revision,
    StaleHint,
)
from muniment.memory.amendment import (
    Amendment,
    AmendRefusal,
    AnyChange,
    ChangeItemAudience,
    ChangeItemPrivacy,
    ChangeItemScope,
    CorrectItem,
    InvalidateItem,
    MarkItemStale,
    PinItem,
    RefreshItem,
    RestoreItem,
    SupersedeItem,
    amendment_name,
    new_words,
    refusal_of,
    revision_of,
)
from muniment.memory.candidate import ItemAudience
from muniment.memory.skills import EditSkill
from tests.memory.items import item

WRONG = InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=[])
REVISIONS: list[tuple[Amendment, Revision | None]] = [
    (CorrectItem(text="A", confidence=0.25), Revision(text="A", confidence=250)),
    (CorrectItem(), Revision()),
    (RefreshItem(), Revision(confirmed_ms=7)),
    (MarkItemStale(), Revision(stale=StaleHint.REVIEW_BEFORE_USE)),
    (ChangeItemScope(scope=ItemScope.CHAT), Revision(scope=ItemScope.CHAT)),
    (ChangeItemPrivacy(privacy=ItemPrivacy.PUBLIC_RUNTIME), Revision(privacy=ItemPrivacy.PUBLIC_RUNTIME)),
    (ChangeItemAudience(audience=ItemAudience(only=["cy", "bob"])), Revision(audience=Audience(only=["bob", "cy"]))),
    (PinItem(), Revision(pinned=True)),
    (SupersedeItem(text="A"), None),
    (WRONG, None),
    (RestoreItem(), None),
]


@pytest.mark.parametrize(("amendment", "revision"), REVISIONS)
def test_an_amendment_says_what_changes(amendment: Amendment, revision: Revision | None) -> None:
    assert revision_of(amendment, 7) == revision
    assert amendment_name(amendment).replace("_", "") in type(amendment).__name__.lower().replace("item", "")
    assert new_words(amendment).get("text") == getattr(amendment, "text", None)


IDLE: list[Amendment] = [
    CorrectItem(),
    CorrectItem(text="Lives in Oslo", confidence=0.9),
    MarkItemStale(hint=StaleHint.NONE),
    ChangeItemScope(scope=ItemScope.USER),
    ChangeItemPrivacy(privacy=ItemPrivacy.SHARED_WITH_SUBJECT),
    ChangeItemAudience(audience=ItemAudience()),
    PinItem(pinned=False),
    SupersedeItem(text=" lives in OSLO "),
]


@pytest.mark.parametrize("amendment", IDLE)
def test_what_changes_nothing_is_told(amendment: Amendment) -> None:
    assert refusal_of(item(), amendment) is AmendRefusal.NOTHING_CHANGED


@pytest.mark.parametrize("amendment", [each for each, _ in REVISIONS if each not in IDLE])
def test_only_an_item_in_use_is_amended_and_only_a_retired_one_restored(amendment: Amendment) -> None:
    restores = isinstance(amendment, RestoreItem)
    assert refusal_of(item(), amendment) is (AmendRefusal.NOTHING_CHANGED if restores else None)
    out = item(retired=Retirement.SUPERSEDED)
    assert refusal_of(out, amendment) is (None if restores else AmendRefusal.NOT_IN_USE)
    gone = item(None, retired=Retirement.FORGOTTEN)
    assert refusal_of(gone, amendment) is AmendRefusal.TARGET_NOT_FOUND


@pytest.mark.parametrize("privacy", [ItemPrivacy.PRIVATE_GARDEN, ItemPrivacy.SOUL_PRIVATE])
def test_nothing_is_moved_to_a_private_plane(privacy: ItemPrivacy) -> None:
    assert refusal_of(item(), ChangeItemPrivacy(privacy=privacy)) is AmendRefusal.PRIVATE_TARGET


def test_what_is_shared_and_in_use_may_stand_in_a_prompt() -> None:
    assert item().is_in_prompts
    assert not item(retired=Retirement.EVICTED).is_in_prompts
    assert not item(privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC).is_in_prompts


STEPS, DUMP = "Go to the lift.\nPress the button.", "- apples\n- bread\n- cheese\n- dates"


@pytest.mark.parametrize(
    ("plane", "amendment", "refusal"),
    [
        (MemoryPlane.RUNTIME_SKILL, EditSkill(procedure="Go."), AmendRefusal.WEAK_SKILL),
        (MemoryPlane.RUNTIME_SKILL, CorrectItem(text="Go."), AmendRefusal.WEAK_SKILL),
        (MemoryPlane.RUNTIME_SKILL, SupersedeItem(text="Go."), AmendRefusal.WEAK_SKILL),
        (MemoryPlane.RUNTIME_SKILL, EditSkill(procedure=STEPS), None),
        (MemoryPlane.RUNTIME_SKILL, EditSkill(title="Go."), None),
        (MemoryPlane.RUNTIME_SKILL, EditSkill(procedure=DUMP), None),
        (MemoryPlane.LONG_TERM, CorrectItem(text=DUMP), AmendRefusal.FORMATTED_DUMP),
        (MemoryPlane.SHARED_FACT, SupersedeItem(text=DUMP), AmendRefusal.FORMATTED_DUMP),
        (MemoryPlane.LONG_TERM, CorrectItem(text="Go."), None),
        (MemoryPlane.LONG_TERM, CorrectItem(confidence=0.1), None),
        (MemoryPlane.SUMMARY, CorrectItem(text=DUMP), None),
    ],
)
def test_new_words_have_the_form_that_a_candidate_has(
    plane: MemoryPlane, amendment: AnyChange, refusal: AmendRefusal | None
) -> None:
    assert refusal_of(item(plane=plane), amendment) is refusal
