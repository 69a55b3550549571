"""Which words of memory go together, as tables: planes and kinds, confidence and its bands, how items age.

guide/memory.md is generated from the tables.
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import NamedTuple

from muniment.events.memory_items import Freshness, ItemKind, ItemPrivacy, MemoryPlane
from muniment.events.references import Plane

WHOLE = 1000  # confidence and importance are kept in thousandths
DAY_MS = 24 * 60 * 60 * 1000

_ABOUT_PEOPLE_AND_WORK = frozenset({
    ItemKind.PREFERENCE,
    ItemKind.PROFILE,
    ItemKind.RELATIONSHIP,
    ItemKind.PROJECT,
    ItemKind.TASK,
    ItemKind.CONSTRAINT,
    ItemKind.FACT,
    ItemKind.DECISION,
    ItemKind.CORRECTION,
})  # fmt: skip

# plane -> the kinds of its items
KINDS: dict[MemoryPlane, frozenset[ItemKind]] = {
    MemoryPlane.LONG_TERM: _ABOUT_PEOPLE_AND_WORK,
    MemoryPlane.SHARED_FACT: _ABOUT_PEOPLE_AND_WORK,
    MemoryPlane.RUNTIME_SKILL: frozenset({ItemKind.PROCEDURE}),
    MemoryPlane.TOOL_EXPERIENCE: frozenset({ItemKind.EXPERIENCE}),
    MemoryPlane.SUMMARY: frozenset({ItemKind.SUMMARY}),
    MemoryPlane.DIARY: frozenset({ItemKind.DIARY}),
}

# planes whose slots are the names of their items, not the topics
NAMED_PLANES = frozenset({MemoryPlane.RUNTIME_SKILL, MemoryPlane.TOOL_EXPERIENCE})

# what other systems call a kind -> ours
OTHER_NAMES: dict[str, ItemKind] = {
    "knowledge": ItemKind.FACT,
    "context": ItemKind.PROJECT,
    "behaviour": ItemKind.PROFILE,
    "behavior": ItemKind.PROFILE,
    "goal": ItemKind.TASK,
    "rule": ItemKind.CONSTRAINT,
    "fix": ItemKind.FACT,
    "todo": ItemKind.TASK,
}

# plane -> the plane of the derived references that link its items to turns
REFERENCES: dict[MemoryPlane, Plane] = {
    MemoryPlane.LONG_TERM: Plane.LONG_TERM,
    MemoryPlane.SHARED_FACT: Plane.SHARED_FACT,
    MemoryPlane.RUNTIME_SKILL: Plane.PROCEDURAL_SKILL,
    MemoryPlane.TOOL_EXPERIENCE: Plane.TASK_LEARNING,
    MemoryPlane.SUMMARY: Plane.ARCHIVE_EVIDENCE,
    MemoryPlane.DIARY: Plane.ARCHIVE_EVIDENCE,
}


class LinkedPlane(StrEnum):
    """The plane of an item that a reference links, as reports about turns name it: as memory does, where it can."""

    LONG_TERM = "long_term"
    SHARED_FACT = "shared_fact"
    RUNTIME_SKILL = "runtime_skill"
    TOOL_EXPERIENCE = "tool_experience"
    ARCHIVE_EVIDENCE = "archive_evidence"
    PRIVATE_GARDEN = "private_garden"
    SOUL_CANDIDATE_HANDOFF = "soul_candidate_handoff"


# plane of a reference -> the word that reports show for it: that of the one plane whose items it links, or its own
LINKED: dict[Plane, LinkedPlane] = {
    linked: LinkedPlane(planes[0] if len(planes) == 1 else linked)
    for linked in Plane
    for planes in [[plane for plane, reference in REFERENCES.items() if reference is linked]]
}

# planes whose items tell again what turns say: their words are withheld with those of any of the turns (LC-13)
RETELLING = frozenset({MemoryPlane.SUMMARY, MemoryPlane.DIARY})

# privacies of items that may stand in a prompt (LT-06)
IN_PROMPTS = frozenset({ItemPrivacy.PUBLIC_RUNTIME, ItemPrivacy.SHARED_WITH_SUBJECT})


class ConfidenceBand(StrEnum):
    """A confidence in words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Ageing(NamedTuple):
    """After how many days an item counts as aged, and as stale."""

    aged: int
    stale: int


# LT-07
AGES: dict[Freshness, Ageing] = {
    Freshness.STABLE: Ageing(90, 365),
    Freshness.DYNAMIC: Ageing(14, 90),
    Freshness.VOLATILE: Ageing(3, 21),
}
MEDIUM_FROM, HIGH_FROM = 600, 800


def kind_named(name: str) -> ItemKind | None:
    """Return the kind of a name, ours or that of another system; None for an unknown one."""
    return OTHER_NAMES.get(name) or (ItemKind(name) if name in set(ItemKind) else None)


def band_of(confidence: int) -> ConfidenceBand:
    """Return the band of a confidence in thousandths."""
    if confidence < MEDIUM_FROM:
        return ConfidenceBand.LOW
    return ConfidenceBand.MEDIUM if confidence < HIGH_FROM else ConfidenceBand.HIGH


def slot_topic(topic: str) -> str:
    """Return a topic as slots compare it: without case, and with `_`, `-` and blanks alike."""
    folded = unicodedata.normalize("NFKC", topic).casefold()
    return " ".join(folded.replace("_", " ").replace("-", " ").split())
