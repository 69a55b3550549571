"""Experience with tools: what feedback makes of it, and which hints it gives (TL-03 to TL-06).

One observation is deferred until it is repeated: it is kept with a low confidence and gives no hint. Two in one
feedback, or one from another turn, are experience. It belongs to the fingerprint that the registry had; where a turn
that it rests on is masked or erased, it gives no hint, and what is observed next begins from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.events.memory_items import NamedSlot, Observations, ObservedTool, Retirement
from muniment.events.references import SourceEvidence
from muniment.events.tool_registries import RegisteredTool, ToolsRegistered
from muniment.memory.candidate import ItemSource
from muniment.memory.fold import EvidenceState, MemoryItem
from muniment.memory.kinds import ConfidenceBand
from muniment.memory.merging import in_use, sources_of
from muniment.memory.tool_registry import HintRefusal, RegistryReference

REPEATED = 2  # observations of one outcome that are experience
UNREPEATED_CONFIDENCE = 500  # thousandths, of fewer
REPEATED_CONFIDENCE, STEP, CONFIDENCE_MAX = 600, 50, 950  # with `STEP` for each observation, at most the last
OBSERVATIONS_MAX = 64  # in one feedback
SUMMARY_BYTES_MAX = 1024
RESULT_BYTES_MAX = 4096
EVIDENCE_MAX = 16  # the latest turns that an experience names


class ToolOutcome(StrEnum):
    """Whether a tool did what was asked of it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


class ReuseOutcome(StrEnum):
    """What became of a hint that was followed."""

    HELPED = "helped"
    MISLED = "misled"


class ObservedOutcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was observed of a tool: a short summary, never a raw result, a secret or a schema."""

    tool: Annotated[str, Meta(description="Id of the tool.")]
    outcome: Annotated[ToolOutcome, Meta(description="Whether it did what was asked.")]
    summary: Annotated[str, Meta(description="What was observed, in short.")]


class ToolFeedback(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was observed of tools of a registry in some turns."""

    registry: Annotated[RegistryReference, Meta(description="The registry that the host had.")]
    observations: Annotated[list[ObservedOutcome], Meta(description="What was observed.")]
    evidence: Annotated[list[ItemSource], Meta(description="Turns that show it.")]
    visible_result: Annotated[str | None, Meta(description="What the user got to see, in short.")] = None
    reuse: Annotated[ReuseOutcome | None, Meta(description="What became of a hint that was followed.")] = None
    note: Annotated[str | None, Meta(description="Remark of the operator, for `raw_owner` alone.")] = None


class ExperienceStep(StrEnum):
    """What feedback does to the experience with a tool."""

    RECORD = "record"
    CONFIRM = "confirm"
    BEGIN_AGAIN = "begin_again"
    ALREADY_OBSERVED = "already_observed"
    FORGOTTEN = "forgotten"


class HintReason(StrEnum):
    """Why a tool is hinted at."""

    REPEATED_SUCCESS = "repeated_success"
    REPEATED_FAILURE = "repeated_failure"


class Experience(NamedTuple):
    """An experience in use, and how far a reader may rely on it."""

    item: MemoryItem
    state: EvidenceState


class GivenHint(NamedTuple):
    """An experience that gives a hint, why, and the tool as it is registered."""

    item: MemoryItem
    tool: RegisteredTool
    reason: HintReason


class WithheldHint(Struct, frozen=True, kw_only=True):
    """A tool that gives no hint, and why."""

    registry: str
    tool: str
    reason: HintRefusal


def experience_slot(tool: ObservedTool, observations: Observations) -> NamedSlot:
    """Return the slot of an experience: no id and no fingerprint has a blank, so no two tools share a name."""
    return NamedSlot(name=f"{tool.registry} {tool.fingerprint} {tool.tool}", tool=tool, observations=observations)


def observed(observations: Iterable[ObservedOutcome], reuse: ReuseOutcome | None) -> Observations:
    """Return what observations of one tool count for."""
    outcomes = [each.outcome for each in observations]
    return Observations(
        succeeded=outcomes.count(ToolOutcome.SUCCEEDED),
        failed=outcomes.count(ToolOutcome.FAILED),
        helped=int(reuse is ReuseOutcome.HELPED),
        misled=int(reuse is ReuseOutcome.MISLED),
    )


def together(one: Observations, other: Observations) -> Observations:
    """Return the sum of observations."""
    return Observations(
        succeeded=one.succeeded + other.succeeded,
        failed=one.failed + other.failed,
        helped=one.helped + other.helped,
        misled=one.misled + other.misled,
    )


