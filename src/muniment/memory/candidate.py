"""Candidates: what a host would like to remember, and what is decided before the present items are looked at.

A candidate is untrusted input. `ruling` goes through the table `RULES` in order; the first rule that applies decides.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.events.identity import Channel, ConversationId, ConversationKey, Count, SubjectId, TurnId
from muniment.events.memory_items import Audience, Freshness, ItemPrivacy, ItemScope, ItemSourceType, MemoryPlane
from muniment.events.message import Authority
from muniment.events.references import SourceEvidence
from muniment.kernel.times import MOMENT
from muniment.memory.kinds import KINDS, WHOLE, kind_named

Share = Annotated[float, Meta(ge=0, le=1)]

HIGH, MEDIUM = 900, 700  # thousandths, of candidates that name no confidence (WC-03)
OF_HIGH_AUTHORITY = frozenset({
    Authority.USER_ASSERTED,
    Authority.RUNTIME_OBSERVATION,
    Authority.PROGRAM_MEMORY_CANONICAL,
})  # fmt: skip


class JudgedBy(StrEnum):
    """Who judged what a candidate means."""

    HOST = "host"
    MODEL_GOVERNANCE = "model_governance"
    RUNTIME_GATE = "runtime_gate"


class Ruling(StrEnum):
    """What becomes of a candidate."""

    ACCEPT = "accept"
    REFUSE = "refuse"
    DEFER = "defer"
    HAND_OFF = "hand_off"


class RulingReason(StrEnum):
    """Why."""

    PRIVATE_TARGET = "private_target"
    SOUL_TARGET = "soul_target"
    EMPTY = "empty"
    SELF_CLAIM = "assistant_self_claim"
    UNKNOWN_KIND = "unknown_kind"
    WITHOUT_SOURCE = "without_source"
    UNJUDGED = "unjudged"
    JUDGED = "judged"
    NEEDS_FEEDBACK = "needs_feedback"
    NAME_NOT_TAKEN = "name_not_taken"
    UNNAMED_SKILL = "unnamed_skill"
    WEAK_SKILL = "weak_skill"
    FORMATTED_DUMP = "formatted_dump"


class SemanticJudgement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What somebody who understands the statement decided about it."""

    decision: Annotated[Ruling, Meta(description="What was decided.")]
    judged_by: Annotated[JudgedBy, Meta(description="Who decided.")] = JudgedBy.HOST


ACCEPTED = SemanticJudgement(decision=Ruling.ACCEPT)


class ItemSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A turn, or a message of it, that an item rests on."""

    conversation: Annotated[ConversationKey, Meta(description="Conversation of the turn.")]
    turn: Annotated[TurnId, Meta(description="Id of the turn.")]
    message: Annotated[str | None, Meta(description="Id of a message of the turn.")] = None


class ItemAudience(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which subjects may know of a shared fact beside its own: all, `only` these, or all who are not in `hidden_from`.

    The names of subjects outlive what an item says.
    """

    only: Annotated[list[SubjectId], Meta(description="These alone.")] = []
    hidden_from: Annotated[list[SubjectId], Meta(description="All but these.")] = []

    def kept(self) -> Audience:
        """Return it as it is recorded."""
        return Audience(only=sorted(set(self.only)), hidden_from=sorted(set(self.hidden_from)))


def source_of(kept: SourceEvidence) -> ItemSource:
    """Return a source as a request names it."""
    key = ConversationKey(conversation=ConversationId(kept.conversation), channel=Channel(kept.channel))
    return ItemSource(conversation=key, turn=TurnId(kept.turn), message=kept.message)


def audience_of(kept: Audience) -> ItemAudience:
    """Return an audience as a request names it."""
    return ItemAudience(only=list(map(SubjectId, kept.only)), hidden_from=list(map(SubjectId, kept.hidden_from)))


