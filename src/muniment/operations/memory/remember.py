"""Remember: candidates become items, or are refused, deferred or handed off, each for a reason.

What a candidate is by itself is decided by `memory.candidate`, what it does to its slot by `memory.merging`, inside the
transaction. An item, its links in the conversations of its evidence, and the retirement of the item that it replaces
are one transaction; so are all candidates of a request.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import Conflict, InvalidInput, LimitExceeded
from muniment.events.changes import LifecycleRequest, Transition
from muniment.events.identity import check_name
from muniment.events.memory_items import ItemRetired, NotebookOpened, Retirement
from muniment.events.records import EventKind
from muniment.ledger.drafts import Change, draft, encoded
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.candidate import Candidate, Ruling
from muniment.memory.fold import MemoryItem
from muniment.memory.merging import Merge, MergeOutcome, MergeReason, in_use, is_repeat, merged
from muniment.operations.memory.prepared_items import (
    EVIDENCE_HIDDEN,
    PreparedItem,
    Undecided,
    Writing,
    check_candidate,
    prepared_item,
)
from muniment.operations.provenance.derivations import Positions, append_derivation
from muniment.space.space import Space

ALREADY_RECORDED = "already_recorded"


class RememberedCandidate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a candidate: what was decided, why, and the item that says it now.

    `replaces` is the item that it took the place of. `likeness` is the share of its words that it has in common with
    the item that was in its slot.
    """

    decision: Ruling
    reason: str
    changed: bool
    item: str | None = None
    position: int | None = None
    replaces: str | None = None
    likeness: float | None = None


class RememberReport(Struct, frozen=True, kw_only=True):
    """What became of each candidate, in their order; `recorded` of them are new items."""

    dry_run: bool
    recorded: int
    candidates: list[RememberedCandidate]


def remember(
    session: Session, candidates: list[Candidate], requester: str, run: str | None, *, dry_run: bool
) -> RememberReport:
    """Decide about candidates and record what is accepted."""
    space, limit = session.space, session.space.limits.candidates_max
    if not candidates:
        raise InvalidInput(at="candidates", problem="empty")
    if len(candidates) > limit:
        raise LimitExceeded(at="candidates", problem="too_many", limit=limit, found=len(candidates))
    for at, name in (("requester", requester), ("run", run)):
        if name is not None:
            check_name(name, at=at)
    for number, candidate in enumerate(candidates):
        check_candidate(session, candidate, f"candidates[{number}]")
    writing = Writing(requester, run, space.sources.clock.now_ms())
    with space.ledger.reader() as reader:
        prepared = [
            prepared_item(session, reader, candidate, writing, f"candidates[{number}]")
            for number, candidate in enumerate(candidates)
        ]
        decided = [_decided(space, reader, each) for each in prepared]
    if not dry_run and not all(isinstance(each, Undecided) for each in prepared):
        decided = space.ledger.transact(lambda writer: [_recorded(space, writer, each, writing) for each in prepared])
    return RememberReport(dry_run=dry_run, recorded=sum(one.changed for one in decided), candidates=decided)


# --- deciding ---------------------------------------------------------------------------------------------------------


def _decided(space: Space, reader: Reader, prepared: PreparedItem | Undecided) -> RememberedCandidate:
    """Return what would become of a candidate in this state of the log."""
    if isinstance(prepared, Undecided):
        return RememberedCandidate(decision=prepared.ruling, reason=prepared.reason.value, changed=False)
    known = _known(space, reader, prepared)
    if known is not None:
        return known
    if not prepared.rests_on_nothing_hidden(space, reader):
        return RememberedCandidate(decision=Ruling.REFUSE, reason=EVIDENCE_HIDDEN, changed=False)
    history = space.notebooks.in_slot(reader, prepared.slot)
    return _merged(merged(prepared.incoming, history), history)


