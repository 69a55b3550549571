"""Record experience with tools: a first observation, a repetition of it, or a beginning from the start (TL-04).

What feedback does to its slot is decided by `memory.experience`, inside the transaction. A confirmation is a revision
of the item, with links from the turns that it rests on now, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest
from muniment.events.memory_items import ItemRevised, Observations, Revision, RevisionAction
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.candidate import Ruling
from muniment.memory.experience import (
    EVIDENCE_MAX,
    ExperienceChange,
    ExperienceStep,
    confidence_of,
    experience_change,
    is_repeated,
)
from muniment.operations.memory.item_changes import revise_item
from muniment.operations.memory.item_sources import Derived, append_links
from muniment.operations.memory.item_writes import record_item
from muniment.operations.memory.prepared_items import EVIDENCE_HIDDEN, PreparedItem, Writing
from muniment.operations.memory.source_phases import SourcePhases
from muniment.operations.not_done import AnsweredRequest
from muniment.operations.tools.feedback import PreparedExperience, RefusedFeedback
from muniment.space.space import Space

UNREPEATED, REPEATED = "unrepeated", "repeated"


class ToolVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of what was observed of a tool: what was decided, why, and the item that has the experience.

    `observations` are all that count by now. `position` is that of the event, also where an observation is only kept
    until it is repeated.
    """

    tool: str
    decision: Ruling
    reason: str
    changed: bool
    item: str | None = None
    position: int | None = None
    observations: Observations = Observations()


class FeedbackReport(AnsweredRequest, frozen=True, kw_only=True, omit_defaults=False):
    """What became of feedback, tool by tool; `changed` counts the tools of which there is experience now."""

    dry_run: bool
    changed: int
    tools: list[ToolVerdict]

    def words(self) -> Iterator[str | None]:
        """Yield what was decided about each tool; what is deferred was kept, until it is repeated."""
        yield from (tool.decision for tool in self.tools if tool.decision is not Ruling.DEFER)


def recorded_feedback(
    session: Session, prepared: list[PreparedExperience], writing: Writing, *, dry_run: bool
) -> FeedbackReport:
    """Decide about feedback and record it."""
    space = session.space
    if dry_run or not any(isinstance(each.item, PreparedItem) for each in prepared):
        with space.ledger.reader() as reader:
            verdicts = [replace(_decided(space, reader, each)[0], changed=False) for each in prepared]
        return FeedbackReport(dry_run=dry_run, changed=0, tools=verdicts)
    verdicts = space.ledger.transact(lambda writer: [_recorded(session, writer, each, writing) for each in prepared])
    return FeedbackReport(dry_run=False, changed=sum(verdict.changed for verdict in verdicts), tools=verdicts)


def _decided(space: Space, reader: Reader, prepared: PreparedExperience) -> tuple[ToolVerdict, ExperienceChange | None]:
    """Return what becomes of what was observed of a tool, and what is changed for it, if anything is."""
    item = prepared.item
    verdict = ToolVerdict(tool=prepared.tool, decision=Ruling.REFUSE, reason=EVIDENCE_HIDDEN, changed=False)
    if isinstance(item, RefusedFeedback):
        return replace(verdict, decision=item.ruling, reason=item.reason), None
    if not item.rests_on_nothing_hidden(space, reader):
        return verdict, None
    history = space.notebooks.in_slot(reader, item.slot)
    change = experience_change(history, item.sources, prepared.observations, SourcePhases(space, reader).rests_on_lost)
    if change.step is ExperienceStep.FORGOTTEN:
        return replace(verdict, reason=change.step.value), None
    is_known = change.step in {ExperienceStep.CONFIRM, ExperienceStep.ALREADY_OBSERVED}
    verdict = replace(
        verdict,
        item=change.present.id if is_known and change.present is not None else None,
        observations=change.observations,
    )
    if change.step is ExperienceStep.ALREADY_OBSERVED:
        return replace(verdict, decision=Ruling.DEFER, reason=change.step.value), None
    ruling, reason = (Ruling.ACCEPT, REPEATED) if is_repeated(change.observations) else (Ruling.DEFER, UNREPEATED)
    return replace(verdict, decision=ruling, reason=reason, changed=ruling is Ruling.ACCEPT), change


def _recorded(session: Session, writer: Writer, prepared: PreparedExperience, writing: Writing) -> ToolVerdict:
    """Decide on the present state of the slot, and record."""
    writer.flush()  # an earlier tool of the same feedback may have used the same turns
    item, (verdict, change) = prepared.item, _decided(session.space, writer.tx, prepared)
    if change is None or not isinstance(item, PreparedItem):
        return verdict
    if change.step is ExperienceStep.CONFIRM:
        return replace(verdict, position=_confirmed(session, writer, item, change, writing))
    history = session.space.notebooks.in_slot(writer.tx, item.slot)
    position = record_item(session.space, writer, item, verdict.reason, writing, history)
    return replace(verdict, item=item.meta.item, position=position)


def _confirmed(session: Session, writer: Writer, item: PreparedItem, change: ExperienceChange, writing: Writing) -> int:
    """Append a revision of the experience that there is, and its links; return its position."""
    present, said = change.present, item.content
    assert present is not None, "there is something to confirm"
    whose = Derived(present.id, present.plane, item.candidate.subject)
    append_links(session, writer, whose, item.candidate.evidence, writing.now_ms)
    sources = [*present.evidence, *(source for source in item.meta.evidence if source not in present.evidence)]
    revision = Revision(
        text=said.text,
        summary=said.summary,
        note=said.note,
        confidence=confidence_of(change.observations),
        confirmed_ms=writing.now_ms,
        evidence=sources[-EVIDENCE_MAX:],
        observations=change.observations,
    )
    request = LifecycleRequest(reason=change.step.value, requester=writing.writer, requested_ms=writing.now_ms)
    return revise_item(writer, present, RevisionAction.CONFIRM, ItemRevised(revision=revision, request=request))
