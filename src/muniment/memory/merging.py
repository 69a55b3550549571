"""What an accepted candidate does to the item that is in its slot: the rules of a merge, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from muniment.events.memory_items import (
    Audience,
    ItemContent,
    ItemMeta,
    ItemPrivacy,
    Retirement,
    Revision,
    StaleHint,
)
from muniment.events.references import SourceEvidence
from muniment.memory.candidate import Candidate
from muniment.memory.fold import MemoryItem
from muniment.memory.likeness import likeness, normalised

ORIGIN = "origin"  # of what is no turn


class MergeOutcome(StrEnum):
    """What becomes of a candidate in its slot."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    SUPERSEDES = "supersedes"
    REFUSED = "refused"


class MergeReason(StrEnum):
    """Why."""

    FREE_SLOT = "free_slot"
    FORGOTTEN = "forgotten"
    SAME_TEXT = "same_text"
    SAME_WORDS = "same_words"
    OLDER = "older_observation"
    LESS_CONFIDENT = "lower_confidence"
    OTHER_PRIVACY = "privacy_change"
    OTHER_AUDIENCE = "audience_change"
    DISABLED = "disabled"
    NEWER = "newer_statement"
    EXPIRED = "expired"


class Incoming(Struct, frozen=True, kw_only=True):
    """What of a candidate a merge looks at, and when; `sources` is what it rests on (`rests_on`)."""

    now_ms: int
    text: str
    observed_ms: int
    confidence: int
    privacy: ItemPrivacy
    audience: Audience
    sources: frozenset[tuple[str, ...]]


class Merge(NamedTuple):
    """What a candidate does to its slot, and why; the share of words that both statements have."""

    outcome: MergeOutcome
    reason: MergeReason
    likeness: float


class MergeRule(NamedTuple):
    """When a rule applies to a candidate and the item in its slot, and what it decides."""

    applies: Callable[[Incoming, MemoryItem], bool]
    outcome: MergeOutcome
    reason: MergeReason


def sources_of(evidence: Iterable[SourceEvidence]) -> frozenset[tuple[str, ...]]:
    """Return the turns that evidence names; who names a message of a turn names the turn."""
    return frozenset((source.channel, source.conversation, source.turn) for source in evidence)


def rests_on(meta: ItemMeta) -> frozenset[tuple[str, ...]]:
    """Return what an item was learned from: turns, and a file or the like outside of the log."""
    origin = frozenset[tuple[str, ...]]() if meta.entry.origin is None else frozenset({(ORIGIN, meta.entry.origin)})
    return sources_of(meta.evidence) | origin


def was_forgotten(item: MemoryItem, sources: frozenset[tuple[str, ...]]) -> bool:
    """Tell whether an item was forgotten, and what rests on these sources rests on nothing that it did not rest on.

    What somebody attests later, without evidence, is a statement of its own.
    """
    rested = rests_on(item.meta) | sources_of(item.evidence)
    return item.retired is Retirement.FORGOTTEN and bool(sources) and sources <= rested


def says_the_same(text: str, item: MemoryItem) -> bool:
    """Tell whether an item has the same text, apart from case and blanks."""
    return item.text is not None and normalised(text) == normalised(item.text)


def _has_expired(incoming: Incoming, item: MemoryItem) -> bool:
    """Tell whether the item is shown to nobody any more, and is not newer; a disabled one keeps its slot."""
    return item.has_expired(incoming.now_ms) and not item.disabled and incoming.observed_ms >= item.stated_ms


def _has_the_same_words(incoming: Incoming, item: MemoryItem) -> bool:
    return item.text is not None and likeness(incoming.text, item.text) == 1


# In this order (LT-08, WC-05); nothing applies: the candidate takes the place of the item.
MERGE_RULES: tuple[MergeRule, ...] = (
    MergeRule(lambda _, item: not item.is_active, MergeOutcome.RECORDED, MergeReason.FREE_SLOT),
    MergeRule(_has_expired, MergeOutcome.SUPERSEDES, MergeReason.EXPIRED),
    MergeRule(lambda incoming, item: says_the_same(incoming.text, item), MergeOutcome.DUPLICATE, MergeReason.SAME_TEXT),
    MergeRule(_has_the_same_words, MergeOutcome.DUPLICATE, MergeReason.SAME_WORDS),
    MergeRule(lambda incoming, item: incoming.observed_ms < item.stated_ms, MergeOutcome.REFUSED, MergeReason.OLDER),
    MergeRule(
        lambda incoming, item: incoming.confidence < item.confidence, MergeOutcome.REFUSED, MergeReason.LESS_CONFIDENT
    ),
    MergeRule(
        lambda incoming, item: incoming.privacy is not item.privacy, MergeOutcome.REFUSED, MergeReason.OTHER_PRIVACY
    ),
    MergeRule(
        lambda incoming, item: incoming.audience != item.audience, MergeOutcome.REFUSED, MergeReason.OTHER_AUDIENCE
    ),
    MergeRule(lambda _, item: item.disabled, MergeOutcome.REFUSED, MergeReason.DISABLED),
)


def is_repeat(item: MemoryItem, candidate: Candidate, meta: ItemMeta, content: ItemContent) -> bool:
    """Tell whether an item says the same of the same subject in the same slot; one that is forgotten may have."""
    name, said = None if meta.entry.named is None else meta.entry.named.name, item.content
    placed = item.subject, item.plane, item.meta.kind, item.name
    if placed != (candidate.subject, candidate.plane, meta.kind, name):
        return False
    is_same_topic = said is None or name is not None or said.topic == content.topic
    return said is None or (is_same_topic and normalised(said.text) == normalised(content.text))


def told_again(item: MemoryItem, meta: ItemMeta, content: ItemContent) -> Revision | None:
    """Return what makes of an item one that was told like this, or None where it is that."""
    told: dict[str, Any] = {
        "text": content.text,
        "confidence": meta.confidence,
        "privacy": meta.privacy,
        "scope": meta.scope,
        "stale": StaleHint.NONE,
        "pinned": meta.pinned,
        "audience": meta.entry.audience,
        "evidence": meta.evidence,
    }
    differing = {name: value for name, value in told.items() if getattr(item, name) != value}
    return Revision(**differing) if differing else None


def in_use(history: Iterable[MemoryItem]) -> MemoryItem | None:
    """Return the item of a slot that is in use, if there is one."""
    return next((item for item in history if item.is_active), None)


def merged(incoming: Incoming, slot: Iterable[MemoryItem]) -> Merge:
    """Return what a candidate does to its slot, given the items that were in it, the newest first."""
    history = list(slot)
    if not history:
        return Merge(MergeOutcome.RECORDED, MergeReason.FREE_SLOT, 0.0)
    present = in_use(history) or history[0]
    alike = 0.0 if present.text is None else likeness(incoming.text, present.text)
    if any(was_forgotten(item, incoming.sources) for item in history):
        return Merge(MergeOutcome.REFUSED, MergeReason.FORGOTTEN, alike)
    for rule in MERGE_RULES:
        if rule.applies(incoming, present):
            return Merge(rule.outcome, rule.reason, alike)
    return Merge(MergeOutcome.SUPERSEDES, MergeReason.NEWER, alike)