class Candidate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a host would like to remember about a subject.

    `topic` and `kind` are the slot, of a skill it is the `name`. Without `evidence` the candidate must be `attested`:
    somebody vouches for it who is named as the requester.
    """

    subject: Annotated[SubjectId, Meta(description="Subject that the statement is about.")]
    kind: Annotated[str, Meta(description="Kind, as `preference`; names of other systems are known, as `todo`.")]
    topic: Annotated[str, Meta(description="What it is about, in few words; one statement for each kind and topic.")]
    text: Annotated[str, Meta(description="The statement.")]
    name: Annotated[str | None, Meta(description="Name of a skill, as `runtime_skill__deploy`.")] = None
    title: Annotated[str | None, Meta(description="Title, for lists.")] = None
    summary: Annotated[str | None, Meta(description="The statement in short.")] = None
    note: Annotated[str | None, Meta(description="Remark of the operator, for `raw_owner` alone.")] = None
    id: Annotated[str | None, Meta(description="Id of the item to be. Without it one is drawn.")] = None
    plane: Annotated[MemoryPlane, Meta(description="Plane of the memory.")] = MemoryPlane.LONG_TERM
    authority: Annotated[Authority, Meta(description="With which authority it was said.")] = Authority.USER_ASSERTED
    privacy: Annotated[ItemPrivacy, Meta(description="Who may see it.")] = ItemPrivacy.SHARED_WITH_SUBJECT
    audience: Annotated[
        ItemAudience,
        Meta(description="Which other subjects may know of it, if it is a `shared_fact`. Without it: all."),
    ] = ItemAudience()
    confidence: Annotated[Share | None, Meta(description="From 0 to 1. Without it: that of the authority.")] = None
    importance: Annotated[Share, Meta(description="From 0 to 1.")] = 0.5
    freshness: Annotated[Freshness, Meta(description="How fast it ages.")] = Freshness.STABLE
    scope: Annotated[ItemScope, Meta(description="What it holds for.")] = ItemScope.USER
    source_type: Annotated[ItemSourceType, Meta(description="How it was learned.")] = ItemSourceType.CONVERSATION
    observed_ms: Annotated[Count | None, Meta(description="When it was true. Without it: now.", extra=MOMENT)] = None
    expires_ms: Annotated[
        Count | None, Meta(description="When it ends to be true. Without it: never.", extra=MOMENT)
    ] = None
    pinned: Annotated[bool, Meta(description="Whether it outlives whatever evicts items.")] = False
    keywords: Annotated[list[str], Meta(description="Further words to find it by.")] = []
    tags: Annotated[list[str], Meta(description="Tags.")] = []
    entities: Annotated[list[str], Meta(description="Canonical names of whom and what it mentions.")] = []
    evidence: Annotated[list[ItemSource], Meta(description="Turns that it rests on.")] = []
    attested: Annotated[bool, Meta(description="Whether the requester vouches for it without evidence.")] = False
    origin: Annotated[
        str | None, Meta(description="Name of what it was taken from outside of the store, as of a file.")
    ] = None
    judgement: Annotated[SemanticJudgement | None, Meta(description="What was judged of its meaning.")] = None

    def thousandths(self) -> int:
        """Return the confidence: as given, or that of the authority (WC-03)."""
        if self.confidence is not None:
            return round(self.confidence * WHOLE)
        return HIGH if self.authority in OF_HIGH_AUTHORITY else MEDIUM


class CandidateRule(NamedTuple):
    """When a rule applies, and what it decides."""

    applies: Callable[[Candidate], bool]
    ruling: Ruling
    reason: RulingReason


def _is_empty(candidate: Candidate) -> bool:
    return not candidate.text.strip() or not candidate.topic.strip()


def _has_unknown_kind(candidate: Candidate) -> bool:
    return kind_named(candidate.kind) not in KINDS[candidate.plane]


# In this order (WC-02); nothing applies: as judged.
RULES: tuple[CandidateRule, ...] = (
    CandidateRule(lambda one: one.privacy is ItemPrivacy.PRIVATE_GARDEN, Ruling.DEFER, RulingReason.PRIVATE_TARGET),
    CandidateRule(lambda one: one.privacy is ItemPrivacy.SOUL_PRIVATE, Ruling.HAND_OFF, RulingReason.SOUL_TARGET),
    CandidateRule(_is_empty, Ruling.REFUSE, RulingReason.EMPTY),
    CandidateRule(lambda one: one.authority is Authority.ASSISTANT_SELF_CLAIM, Ruling.REFUSE, RulingReason.SELF_CLAIM),
    CandidateRule(_has_unknown_kind, Ruling.REFUSE, RulingReason.UNKNOWN_KIND),
    CandidateRule(lambda one: not one.evidence and not one.attested, Ruling.REFUSE, RulingReason.WITHOUT_SOURCE),
    CandidateRule(lambda one: one.judgement is None, Ruling.DEFER, RulingReason.UNJUDGED),
)


def ruling(candidate: Candidate) -> tuple[Ruling, RulingReason]:
    """Return what becomes of a candidate, as far as that does not depend on the items that are there."""
    for rule in RULES:
        if rule.applies(candidate):
            return rule.ruling, rule.reason
    assert candidate.judgement is not None, "there is a rule for candidates without judgement"
    return candidate.judgement.decision, RulingReason.JUDGED