def _known(space: Space, reader: Reader, prepared: PreparedItem) -> RememberedCandidate | None:
    """Return what a repeat gets: the item of its id, if that says the same; another one is a `Conflict`."""
    item = space.notebooks.item(reader, prepared.meta.item)
    if item is None:
        return None
    if not is_repeat(item, prepared.candidate, prepared.meta, prepared.content):
        raise Conflict(at="id", problem="taken")
    return RememberedCandidate(
        decision=Ruling.REFUSE if item.content is None else Ruling.ACCEPT,
        reason=MergeReason.FORGOTTEN.value if item.content is None else ALREADY_RECORDED,
        changed=False,
        item=item.id,
        position=item.position,
    )


def _merged(merge: Merge, history: list[MemoryItem]) -> RememberedCandidate:
    """Return what a merge decided, before anything is recorded."""
    present = in_use(history)
    return RememberedCandidate(
        decision=Ruling.REFUSE if merge.outcome is MergeOutcome.REFUSED else Ruling.ACCEPT,
        reason=merge.reason.value,
        changed=False,
        item=present.id if present is not None and merge.outcome is MergeOutcome.DUPLICATE else None,
        replaces=present.id if present is not None and merge.outcome is MergeOutcome.SUPERSEDES else None,
        likeness=merge.likeness if history else None,
    )


# --- inside the transaction -------------------------------------------------------------------------------------------


def _recorded(
    space: Space, writer: Writer, prepared: PreparedItem | Undecided, writing: Writing
) -> RememberedCandidate:
    """Decide on the present state of the slot, and record."""
    writer.flush()  # the slot may have been taken in the same request
    decided = _decided(space, writer.tx, prepared)
    if isinstance(prepared, Undecided) or decided.decision is not Ruling.ACCEPT or decided.item is not None:
        return decided
    position = record_item(space, writer, prepared, decided.reason, writing)
    return replace(decided, changed=True, item=prepared.meta.item, position=position)


def record_item(space: Space, writer: Writer, prepared: PreparedItem, why: str, writing: Writing) -> int:
    """Record an item in its slot, and retire the one that is there; return its position."""
    history, stream = space.notebooks.in_slot(writer.tx, prepared.slot), _notebook(space, writer, prepared, writing)
    positions: Positions = {}
    for derivation in prepared.derivations:
        append_derivation(space, writer, derivation, positions)
    content = encoded(prepared.content)
    event = draft(space.sources.entropy, EventKind.ITEM_RECORDED, writing.now_ms, prepared.meta, content=content)
    placed = writer.append(event, stream=stream)
    writer.claim(space.notebooks.item_name(prepared.meta.item), stream, placed.position)
    if history:
        writer.rename(prepared.slot, space.notebooks.former_name(prepared.slot, len(history)))
    writer.claim(prepared.slot, stream, placed.position)
    former = in_use(history)
    if former is not None:
        request = LifecycleRequest(reason=why, requester=writing.writer, requested_ms=writing.now_ms)
        body = ItemRetired(request=request, cause=Retirement.SUPERSEDED, successor=prepared.meta.item, run=writing.run)
        refs = {"turn": former.number}
        writer.change(Change(EventKind.ITEM_RETIRED, writing.now_ms, body, refs, Transition.ARCHIVE), stream)
    return placed.position


def _notebook(space: Space, writer: Writer, prepared: PreparedItem, writing: Writing) -> int:
    """Return the notebook of a subject and plane; the first item opens it."""
    subject, plane = prepared.candidate.subject, prepared.candidate.plane
    name = space.notebooks.notebook_name(subject, plane)
    stream = writer.find(name)
    if stream is not None:
        return stream
    opened = NotebookOpened(subject=subject, plane=plane)
    event = draft(space.sources.entropy, EventKind.NOTEBOOK_OPENED, writing.now_ms, opened)
    placed = writer.append(event, stream=None)
    writer.claim(name, placed.stream, placed.position)
    return placed.stream
