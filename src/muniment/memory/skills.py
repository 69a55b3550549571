"""Runtime skills: procedures that were learned at run time, each known by its name (RS-01 to RS-09).

A skill is an item of the plane `runtime_skill`. Its name is its slot and survives, its procedure is its text; nothing
here executes it. What may be done with it is what may be done with any item, and it can be edited, disabled and
withdrawn.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.memory.fold import MemoryItem

SKILL_PREFIX = "runtime_skill__"
SKILL_NAME_CHARS_MAX = 128
_NAME = re.compile(rf"{SKILL_PREFIX}[a-z0-9]+(?:[_-][a-z0-9]+)*")


class EditSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="edit"):
    """Say a skill in other words; what is not given stays as it is."""

    procedure: Annotated[str | None, Meta(description="The steps.")] = None
    title: Annotated[str | None, Meta(description="Title, for lists.")] = None
    topic: Annotated[str | None, Meta(description="What it is about.")] = None
    summary: Annotated[str | None, Meta(description="What it is for, in short.")] = None


class EnableSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="enable"):
    """Offer a skill again."""


class DisableSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="disable"):
    """Offer a skill to nobody, and leave it as it is."""


class RetireItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="retire"):
    """Retire an item that is no longer wanted; it can be restored."""


SkillChange = EditSkill | EnableSkill | DisableSkill | RetireItem


class SkillStatus(StrEnum):
    """Whether a skill is offered."""

    ACTIVE = "active"
    DISABLED = "disabled"
    EXPIRED = "expired"
    RETIRED = "retired"


def is_skill_name(name: str) -> bool:
    """Tell whether a name is one of a runtime skill."""
    return len(name) <= SKILL_NAME_CHARS_MAX and _NAME.fullmatch(name) is not None


def skill_status(item: MemoryItem, now_ms: int) -> SkillStatus:
    """Return whether a skill is offered at a time."""
    if not item.is_active:
        return SkillStatus.RETIRED
    if item.disabled:
        return SkillStatus.DISABLED
    return SkillStatus.EXPIRED if item.has_expired(now_ms) else SkillStatus.ACTIVE
