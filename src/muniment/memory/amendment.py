"""Amendments: what somebody may change of an item, what that makes of it, and when nothing changes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from muniment.events.memory_items import (
    InvalidityGround,
    ItemPrivacy,
    ItemScope,
    MemoryPlane,
    Retirement,
    Revision,
    StaleHint,
)
from muniment.memory.candidate import ItemAudience, ItemSource, Share
from muniment.memory.fold import MemoryItem
from muniment.memory.governance_rules import STATEMENTS, is_formatted, is_weak_procedure
from muniment.memory.kinds import WHOLE
from muniment.memory.likeness import normalised
from muniment.memory.skills import DisableSkill, EditSkill, EnableSkill, RetireItem, SkillChange


class CorrectItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="correct"):
    """Say it in other words, or with another confidence. Its privacy is changed by `change_privacy` alone."""

    text: Annotated[str | None, Meta(description="The statement.")] = None
    confidence: Annotated[Share | None, Meta(description="From 0 to 1.")] = None


class RefreshItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="refresh"):
    """Confirm that it is still true; it is as fresh as if it were observed now."""


class MarkItemStale(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="mark_stale"
):
    """Tell readers what to do before they rely on it."""

    hint: Annotated[StaleHint, Meta(description="What to do.")] = StaleHint.REVIEW_BEFORE_USE


class ChangeItemScope(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="change_scope"
):
    """Let it hold for something else."""

    scope: Annotated[ItemScope, Meta(description="What it holds for.")]


class ChangeItemPrivacy(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="change_privacy"
):
    """Let others see it, or fewer."""

    privacy: Annotated[ItemPrivacy, Meta(description="Who may see it.")]


class ChangeItemAudience(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="change_audience"
):
    """Let other subjects know of a shared fact, or fewer."""

    audience: Annotated[ItemAudience, Meta(description="Which subjects may know of it.")]


class PinItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="pin"):
    """Let it outlive whatever evicts items, or no longer."""

    pinned: Annotated[bool, Meta(description="Whether it does.")] = True


class SupersedeItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="supersede"):
    """Put a new item in its slot and retire it, in one step."""

    text: Annotated[str, Meta(description="The statement of the new item.")]
    id: Annotated[str | None, Meta(description="Id of the new item. Without it one is drawn.")] = None
    confidence: Annotated[Share | None, Meta(description="From 0 to 1. Without it: high.")] = None
    evidence: Annotated[list[ItemSource], Meta(description="Turns that it rests on.")] = []


class InvalidateItem(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="invalidate"
):
    """Retire it as wrong, on a ground and with evidence."""

    ground: Annotated[InvalidityGround, Meta(description="On what ground.")]
    evidence: Annotated[list[ItemSource], Meta(description="Turns that show it.")]


class RestoreItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="restore"):
    """Use a retired item again, unless another one is in its slot."""


Amendment = (
    CorrectItem
    | RefreshItem
    | MarkItemStale
    | ChangeItemScope
    | ChangeItemPrivacy
    | ChangeItemAudience
    | PinItem
    | SupersedeItem
    | InvalidateItem
    | RestoreItem
)

PRIVATE = frozenset({ItemPrivacy.PRIVATE_GARDEN, ItemPrivacy.SOUL_PRIVATE})


class AmendRefusal(StrEnum):
    """Why an amendment changes nothing."""

    TARGET_NOT_FOUND = "target_not_found"
    NOT_IN_USE = "not_in_use"
    NOTHING_CHANGED = "nothing_changed"
    PRIVATE_TARGET = "private_target"
    SLOT_TAKEN = "slot_taken"
    SOURCE_HIDDEN = "source_hidden"
    NEEDS_FEEDBACK = "needs_feedback"
    WEAK_SKILL = "weak_skill"
    FORMATTED_DUMP = "formatted_dump"


AnyChange = Amendment | SkillChange


def amendment_name(amendment: AnyChange) -> str:
    """Return the word for an amendment."""
    return str(amendment.__struct_config__.tag)


def new_words(amendment: AnyChange) -> dict[str, str]:
    """Return the words that an amendment brings, by the field that they are in."""
    match amendment:
        case CorrectItem() | SupersedeItem():
            return {} if amendment.text is None else {"text": amendment.text}
        case EditSkill():
            return {name: text for name, text in asdict(amendment).items() if text is not None}
        case _:
            return {}


def retirement_of(amendment: AnyChange) -> Retirement | None:
    """Return what becomes of an item that goes out of use or comes back; None for any other change."""
    match amendment:
        case RestoreItem():
            return Retirement.RESTORED
        case InvalidateItem():
            return Retirement.INVALIDATED
        case RetireItem():
            return Retirement.WITHDRAWN
        case _:
            return None


def revision_of(amendment: AnyChange, now_ms: int) -> Revision | None:
    """Return what changes of an item; None for an amendment that retires, replaces or restores it."""
    match amendment:
        case CorrectItem():
            share = amendment.confidence
            return Revision(text=amendment.text, confidence=None if share is None else round(share * WHOLE))
        case RefreshItem():
            return Revision(confirmed_ms=now_ms)
        case MarkItemStale():
            return Revision(stale=amendment.hint)
        case ChangeItemScope():
            return Revision(scope=amendment.scope)
        case ChangeItemPrivacy():
            return Revision(privacy=amendment.privacy)
        case ChangeItemAudience():
            return Revision(audience=amendment.audience.kept())
        case PinItem():
            return Revision(pinned=amendment.pinned)
        case EditSkill():
            text, title = amendment.procedure, amendment.title
            return Revision(text=text, title=title, topic=amendment.topic, summary=amendment.summary)
        case EnableSkill():
            return Revision(disabled=False)
        case DisableSkill():
            return Revision(disabled=True)
        case _:
            return None


def refusal_of(item: MemoryItem, amendment: AnyChange) -> AmendRefusal | None:
    """Return why an amendment of an item changes nothing, or None; whether its slot is free is not looked at."""
    if item.text is None or not item.is_item:
        return AmendRefusal.TARGET_NOT_FOUND
    if isinstance(amendment, RestoreItem):
        return AmendRefusal.NOTHING_CHANGED if item.is_active else None
    if isinstance(amendment, RetireItem) and not item.is_active:
        return AmendRefusal.NOTHING_CHANGED
    if not item.is_active:
        return AmendRefusal.NOT_IN_USE
    if isinstance(amendment, ChangeItemPrivacy) and amendment.privacy in PRIVATE:
        return AmendRefusal.PRIVATE_TARGET
    if isinstance(amendment, SupersedeItem) and item.plane is MemoryPlane.TOOL_EXPERIENCE:
        return AmendRefusal.NEEDS_FEEDBACK
    if (flaw := _flaw_of_words(item.plane, amendment)) is not None:
        return flaw
    if isinstance(amendment, SupersedeItem):
        return AmendRefusal.NOTHING_CHANGED if normalised(amendment.text) == normalised(item.text) else None
    revision = None if isinstance(amendment, RefreshItem) else revision_of(amendment, 0)
    return AmendRefusal.NOTHING_CHANGED if revision is not None and _is_idle(item, revision) else None


def _flaw_of_words(plane: MemoryPlane, amendment: AnyChange) -> AmendRefusal | None:
    """Return why new words are refused, as they are of a candidate: a skill without steps, a dump for a statement."""
    words = new_words(amendment)
    text = words.get("procedure", words.get("text"))
    if text is None:
        return None
    if plane is MemoryPlane.RUNTIME_SKILL and is_weak_procedure(text):
        return AmendRefusal.WEAK_SKILL
    return AmendRefusal.FORMATTED_DUMP if plane in STATEMENTS and is_formatted(text) else None


def _is_idle(item: MemoryItem, revision: Revision) -> bool:
    """Tell whether a revision would change nothing."""
    told = {name: value for name, value in asdict(revision).items() if value is not None}
    said = {} if item.content is None else asdict(item.content) | {"text": item.text}
    return all(said[name] == value if name in said else getattr(item, name) == value for name, value in told.items())
