"""Proposals: what somebody would have remembered, kept aside until somebody else decides about it.

A proposal is an entry of the notebook that its item would be in. It is in no slot and never in use, so that nothing
but `notebook.proposals` shows it. What would change nothing, or may not be remembered, is no proposal either; one that
was forgotten does not come back from the same turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import Conflict
from muniment.events.memory_items import EntryRole, Retirement
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.candidate import ACCEPTED, Candidate, Ruling
from muniment.memory.fold import MemoryItem
from muniment.memory.merging import MergeReason, says_the_same, was_forgotten
from muniment.operations.memory.candidate_checks import check_candidates
from muniment.operations.memory.candidate_decisions import CandidateDecisions
from muniment.operations.memory.item_writes import UnrecordedEntry, record_entry
from muniment.operations.memory.kept_words import kept_words
from muniment.operations.memory.prepared_items import PreparedItem, Undecided, Writing, prepared_item
from muniment.operations.not_done import AnsweredRequest
from muniment.space.space import Space

ALREADY_PROPOSED = "already_proposed"


class ProposedCandidate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a candidate that was proposed: the id of the proposal, and what accepting it now would do.

    `replaces` and `evicted` are the items that would give way. One that would change nothing, or may not be remembered,
    is no proposal; `reason` and `policy` say why.
    """

    changed: bool
    decision: Ruling
    reason: str
    proposal: str | None = None
    position: int | None = None
    replaces: str | None = None
    evicted: list[str] = []
    policy: str | None = None


class ProposeReport(AnsweredRequest, frozen=True, kw_only=True, omit_defaults=False):
    """What became of each candidate, in their order; `proposed` of them are new proposals."""

    dry_run: bool
    proposed: int
    candidates: list[ProposedCandidate]

    def words(self) -> Iterator[str | None]:
        """Yield what would be decided about each candidate."""
        yield from (candidate.decision for candidate in self.candidates)


def propose(
    session: Session, candidates: list[Candidate], rationale: str, requester: str, *, dry_run: bool
) -> ProposeReport:
    """Record as proposals what would change something."""
    space = session.space
    check_candidates(session, candidates)
    writing = Writing(requester, None, space.sources.clock.now_ms())
    with space.ledger.reader() as reader:
        prepared = [
            prepared_item(session, reader, _as_judged(candidate), writing, f"candidates[{number}]")
            for number, candidate in enumerate(candidates)
        ]
        decisions = CandidateDecisions(space, reader, writing.now_ms)
        decided = [_judged(space, reader, decisions, each) for each in prepared]
    if not dry_run and any(one.proposal is None and one.decision is Ruling.ACCEPT for one in decided):
        decided = space.ledger.transact(lambda writer: _record_all(space, writer, prepared, rationale, writing))
    return ProposeReport(dry_run=dry_run, proposed=sum(one.changed for one in decided), candidates=decided)


def _as_judged(candidate: Candidate) -> Candidate:
    """Return a candidate with a judgement: that of who accepts it comes later."""
    return candidate if candidate.judgement is not None else replace(candidate, judgement=ACCEPTED)


def _judged(
    space: Space, reader: Reader, decisions: CandidateDecisions, prepared: PreparedItem | Undecided
) -> ProposedCandidate:
    """Return what would become of a candidate that is proposed, in this state of the log."""
    if isinstance(prepared, PreparedItem):
        there = space.notebooks.item(reader, prepared.meta.item)
        if there is not None:
            if there.is_item or not prepared.is_same(there):
                raise Conflict(at="id", problem="taken")
            return _already(there)
    decided = decisions.about(prepared)
    told = ProposedCandidate(
        changed=False,
        decision=decided.decision,
        reason=decided.reason,
        replaces=decided.replaces,
        evicted=decided.evicted,
        policy=decided.policy,
    )
    if isinstance(prepared, Undecided) or not decided.would_change:
        return told if decided.decision is not Ruling.ACCEPT else replace(told, decision=Ruling.REFUSE)
    for there in proposals_of_slot(space, reader, prepared):
        if was_forgotten(there, prepared.sources):
            reason = MergeReason.FORGOTTEN.value
            return ProposedCandidate(changed=False, decision=Ruling.REFUSE, reason=reason)
        if there.retired is Retirement.PROPOSED and says_the_same(prepared.content.text, there):
            return _already(there)
    return told


def _already(proposal: MemoryItem) -> ProposedCandidate:
    decision = Ruling.REFUSE if proposal.text is None else Ruling.ACCEPT
    return ProposedCandidate(
        changed=False, decision=decision, reason=ALREADY_PROPOSED, proposal=proposal.id, position=proposal.position
    )


def proposals_of_slot(space: Space, reader: Reader, prepared: PreparedItem) -> Iterator[MemoryItem]:
    """Yield the proposals, decided or not, that would take the slot of a candidate."""
    head = space.notebooks.head(reader, prepared.candidate.subject, prepared.candidate.plane)
    for entry in [] if head is None else space.notebooks.items(reader, head):
        if entry.meta.entry.slot == prepared.slot.hex():
            yield entry


def _record_all(
    space: Space, writer: Writer, prepared: list[PreparedItem | Undecided], rationale: str, writing: Writing
) -> list[ProposedCandidate]:
    decisions = CandidateDecisions(space, writer.tx, writing.now_ms)
    return [_recorded(space, writer, decisions, each, (rationale, writing)) for each in prepared]


def _recorded(
    space: Space,
    writer: Writer,
    decisions: CandidateDecisions,
    prepared: PreparedItem | Undecided,
    told: tuple[str, Writing],
) -> ProposedCandidate:
    writer.flush()  # the same may have been proposed in the same request
    judged = _judged(space, writer.tx, decisions, prepared)
    if isinstance(prepared, Undecided) or judged.decision is not Ruling.ACCEPT or judged.proposal is not None:
        return judged
    (rationale, writing), given = told, prepared.candidate
    marked = replace(prepared.meta.entry, role=EntryRole.PROPOSAL, slot=prepared.slot.hex())
    entry = UnrecordedEntry(
        given.subject,
        given.plane,
        replace(prepared.meta, entry=marked),
        replace(prepared.content, rationale=kept_words(space, given.subject)(rationale)),
    )
    _, position = record_entry(space, writer, entry, writing)
    return replace(judged, changed=True, proposal=prepared.meta.item, position=position)
