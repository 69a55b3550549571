"""The request of a recall and its report. Nothing here computes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId, given_key
from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.events.message import Role
from muniment.events.references import SourceEvidence
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.views import Reason
from muniment.memory.fold import EvidenceState
from muniment.memory.recall_weights import RECALL_PRESETS, RecallPreset, RecallWeights
from muniment.memory.tool_registry import RegistryProblem, RegistryReference
from muniment.operations.memory.selection import AsOf
from muniment.operations.transcripts.hits import SemanticCoverage

LEAST_RELEVANCE = 0.2
RECALL_HITS = 8
CONSIDERED_MAX = 12


class RecallPlane(StrEnum):
    """Where a hit comes from: a plane of memory, the agent skills that the host mounts, or the transcripts."""

    LONG_TERM = "long_term"
    SHARED_FACT = "shared_fact"
    RUNTIME_SKILL = "runtime_skill"
    AGENT_SKILL = "agent_skill"
    TOOL_EXPERIENCE = "tool_experience"
    SUMMARY = "summary"
    DIARY = "diary"
    TRANSCRIPT = "transcript"


BESIDE_ITEMS = frozenset({RecallPlane.AGENT_SKILL, RecallPlane.TRANSCRIPT})


class RecallMiss(StrEnum):
    """Why a plane has no hit."""

    NOTHING_THERE = "nothing_there"
    UNAVAILABLE = "unavailable"
    WITHHELD = "withheld"
    NOTHING_MATCHED = "nothing_matched"
    NO_HINT = "no_hint"
    BELOW_THRESHOLD = "below_threshold"
    OUTRANKED = "outranked"


class RecallScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to recall from.

    `conversation` is the one that goes on: a question of too few words is extended with its newest messages, and items
    that hold for one chat count for more there.
    """

    planes: Annotated[list[RecallPlane], Meta(description="These planes only. Without any: all.")] = []
    conversation: Annotated[
        ConversationId | None,
        Meta(description="The conversation that goes on: one of the channel, or of the default channel."),
    ] = None
    channel: Annotated[Channel | None, Meta(description="Channel of the conversation.")] = None
    as_of_ms: AsOf = None

    @property
    def key(self) -> ConversationKey | None:
        """The conversation that goes on, if there is one."""
        return given_key(self.conversation, self.channel)

    def goes_on_in(self, source: SourceEvidence) -> bool:
        """Tell whether a turn is one of the conversation that goes on."""
        key = self.key
        return key is not None and (source.channel, source.conversation) == (key.channel, key.conversation)


class RecallRanking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How to rank: with named weights or one by one, and what is too little to be an answer."""

    preset: Annotated[RecallPreset, Meta(description="Named weights.")] = RecallPreset.BALANCED
    weights: Annotated[RecallWeights | None, Meta(description="Weight of each component, instead of a preset.")] = None
    least_relevance: Annotated[
        float, Meta(ge=0, le=1, description="Leave out what matches less of the question, from 0 to 1.")
    ] = LEAST_RELEVANCE
    explain: Annotated[bool, Meta(description="Explain each score, and list what was considered.")] = False


class HitEvidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn that a hit rests on. `withheld` says why the view does not show it, or does not say which one it is."""

    conversation: ConversationKey | None = None
    turn: TurnId | None = None
    message: str | None = None
    withheld: Reason | None = None


class RecallHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item, a message or an agent skill that was recalled.

    `id` is that of the item or the message, or the name of the skill; a skill has no position and no time, `text` is
    its description, and `fingerprint` that of `skills.mounted`. `score` orders the hits; `relevance` is from 0 to 1:
    how much of the question it has. `components` are, with `explain`, the parts of the score. `evidence` are the turns
    of an item, and the turn of a message. `confidence` is from 0 to 1.
    """

    plane: RecallPlane
    id: str
    text: str
    score: float
    relevance: float
    position: int | None = None
    observed_ms: int | None = None
    topic: str | None = None
    kind: ItemKind | None = None
    confidence: float | None = None
    state: EvidenceState | None = None
    role: Role | None = None
    speaker: str | None = None
    fingerprint: str | None = None
    cut: bool = False
    evidence: list[HitEvidence] = []
    components: dict[str, float] | None = None


class ConsideredCandidate(Struct, frozen=True, kw_only=True):
    """A candidate with the parts of its score, selected or not."""

    id: str
    score: float
    relevance: float
    selected: bool
    components: dict[str, float]


class PlaneReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a plane: how many candidates it had, how many matched, which were selected, or why none.

    `backend` is `words`, or `words+meaning` where vectors counted. `withheld` counts what the view does not show.
    `findings` counts what is wrong in the mounted directories; `skills.mounted` says what. `without_hint` counts
    experience with tools that was found and gives no hint. `considered` are, with `explain`, its best candidates.
    """

    plane: RecallPlane
    backend: str
    candidates: int
    matched: int
    selected: int
    ids: list[str] = []
    withheld: int = 0
    findings: int = 0
    without_hint: int = 0
    miss: RecallMiss | None = None
    considered: list[ConsideredCandidate] = []


class Recollection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What memory has on a question, the best first, and what became of each plane; empty when nothing fits.

    `extended`: the question had too few words, and the newest messages of the conversation were searched for with it.
    `registries` are those that give no hints: named ones, or those of experience that was found.
    """

    hits: list[RecallHit]
    planes: list[PlaneReport]
    semantic: SemanticCoverage
    semantic_reason: str | None = None
    extended: bool = False
    registries: list[RegistryProblem] = []

    def covered(self) -> CoveredTurns:
        """Return the items and turns that this shows."""
        return CoveredTurns(positions=[hit.position for hit in self.hits if hit.position is not None])


class AskedRecall(Struct, frozen=True, kw_only=True):
    """What is asked of the memory of a subject, in which scope, and how it is ranked."""

    subject: str
    query: str
    scope: RecallScope
    ranking: RecallRanking
    limit: int
    registries: list[RegistryReference] = []

    @property
    def planes(self) -> list[RecallPlane]:
        """The planes that are asked for."""
        return list(dict.fromkeys(self.scope.planes)) or list(RecallPlane)

    @property
    def item_planes(self) -> list[MemoryPlane]:
        """Those of them that hold items."""
        return [MemoryPlane(plane) for plane in self.planes if plane not in BESIDE_ITEMS]

    @property
    def weights(self) -> RecallWeights:
        """The weights that count."""
        return self.ranking.weights or RECALL_PRESETS[self.ranking.preset]
