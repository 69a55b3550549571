"""Decisions about proposals. Who accepts one hands it over as a candidate, judged by the state of that moment."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import UnknownPlace
from muniment.events.changes import LifecycleRequest
from muniment.events.memory_items import EntryRole, ItemRetired, Retirement
from muniment.ledger.ledger import Writer
from muniment.memory.fold import MemoryItem
from muniment.memory.merging import MergeReason
from muniment.operations.memory.candidate_decisions import CandidateDecisions
from muniment.operations.memory.item_changes import retire_item
from muniment.operations.memory.item_sources import owned_by
from muniment.operations.memory.prepared_items import PreparedItem, Undecided, Writing, prepared_item
from muniment.operations.memory.remember import record_all
from muniment.operations.notebook.decide_report import DecideReport, ProposalVerdict
from muniment.operations.notebook.proposed_candidate import candidate_of
from muniment.space.space import Space

ALREADY_DECIDED, DECIDED_OTHERWISE = "already_decided", "decided_otherwise"


# what somebody decides -> how the proposal went out of use if it was decided like that
DECIDED = {ProposalVerdict.ACCEPT: Retirement.ACCEPTED, ProposalVerdict.REJECT: Retirement.REJECTED}


def decide(
    session: Session, proposal: str, verdict: ProposalVerdict, request: LifecycleRequest, *, dry_run: bool
) -> DecideReport:
    """Accept a proposal, through the path of any candidate, or reject it."""
    space, prepared, candidate = session.space, None, None
    writing = Writing(request.requester, None, request.requested_ms)
    with space.ledger.reader() as reader:
        known = space.notebooks.item(reader, proposal)
        if known is None or known.meta.entry.role is not EntryRole.PROPOSAL or not owned_by(session, known):
            raise UnknownPlace(at="proposal")
        reason = _refusal(known, verdict)
        if reason is None and verdict is ProposalVerdict.ACCEPT:
            prepared = prepared_item(session, reader, candidate_of(known), writing, "proposal")
            candidate = CandidateDecisions(space, reader, writing.now_ms).about(prepared)
    if candidate is not None and not candidate.is_accepted:
        reason = candidate.reason
    report = DecideReport(
        changed=False, dry_run=dry_run, proposal=proposal, asked=verdict, reason=reason, candidate=candidate
    )
    if dry_run or reason is not None:
        return report
    return space.ledger.transact(lambda writer: _decided(space, writer, report, prepared, request))


def _refusal(proposal: MemoryItem, verdict: ProposalVerdict) -> str | None:
    """Return why nothing is decided about a proposal any more, or None."""
    if proposal.text is None:
        return MergeReason.FORGOTTEN.value
    if proposal.retired is Retirement.PROPOSED:
        return None
    return ALREADY_DECIDED if proposal.retired is DECIDED[verdict] else DECIDED_OTHERWISE


def _decided(
    space: Space,
    writer: Writer,
    report: DecideReport,
    prepared: PreparedItem | Undecided | None,
    request: LifecycleRequest,
) -> DecideReport:
    """Decide on the present state, and record."""
    known = space.notebooks.item(writer.tx, report.proposal)
    assert known is not None, "what was recorded stays"
    reason = _refusal(known, report.asked)
    if reason is not None:
        return replace(report, reason=reason, candidate=None)
    if prepared is None:
        body = ItemRetired(request=request, cause=Retirement.REJECTED)
        return replace(report, changed=True, position=retire_item(writer, known, body))
    (candidate,) = record_all(space, writer, [prepared], Writing(request.requester, None, request.requested_ms))
    if not candidate.is_accepted:
        return replace(report, reason=candidate.reason, candidate=candidate)
    body = ItemRetired(request=request, cause=Retirement.ACCEPTED, successor=candidate.item)
    return replace(report, changed=True, candidate=candidate, position=retire_item(writer, known, body))
