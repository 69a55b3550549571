"""List and show memory items through a view, as they are or as they were known at a time."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, UnknownPlace
from muniment.events.identity import Count, SubjectId, check_name
from muniment.events.memory import ItemKind, MemoryPlane, Retirement
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import SHOWS_STATEMENTS, hides_item
from muniment.governance.views import Reason, View
from muniment.kernel.times import MOMENT
from muniment.log.port import Reader
from muniment.memory.fold import ItemChange, MemoryItem
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.space.space import Space


class ItemFilter(StrEnum):
    """Which items are listed: those in use, or those that were retired, too."""

    ACTIVE = "active"
    ALL = "all"


class ListedItems(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Items of a subject, plane by plane in the order of their recording.

    `total` counts those that the view shows on all pages, `withheld` those that it does not show. `next_after` is the
    position to go on behind; absent on the last page.
    """

    items: list[ShownItem]
    total: int
    withheld: int
    next_after: int | None = None

    def covered(self) -> CoveredTurns:
        """Return the items that this shows."""
        return CoveredTurns(positions=[item.position for item in self.items])


class ItemRevision(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to an item: what, when, at whose request and why; the text that it set."""

    action: str
    position: int
    time_ms: int
    requester: str
    reason: str
    text: str | None = None
    successor: str | None = None


class ItemDetail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item with its history; without an item, `missing` says why the view shows none."""

    item: ShownItem | None = None
    revisions: list[ItemRevision] = []
    missing: Reason | None = None

    def covered(self) -> CoveredTurns:
        """Return the item that this shows."""
        return CoveredTurns(positions=[] if self.item is None else [self.item.position])


AsOf = Annotated[Count | None, Meta(description="As it was known at this time. Without it: now.", extra=MOMENT)]


class ItemSelection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which items of a subject are listed."""

    planes: Annotated[list[MemoryPlane], Meta(description="These planes only. Without any: all.")] = []
    kinds: Annotated[list[ItemKind], Meta(description="These kinds only. Without any: all.")] = []
    state: Annotated[ItemFilter, Meta(description="Items in use only, or retired ones too.")] = ItemFilter.ACTIVE
    as_of_ms: AsOf = None


EVERYTHING = ItemSelection()


def list_items(
    session: Session, subject: SubjectId, selection: ItemSelection, view: View, limit: int, after: int | None
) -> ListedItems:
    """Return a page of the items of a subject."""
    space, longest = session.space, session.space.limits.report_items_max
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    if not 1 <= limit <= longest:
        raise InvalidInput(at="limit", problem="out_of_range", limit=longest, found=limit)
    with space.ledger.reader() as reader:
        found = list(items_of(space, reader, subject, selection))
        visible = [item for item in found if hides_item(view, item.privacy) is None]
        page = [item for item in visible if after is None or item.position > after]
        shower = ItemShower(space, reader, view)
        return ListedItems(
            items=[shower.shown(item) for item in page[:limit]],
            total=len(visible),
            withheld=len(found) - len(visible),
            next_after=page[limit - 1].position if len(page) > limit else None,
        )


def items_of(space: Space, reader: Reader, subject: str, selection: ItemSelection) -> Iterator[MemoryItem]:
    """Yield the selected items of a subject, in the order of their recording; what was forgotten is not listed."""
    notebooks, found = space.notebooks, list[MemoryItem]()
    for plane in selection.planes or MemoryPlane:
        head = notebooks.head(reader, subject, plane)
        if head is not None:
            found += notebooks.items(reader, head, as_of_ms=selection.as_of_ms)
    for item in sorted(found, key=lambda item: item.position):
        is_listed = item.is_active or (selection.state is ItemFilter.ALL and item.text is not None)
        if is_listed and item.text is not None and (not selection.kinds or item.meta.kind in selection.kinds):
            yield item


def show_item(session: Session, item: str, view: View, as_of_ms: int | None) -> ItemDetail:
    """Return an item with its history; of one that was forgotten nothing is shown."""
    space = session.space
    check_name(item, at="item")
    session.access.require_view(view)
    with space.ledger.reader() as reader:
        known = known_item(session, reader, item)
        head = space.transcript.head(reader, stream_of(reader, known))
        then = next(space.notebooks.items(reader, head, [known.number], as_of_ms), None)
        if then is None:
            raise UnknownPlace(at="item")
        hidden = hides_item(view, then.privacy)
        if hidden is not None or known.retired is Retirement.FORGOTTEN:
            return ItemDetail(missing=hidden or Reason.ERASED)
        changes = [
            change
            for change in space.notebooks.changes(reader, head)[known.number]
            if as_of_ms is None or change.time_ms <= as_of_ms
        ]
        shower = ItemShower(space, reader, view)
        return ItemDetail(
            item=shower.shown(then), revisions=[_revision(shower, view, then, change) for change in changes]
        )


def known_item(session: Session, reader: Reader, item: str, at: str = "item") -> MemoryItem:
    """Return an item by its id; one of a subject that the caller may not speak for is unknown, too."""
    known = session.space.notebooks.item(reader, item)
    if known is None or session.access.subject not in {None, known.subject}:
        raise UnknownPlace(at=at)
    return known


def stream_of(reader: Reader, item: MemoryItem) -> int:
    """Return the stream that an item is in."""
    row = reader.sealed(item.position)
    assert row is not None, "the item was read from it"
    return row.stream


def _revision(shower: ItemShower, view: View, item: MemoryItem, change: ItemChange) -> ItemRevision:
    request, text = change.body.request, getattr(getattr(change.body, "revision", None), "text", None)
    shows = view in SHOWS_STATEMENTS
    return ItemRevision(
        action=getattr(change.body, "cause", change.reason),
        position=change.position,
        time_ms=change.time_ms,
        requester=request.requester,
        reason=shower.text(request.reason, item.subject) if shows else "",
        text=shower.text(text, item.subject) if text is not None and shows else None,
        successor=getattr(change.body, "successor", None),
    )
