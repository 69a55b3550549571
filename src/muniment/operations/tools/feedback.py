"""Feedback about tools, ready to be recorded: checked against the registry that it names, and judged tool by tool."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import (
    Freshness,
    ItemKind,
    ItemSourceType,
    MemoryPlane,
    Observations,
    ObservedTool,
)
from muniment.events.message import Authority
from muniment.log.port import Reader
from muniment.memory.candidate import Candidate, JudgedBy, Ruling, SemanticJudgement
from muniment.memory.experience import (
    EVIDENCE_MAX,
    OBSERVATIONS_MAX,
    RESULT_BYTES_MAX,
    SUMMARY_BYTES_MAX,
    ObservedOutcome,
    ToolFeedback,
    confidence_of,
    experience_slot,
    observed,
)
from muniment.memory.kinds import WHOLE
from muniment.memory.tool_registry import (
    NOTE_BYTES_MAX,
    HintRefusal,
    check_id,
    check_reference,
    check_size,
    reference_flaw,
)
from muniment.operations.memory.candidate_checks import check_candidate
from muniment.operations.memory.prepared_items import PreparedItem, Undecided, Writing, prepared_item
from muniment.operations.tools.registries import registered_for


class RefusedFeedback(NamedTuple):
    """Why nothing is recorded of a tool, whatever is known of it."""

    ruling: Ruling
    reason: str


class PreparedExperience(NamedTuple):
    """What feedback says of one tool: an item that is ready to be recorded, or why there is none."""

    tool: str
    observations: Observations
    item: PreparedItem | RefusedFeedback


def check_feedback(session: Session, subject: SubjectId, feedback: ToolFeedback) -> None:
    """Refuse feedback that says nothing, too much, or of a subject that the caller may not speak for."""
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    check_reference(feedback.registry, "feedback.registry")
    for name, limit in (("observations", OBSERVATIONS_MAX), ("evidence", EVIDENCE_MAX)):
        found = len(getattr(feedback, name))
        if not found:
            raise InvalidInput(at=f"feedback.{name}", problem="empty")
        if found > limit:
            raise LimitExceeded(at=f"feedback.{name}", problem="too_many", limit=limit, found=found)
    for number, each in enumerate(feedback.observations):
        at = f"feedback.observations[{number}]"
        check_id(each.tool, f"{at}.tool")
        check_size(each.summary, f"{at}.summary", SUMMARY_BYTES_MAX)
        if not each.summary.strip():
            raise InvalidInput(at=f"{at}.summary", problem="empty")
    check_size(feedback.visible_result, "feedback.visible_result", RESULT_BYTES_MAX)
    check_size(feedback.note, "feedback.note", NOTE_BYTES_MAX)


def prepared_feedback(
    session: Session, reader: Reader, subject: SubjectId, feedback: ToolFeedback, writing: Writing
) -> list[PreparedExperience]:
    """Return what feedback says of each tool, in the order in which they are named."""
    known = registered_for(session, reader, feedback.registry.registry)
    registered = None if known is None else known.registered
    flaw = reference_flaw(feedback.registry, None if registered is None else registered.registry)
    tools = set[str]() if registered is None else {tool.tool for tool in registered.tools}
    by_tool: defaultdict[str, list[ObservedOutcome]] = defaultdict(list)
    for each in feedback.observations:
        by_tool[each.tool].append(each)
    prepared: list[PreparedExperience] = []
    for tool, said in by_tool.items():
        counts = observed(said, feedback.reuse)
        wrong = flaw or (HintRefusal.UNKNOWN_TOOL if tool not in tools else None)
        if wrong is not None:
            prepared.append(PreparedExperience(tool, counts, RefusedFeedback(Ruling.REFUSE, wrong.value)))
            continue
        candidate = _candidate(subject, feedback, said, counts)
        item = _prepared(session, reader, candidate, writing, feedback, counts)
        prepared.append(PreparedExperience(tool, counts, item))
    return prepared


def _candidate(
    subject: SubjectId, feedback: ToolFeedback, said: list[ObservedOutcome], counts: Observations
) -> Candidate:
    last = said[-1]
    return Candidate(
        subject=subject,
        plane=MemoryPlane.TOOL_EXPERIENCE,
        kind=ItemKind.EXPERIENCE,
        topic=last.tool,
        text=last.summary,
        summary=feedback.visible_result,
        note=feedback.note,
        authority=Authority.RUNTIME_OBSERVATION,
        confidence=confidence_of(counts) / WHOLE,
        freshness=Freshness.DYNAMIC,
        source_type=ItemSourceType.SYSTEM_RUNTIME,
        evidence=feedback.evidence,
        judgement=SemanticJudgement(decision=Ruling.ACCEPT, judged_by=JudgedBy.RUNTIME_GATE),
    )


def _prepared(
    session: Session,
    reader: Reader,
    candidate: Candidate,
    writing: Writing,
    feedback: ToolFeedback,
    counts: Observations,
) -> PreparedItem | RefusedFeedback:
    check_candidate(session, candidate, "feedback")
    registry = feedback.registry
    tool = ObservedTool(registry=registry.registry, fingerprint=registry.fingerprint, tool=candidate.topic)
    item = prepared_item(session, reader, candidate, writing, "feedback", experience_slot(tool, counts))
    return RefusedFeedback(item.ruling, item.reason.value) if isinstance(item, Undecided) else item
