"""Remember: candidates become items, or are refused, deferred or handed off, each for a reason.

What a candidate is by itself is decided by `memory.candidate`, what the state of the log makes of it by
`candidate_decisions`, inside the transaction. An item, its links in the conversations of its evidence, the retirement
of the items that give way to it, and the record of the run are one transaction; so are all candidates of a request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import check_given
from muniment.events.memory_items import ItemRetired, ItemRevised, Retirement, RevisionAction
from muniment.ledger.ledger import Writer
from muniment.memory.candidate import Candidate
from muniment.memory.fold import MemoryItem
from muniment.memory.merging import in_use, told_again
from muniment.operations.memory.candidate_checks import check_candidates
from muniment.operations.memory.candidate_decisions import CandidateDecisions
from muniment.operations.memory.item_changes import retire_item, revise_item
from muniment.operations.memory.item_writes import ItemsOfRun, record_item, record_links, record_run
from muniment.operations.memory.prepared_items import (
    PreparedItem,
    Undecided,
    Writing,
    prepared_item,
)
from muniment.operations.memory.remember_report import RememberedCandidate, RememberReport
from muniment.space.space import Space


def remember(
    session: Session, candidates: list[Candidate], requester: str, run: str | None, *, dry_run: bool
) -> RememberReport:
    """Decide about candidates and record what is accepted."""
    space = session.space
    check_candidates(session, candidates)
    check_given(("requester", requester), ("run", run))
    writing = Writing(requester, run, space.sources.clock.now_ms())
    with space.ledger.reader() as reader:
        prepared = [
            prepared_item(session, reader, candidate, writing, f"candidates[{number}]")
            for number, candidate in enumerate(candidates)
        ]
        decisions = CandidateDecisions(space, reader, writing.now_ms, is_prepared_here=True)
        decided = [decisions.about(each) for each in prepared]
        before = DecidedBefore(reader.log_seal(), decided, decisions.histories)
    is_idle = run is None and all(isinstance(each, Undecided) for each in prepared)
    if not dry_run and not is_idle:
        decided = space.ledger.transact(lambda writer: record_all(space, writer, prepared, writing, before))
    return RememberReport(dry_run=dry_run, recorded=sum(one.changed for one in decided), candidates=decided)


# --- inside the transaction -------------------------------------------------------------------------------------------


class DecidedBefore(NamedTuple):
    """What was decided in the state of the log of a seal, and the items of each slot there, the newest first."""

    seal: bytes
    candidates: Sequence[RememberedCandidate]
    histories: Mapping[bytes, Sequence[MemoryItem]]


def record_all(
    space: Space,
    writer: Writer,
    prepared: list[PreparedItem | Undecided],
    writing: Writing,
    before: DecidedBefore | None = None,
) -> list[RememberedCandidate]:
    """Decide about candidates in turn, record what is accepted, and what the run did.

    What was decided before stands while the log is the same, apart from what this request has written.
    """
    stands = before is not None and writer.tx.log_seal() == before.seal and space.limits.items_max is None
    decisions: CandidateDecisions | None = None
    taken, decided = set[str | bytes](), list[RememberedCandidate]()
    for number, each in enumerate(prepared):
        is_free = isinstance(each, Undecided) or taken.isdisjoint((each.slot, each.meta.item))
        if stands and is_free and before is not None:
            told, histories = before.candidates[number], before.histories
        else:
            decisions = decisions or CandidateDecisions(space, writer.tx, writing.now_ms)
            writer.flush()  # the slot may have been taken in the same request
            told, histories = decisions.about(each), decisions.histories
        if isinstance(each, PreparedItem) and told.would_change:
            told = _recorded(space, writer, each, told, writing, histories.get(each.slot, ()))
            taken |= {each.slot, each.meta.item}
        decided.append(told)
    if writing.run is not None:
        _note_run(space, writer, decided, writing)
    return decided


def _recorded(
    space: Space,
    writer: Writer,
    prepared: PreparedItem,
    decided: RememberedCandidate,
    writing: Writing,
    history: Sequence[MemoryItem],
) -> RememberedCandidate:
    """Record an item as was decided, in its slot with this history."""
    request = LifecycleRequest(reason=decided.reason, requester=writing.writer, requested_ms=writing.now_ms)
    for leaving in decided.evicted:
        body = ItemRetired(request=request, cause=Retirement.EVICTED, successor=prepared.meta.item, run=writing.run)
        item = space.notebooks.item(writer.tx, leaving)
        assert item is not None, "it was found in the same transaction"
        retire_item(writer, item, body)
    position = None if prepared.candidate.id is None else _again(space, writer, prepared, request, writing)
    if position is None:
        position = record_item(space, writer, prepared, decided.reason, writing, history)
    return replace(decided, changed=True, item=prepared.meta.item, position=position)


def _again(
    space: Space, writer: Writer, prepared: PreparedItem, request: LifecycleRequest, writing: Writing
) -> int | None:
    """Use an item again that was recorded under the same id, in a run that was undone; None where there is none.

    It says what is told now, for whom and from where that is told now.
    """
    item = space.notebooks.item(writer.tx, prepared.meta.item)
    if item is None:
        return None
    former = in_use(space.notebooks.in_slot(writer.tx, prepared.slot))
    if former is not None:
        retire_item(
            writer,
            former,
            ItemRetired(request=request, cause=Retirement.SUPERSEDED, successor=item.id, run=writing.run),
        )
    revision = told_again(item, prepared.meta, prepared.content)
    if revision is not None:
        record_links(space, writer, prepared)
        body = ItemRevised(revision=revision, request=request, run=writing.run)
        revise_item(writer, item, RevisionAction.CONFIRM, body)
    return retire_item(writer, item, ItemRetired(request=request, cause=Retirement.RESTORED, run=writing.run))


def _note_run(space: Space, writer: Writer, decided: list[RememberedCandidate], writing: Writing) -> None:
    """Record what a request of a run did; a repeat that changes nothing is on record already."""
    assert writing.run is not None, "it is of a run"
    changed = [one for one in decided if one.changed]
    if not changed and space.notebooks.requests_of_run(writer.tx, writing.run):
        return
    did = ItemsOfRun(
        recorded=[one.item for one in changed if one.item is not None],
        retired=[item for one in changed for item in (*one.evicted, one.replaces) if item is not None],
    )
    record_run(writer, writing, did, dict(sorted(Counter(one.decision.value for one in decided).items())))
