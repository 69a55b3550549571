"""Undo: everything that a run of a writer did to memory is taken back, as events of their own.

What goes out of use goes first, so that the slots are free for what comes back; of two that would come back to one slot
the later one does. What somebody changed since, or forgot, is left alone and reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest
from muniment.events.memory_governance import RunRecorded
from muniment.events.memory_items import ItemRetired, ItemRevised, Retirement, RevisionAction
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem, folded
from muniment.memory.undoing import Undoing, UndoObstacle, undoing
from muniment.operations.memory.item_changes import retire_item, revise_item
from muniment.operations.memory.item_sources import owned_by
from muniment.operations.memory.source_phases import SourcePhases
from muniment.operations.not_done import AnsweredRequest
from muniment.space.space import Space


class UndoConflict(Struct, frozen=True, kw_only=True):
    """An item that is left as it is, and why."""

    item: str
    reason: UndoObstacle


class UndoReport(AnsweredRequest, frozen=True, kw_only=True, omit_defaults=False):
    """What became of what a run did. `requests` counts what is on record of the run: 0 for an unknown one.

    For a caller whose access is for one subject only requests count that did something to memory of that subject.
    `retired` are the ids of items that went out of use, `restored` of those that are in use again, `reverted` of those
    that say again what they said. `conflicts` are left alone.
    """

    run: str
    dry_run: bool
    changed: bool
    requests: int
    retired: list[str]
    restored: list[str]
    reverted: list[str]
    conflicts: list[UndoConflict]

    def words(self) -> Iterator[str | None]:
        """Yield that nothing is on record of the run, or that something is left as it is."""
        yield None if self.requests else "target_not_found"
        yield "kept" if self.conflicts else None


class ToUndo(NamedTuple):
    """An item, and what is to be taken back of it."""

    item: MemoryItem
    undoing: Undoing


def undo(session: Session, run: str, request: LifecycleRequest, *, dry_run: bool) -> UndoReport:
    """Take back what a run did, or say what would be taken back."""
    space = session.space
    with space.ledger.reader() as reader:
        report, plan = _planned(session, reader, run, dry_run=dry_run)
    if dry_run or not plan:
        return report

    def take_back(writer: Writer) -> UndoReport:
        again, steps = _planned(session, writer.tx, run, dry_run=False)
        for step in steps:
            _append(writer, step, run, request)
        return again

    return space.ledger.transact(take_back)


def _planned(session: Session, reader: Reader, run: str, *, dry_run: bool) -> tuple[UndoReport, list[ToUndo]]:
    """Return what there is to take back in this state of the log, in its order."""
    space = session.space
    requests = space.notebooks.requests_of_run(reader, run)
    names = dict.fromkeys(item for each in requests for item in _items_of(each))
    histories = {name: space.notebooks.history(reader, name) for name in names}
    owned = {name: history for name, history in histories.items() if history and owned_by(session, history[0])}
    if session.access.subject is not None:
        requests = [each for each in requests if not owned.keys().isdisjoint(_items_of(each))]
    steps: list[ToUndo] = []
    conflicts: list[UndoConflict] = []
    for name, history in owned.items():
        told = undoing(*history, run)
        if isinstance(told, UndoObstacle):
            conflicts.append(UndoConflict(item=name, reason=told))
        elif not told.is_nothing:
            steps.append(ToUndo(folded(*history), told))
    kept, obstacles = _with_free_slots(space, reader, steps)
    report = UndoReport(
        run=run,
        dry_run=dry_run,
        changed=bool(kept) and not dry_run,
        requests=len(requests),
        retired=[item.id for item, told in kept if told.retired not in {None, Retirement.RESTORED}],
        restored=[item.id for item, told in kept if told.retired is Retirement.RESTORED],
        reverted=[item.id for item, told in kept if told.revision is not None],
        conflicts=conflicts + obstacles,
    )
    return report, kept


def _items_of(request: RunRecorded) -> tuple[str, ...]:
    return *request.recorded, *request.retired, *request.revised


def _with_free_slots(space: Space, reader: Reader, steps: list[ToUndo]) -> tuple[list[ToUndo], list[UndoConflict]]:
    """Return the steps that can be done, those first that take items out of use, and what is in the way of others."""
    leaving = {item.id for item, told in steps if told.retired not in {None, Retirement.RESTORED}}
    kept = [step for step in steps if step.undoing.retired is not Retirement.RESTORED]
    conflicts: list[UndoConflict] = []
    taken, sources = set[bytes](), SourcePhases(space, reader)
    coming = [step for step in steps if step.undoing.retired is Retirement.RESTORED]
    for step in sorted(coming, key=lambda step: -step.item.position):
        item = step.item
        slot = space.notebooks.slot_of(item)
        if sources.hides_retelling(item):
            conflicts.append(UndoConflict(item=item.id, reason=UndoObstacle.SOURCE_HIDDEN))
        elif slot in taken or any(other.id not in leaving for other in _in_use(space, reader, slot)):
            conflicts.append(UndoConflict(item=item.id, reason=UndoObstacle.SLOT_TAKEN))
        else:
            taken.add(slot)
            kept.append(step)
    return kept, conflicts


def _in_use(space: Space, reader: Reader, slot: bytes) -> Iterator[MemoryItem]:
    return (item for item in space.notebooks.in_slot(reader, slot) if item.is_active)


def _append(writer: Writer, step: ToUndo, run: str, request: LifecycleRequest) -> None:
    item, told = step
    if told.revision is not None:
        body = ItemRevised(revision=told.revision, request=request, run=run)
        revise_item(writer, item, RevisionAction.UNDO, body)
    if told.retired is not None:
        retired = ItemRetired(request=request, cause=told.retired, successor=told.successor, run=run)
        retire_item(writer, item, retired)
