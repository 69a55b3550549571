"""What is left of an item after its revisions: the fold of `item.recorded` and of the events that target it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.memory_items import (
    Audience,
    EntryRole,
    Freshness,
    ItemContent,
    ItemMeta,
    ItemPrivacy,
    ItemRetired,
    ItemRevised,
    ItemScope,
    MemoryPlane,
    Observations,
    Retirement,
    RevisionAction,
    StaleHint,
)
from muniment.events.references import SourceEvidence
from muniment.memory.kinds import AGES, DAY_MS, IN_PROMPTS, Ageing, ConfidenceBand, band_of


class EvidenceState(StrEnum):
    """How far a reader may rely on an item (LT-09)."""

    STABLE_FACT = "stable_fact"
    RECENT_STATE = "recent_state"
    POSSIBLY_STALE = "possibly_stale"
    NEEDS_REVIEW = "needs_review"


class ItemChange(Struct, frozen=True, kw_only=True):
    """An event that targets an item: its place, its time, what its header calls it, and its body."""

    position: int
    time_ms: int
    reason: str
    body: ItemRevised | ItemRetired

    @property
    def run(self) -> str | None:
        """The run of a writer that made it, if any did."""
        return self.body.run


class MemoryItem(Struct, frozen=True, kw_only=True):
    """An item as it is: `number` in its notebook, `position` in the log, `revision` from 0.

    `text` is None where the words are destroyed. `retired` says why the item is out of use, None that it is in use.
    `latest_evidence` is what a revision put in the place of the evidence that it was recorded with, `corrected_ms` when
    somebody last said it in other words.
    """

    subject: str
    plane: MemoryPlane
    number: int
    position: int
    recorded_ms: int
    meta: ItemMeta
    content: ItemContent | None
    text: str | None
    confidence: int
    privacy: ItemPrivacy
    scope: ItemScope
    stale: StaleHint = StaleHint.NONE
    pinned: bool = False
    confirmed_ms: int = 0
    corrected_ms: int = 0
    revision: int = 0
    retired: Retirement | None = None
    successor: str | None = None
    audience: Audience = Audience()
    disabled: bool = False
    latest_evidence: list[SourceEvidence] | None = None
    observations: Observations | None = None

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.meta.item

    @property
    def name(self) -> str | None:
        """The name that is the slot of the item, if it has one of its own."""
        return None if self.meta.entry.named is None else self.meta.entry.named.name

    @property
    def band(self) -> ConfidenceBand:
        """The confidence in words."""
        return band_of(self.confidence)

    @property
    def is_item(self) -> bool:
        """Whether this is an item, and not a proposal or the words of a policy, which are never in use."""
        return self.meta.entry.role is EntryRole.ITEM

    @property
    def evidence(self) -> list[SourceEvidence]:
        """The turns that the item rests on."""
        return self.meta.evidence if self.latest_evidence is None else self.latest_evidence

    @property
    def is_active(self) -> bool:
        """Whether the item is in use."""
        return self.retired is None

    @property
    def is_in_prompts(self) -> bool:
        """Whether prompts may hold the item as it is: no disabled skill (RS-06), and experience as hints alone."""
        is_offered = not self.disabled and self.plane is not MemoryPlane.TOOL_EXPERIENCE
        return self.is_active and is_offered and self.privacy in IN_PROMPTS

    @property
    def known_true_ms(self) -> int:
        """When the item was last known to be true."""
        return max(self.meta.observed_ms, self.confirmed_ms)

    @property
    def stated_ms(self) -> int:
        """When what the item says was last observed, confirmed or corrected: what was observed before is older."""
        return max(self.known_true_ms, self.corrected_ms)

    def age_days(self, now_ms: int) -> int:
        """Return how many days ago the item was last known to be true."""
        return max(0, now_ms - self.known_true_ms) // DAY_MS

    def has_expired(self, now_ms: int) -> bool:
        """Tell whether an item has ended to be true at a time; one that is pinned outlives its expiry."""
        return 0 < self.meta.expires_ms <= now_ms and not self.pinned

    def holds_at(self, now_ms: int) -> bool:
        """Tell whether an item is in use at a time."""
        return self.retired is None and not self.disabled and not self.has_expired(now_ms)


def folded(item: MemoryItem, changes: Iterable[ItemChange]) -> MemoryItem:
    """Return an item after changes, in log order."""
    for change in changes:
        body = change.body
        if isinstance(body, ItemRetired):
            if item.retired is Retirement.FORGOTTEN:
                continue  # that somebody asked for it stays true, whatever an archive replaces later
            out = resting(item) if body.cause is Retirement.RESTORED else body.cause
            is_gone = out in DESTROYED
            item = replace(
                item,
                retired=out,
                successor=body.successor,
                content=None if is_gone else item.content,
                text=None if is_gone else item.text,
            )
            continue
        told = {to: value for name, to in REVISED.items() if (value := getattr(body.revision, name)) is not None}
        if change.reason == RevisionAction.REFRESH:
            told["stale"] = StaleHint.NONE
        if "text" in told:
            told["corrected_ms"] = change.time_ms if change.reason in REWORDED else 0
        if item.text is None:
            told.pop("text", None)  # words that came after those that are destroyed are destroyed, too
        words = {name: value for name in _WORDS if (value := getattr(body.revision, name)) is not None}
        content = item.content if item.content is None or not words else replace(item.content, **words)
        item = replace(item, **told, content=content, revision=item.revision + 1)
    return item


def resting(item: MemoryItem) -> Retirement | None:
    """Return why an entry that nobody has retired is not in use, or None."""
    return RESTING[item.meta.entry.role]


RESTING = {
    EntryRole.ITEM: None,
    EntryRole.PROPOSAL: Retirement.PROPOSED,
    EntryRole.POLICY: Retirement.POLICY,
}
DESTROYED = frozenset({Retirement.FORGOTTEN, Retirement.REPLACED})
# field of a revision -> that of an item, and those that are fields of what an item says
REVISED = {
    "text": "text",
    "confidence": "confidence",
    "privacy": "privacy",
    "scope": "scope",
    "stale": "stale",
    "pinned": "pinned",
    "confirmed_ms": "confirmed_ms",
    "audience": "audience",
    "disabled": "disabled",
    "observations": "observations",
    "evidence": "latest_evidence",
}
_WORDS = ("topic", "title", "summary", "note")
REWORDED = frozenset({RevisionAction.CORRECT, RevisionAction.EDIT})  # what says that a statement is to be another one


def evidence_state(item: MemoryItem, now_ms: int, *, is_source_gone: bool) -> EvidenceState:
    """Return how far a reader may rely on an item; what it rests on may be masked, or erased in part, by now."""
    if is_source_gone or item.stale is StaleHint.REVIEW_BEFORE_USE:
        return EvidenceState.NEEDS_REVIEW
    ages: Ageing = AGES[item.meta.freshness]
    if item.stale is StaleHint.VERIFY_AGAINST_CURRENT_STATE or item.age_days(now_ms) >= ages.aged:
        return EvidenceState.POSSIBLY_STALE
    return EvidenceState.STABLE_FACT if item.meta.freshness is Freshness.STABLE else EvidenceState.RECENT_STATE
