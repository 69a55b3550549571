"""Amend: one change of one item, on record with who asked for it and why."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import Conflict, InvalidInput
from muniment.events.memory_items import ItemRetired, ItemRevised, Retirement, RevisionAction
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.amendment import (
    AmendRefusal,
    InvalidateItem,
    RestoreItem,
    SupersedeItem,
    amendment_name,
    refusal_of,
    retirement_of,
    revision_of,
)
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.amend_report import AmendReport, AskedAmendment
from muniment.operations.memory.item_changes import retire_item, revise_item
from muniment.operations.memory.item_sources import Derived, derived_from, owned_by
from muniment.operations.memory.item_writes import ItemsOfRun, record_item, record_run
from muniment.operations.memory.kept_amendment import kept_amendment
from muniment.operations.memory.prepared_items import PreparedItem, Writing
from muniment.operations.memory.source_phases import SourcePhases
from muniment.operations.memory.successors import prepared_successor, require_shown


def amend(session: Session, asked: AskedAmendment, *, dry_run: bool) -> AmendReport:
    """Change an item, or say why nothing changes."""
    space = session.space
    with space.ledger.reader() as reader:
        item = space.notebooks.item(reader, asked.item)
        if item is None or not owned_by(session, item):
            return _report(asked, None, AmendRefusal.TARGET_NOT_FOUND, dry_run=dry_run)
        asked = asked._replace(amendment=kept_amendment(session, item, asked.amendment))
        refusal = _refusal(session, reader, item, asked)
        if refusal is not None or dry_run:
            return _report(asked, item, refusal, dry_run=dry_run)
        prepared = _prepared(session, reader, item, asked)
    return space.ledger.transact(lambda writer: _append(session, writer, asked, item, prepared))


def _writing(asked: AskedAmendment) -> Writing:
    return Writing(asked.request.requester, asked.run, asked.request.requested_ms)


def _refusal(session: Session, reader: Reader, item: MemoryItem, asked: AskedAmendment) -> AmendRefusal | None:
    """Return why the item does not change, or None; another revision than the caller has seen is a `Conflict`."""
    if asked.expected is not None and asked.expected != item.revision:
        raise Conflict(at="revision", problem="differs", limit=asked.expected, found=item.revision)
    refusal = refusal_of(item, asked.amendment)
    if refusal is not None or not isinstance(asked.amendment, RestoreItem):
        return refusal
    assert item.content is not None, "an item with a text has the rest of its words"
    if SourcePhases(session.space, reader).hides_retelling(item):
        return AmendRefusal.SOURCE_HIDDEN
    notebooks = session.space.notebooks
    taken = any(other.is_active for other in notebooks.in_slot(reader, notebooks.slot_of(item)))
    return AmendRefusal.SLOT_TAKEN if taken else None


def _prepared(
    session: Session, reader: Reader, item: MemoryItem, asked: AskedAmendment
) -> PreparedItem | ItemRetired | None:
    """Return what is recorded where an item gives way to another one, goes out of use or comes back."""
    if isinstance(asked.amendment, SupersedeItem):
        return prepared_successor(session, reader, item, asked.amendment, _writing(asked))
    return _retirement(session, reader, item, asked)


def _retirement(session: Session, reader: Reader, item: MemoryItem, asked: AskedAmendment) -> ItemRetired | None:
    """Return what is recorded of an item that goes out of use, or comes back."""
    amendment, request, cause = asked.amendment, asked.request, retirement_of(asked.amendment)
    if not isinstance(amendment, InvalidateItem):
        return None if cause is None else ItemRetired(request=request, cause=cause, run=asked.run)
    if not amendment.evidence:
        raise InvalidInput(at="amendment.evidence", problem="empty")
    whose = Derived(item.id, item.plane, item.subject)
    links = [
        derived_from(session, reader, whose, source, f"amendment.evidence[{number}]", request.requested_ms)
        for number, source in enumerate(amendment.evidence)
    ]
    return ItemRetired(
        request=request,
        cause=Retirement.INVALIDATED,
        ground=amendment.ground,
        evidence=[link.body.source for link in links],
        run=asked.run,
    )


def _append(
    session: Session,
    writer: Writer,
    asked: AskedAmendment,
    before: MemoryItem,
    prepared: PreparedItem | ItemRetired | None,
) -> AmendReport:
    """Judge again, since others may have changed the item meanwhile, and append."""
    space = session.space
    item = space.notebooks.item(writer.tx, asked.item)
    assert item is not None, "what was recorded stays"
    refusal = _refusal(session, writer.tx, item, asked)
    if refusal is not None:
        return _report(asked, item, refusal)
    if isinstance(prepared, PreparedItem):
        if item != before:  # the successor has the privacy and the audience that the item has now
            assert isinstance(asked.amendment, SupersedeItem), "nothing else has a successor"
            prepared = prepared_successor(session, writer.tx, item, asked.amendment, _writing(asked))
        require_shown(prepared, space, writer.tx)
        history = space.notebooks.in_slot(writer.tx, prepared.slot)
        position = record_item(space, writer, prepared, asked.request.reason, _writing(asked), history)
        _note_run(writer, asked, ItemsOfRun(recorded=[prepared.meta.item], retired=[item.id]))
        return _report(asked, item, None, position=position, successor=prepared.meta.item)
    if prepared is not None:
        position = retire_item(writer, item, prepared)
        _note_run(writer, asked, ItemsOfRun(retired=[item.id]))
        return _report(asked, item, None, position=position)
    revision = revision_of(asked.amendment, asked.request.requested_ms)
    assert revision is not None, "the others were handled"
    body = ItemRevised(revision=revision, request=asked.request, run=asked.run)
    position = revise_item(writer, item, RevisionAction(amendment_name(asked.amendment)), body)
    _note_run(writer, asked, ItemsOfRun(revised=[item.id]))
    return _report(asked, item, None, position=position)


def _note_run(writer: Writer, asked: AskedAmendment, did: ItemsOfRun) -> None:
    if asked.run is not None:
        record_run(writer, _writing(asked), did)


def unknown_target(amendment: str, target: str) -> AmendReport:
    """Return the report about an item that is not there."""
    reason = AmendRefusal.TARGET_NOT_FOUND
    return AmendReport(accepted=False, changed=False, dry_run=False, amendment=amendment, target=target, reason=reason)


def _report(
    asked: AskedAmendment,
    item: MemoryItem | None,
    refusal: AmendRefusal | None,
    *,
    dry_run: bool = False,
    position: int | None = None,
    successor: str | None = None,
) -> AmendReport:
    revises = position is not None and revision_of(asked.amendment, 0) is not None
    return AmendReport(
        accepted=refusal in {None, AmendRefusal.NOTHING_CHANGED} and not dry_run,
        changed=position is not None,
        dry_run=dry_run,
        amendment=amendment_name(asked.amendment),
        target=asked.item,
        reason=refusal,
        former_revision=None if item is None else item.revision,
        revision=None if item is None else item.revision + revises,
        position=position,
        successor=successor,
        was_in_prompts=item is not None and item.is_in_prompts,
    )