def is_repeated(observations: Observations) -> bool:
    """Tell whether one outcome was observed more than once."""
    return max(observations.succeeded, observations.failed) >= REPEATED


def confidence_of(observations: Observations) -> int:
    """Return the confidence in thousandths: it grows with each observation, and shrinks with those that differ.

    A hint that misled counts as one that differs.
    """
    if not is_repeated(observations):
        return UNREPEATED_CONFIDENCE
    same = max(observations.succeeded, observations.failed)
    total = observations.succeeded + observations.failed + observations.misled
    return min(CONFIDENCE_MAX, REPEATED_CONFIDENCE + STEP * same) * same // total


class ExperienceChange(NamedTuple):
    """What feedback does, the experience that is in use, and all observations that count then."""

    step: ExperienceStep
    present: MemoryItem | None
    observations: Observations


def experience_change(
    history: Iterable[MemoryItem],
    sources: frozenset[tuple[str, ...]],
    counts: Observations,
    rests_on_lost: Callable[[Iterable[SourceEvidence]], bool],
) -> ExperienceChange:
    """Return what feedback from some turns does to its slot, the newest item first.

    `rests_on_lost` tells whether one of some turns is masked or erased, or has lost a message.
    """
    known = list(history)
    present = in_use(known)
    for item in known:
        if sources <= sources_of([*item.meta.evidence, *item.evidence]):
            is_forgotten = item.retired is Retirement.FORGOTTEN
            step = ExperienceStep.FORGOTTEN if is_forgotten else ExperienceStep.ALREADY_OBSERVED
            return ExperienceChange(step, None if is_forgotten else item, item.observations or Observations())
    if present is None:
        return ExperienceChange(ExperienceStep.RECORD, None, counts)
    if rests_on_lost(present.evidence):
        return ExperienceChange(ExperienceStep.BEGIN_AGAIN, present, counts)
    return ExperienceChange(ExperienceStep.CONFIRM, present, together(present.observations or Observations(), counts))


def hints_of(
    experiences: Iterable[Experience], registries: Mapping[str, ToolsRegistered]
) -> tuple[list[GivenHint], list[WithheldHint]]:
    """Return the hints that experience gives for the registries that are there, the surest first, and what gives none.

    An experience of another fingerprint than that of its registry gives none, and stays as it is.
    """
    given: list[GivenHint] = []
    withheld: list[WithheldHint] = []
    for experience in experiences:
        item, slot = experience.item, experience.item.meta.entry.named
        assert slot is not None, "experience comes from feedback about a tool"
        assert slot.tool is not None, "the same"
        registered = registries.get(slot.tool.registry)
        tool = _tool(registered, slot.tool.tool)
        flaw = _flaw(experience, slot.tool, registered, tool)
        if flaw is not None or tool is None:
            reason = flaw or HintRefusal.UNKNOWN_TOOL
            withheld.append(WithheldHint(registry=slot.tool.registry, tool=slot.tool.tool, reason=reason))
            continue
        counts = item.observations or Observations()
        is_success = counts.succeeded >= counts.failed
        reason_given = HintReason.REPEATED_SUCCESS if is_success else HintReason.REPEATED_FAILURE
        given.append(GivenHint(item, tool, reason_given))
    given.sort(key=lambda hint: (-hint.item.confidence, hint.tool.tool, hint.item.position))
    return given, withheld


def _tool(registered: ToolsRegistered | None, name: str) -> RegisteredTool | None:
    tools = () if registered is None else registered.tools
    return next((tool for tool in tools if tool.tool == name), None)


def _flaw(
    experience: Experience, used: ObservedTool, registered: ToolsRegistered | None, tool: RegisteredTool | None
) -> HintRefusal | None:
    if registered is None:
        return HintRefusal.REGISTRY_MISSING
    if registered.registry.fingerprint != used.fingerprint:
        return HintRefusal.FINGERPRINT_MISMATCH
    if tool is None:
        return HintRefusal.UNKNOWN_TOOL
    if tool.disabled:
        return HintRefusal.TOOL_DISABLED
    if experience.state is EvidenceState.NEEDS_REVIEW:
        return HintRefusal.NEEDS_REVIEW
    counts = experience.item.observations or Observations()
    is_governed = is_repeated(counts) and experience.item.band is not ConfidenceBand.LOW
    return None if is_governed else HintRefusal.NO_GOVERNED_TOOL_EXPERIENCE
