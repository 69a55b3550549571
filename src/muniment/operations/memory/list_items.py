"""List and show memory items through a view, as they are or as they were known at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import UnknownPlace
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import ItemRetired, ItemRevised
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import SHOWS_STATEMENTS, hides_item
from muniment.governance.views import Reason, View
from muniment.log.port import Reader
from muniment.memory.fold import ItemChange, MemoryItem
from muniment.operations.memory.item_changes import stream_of
from muniment.operations.memory.item_page import item_page
from muniment.operations.memory.item_sources import known_to
from muniment.operations.memory.selection import ItemSelection, items_of
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.operations.page import check_limit


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
    """One thing that happened to an item: what and when, and where a correction changed the text, both texts.

    Views that show where something came from also show at whose request and why. Of an item of somebody else nothing is
    told but what happened and when.
    """

    action: str
    position: int
    time_ms: int
    requester: str | None = None
    reason: str | None = None
    former_text: str | None = None
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


def list_items(
    session: Session, subject: SubjectId, selection: ItemSelection, view: View, limit: int, after: int | None
) -> ListedItems:
    """Return a page of the items of a subject."""
    space = session.space
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    check_limit(limit, space.limits.report_items_max)
    with space.ledger.reader() as reader:
        page = item_page(list(items_of(space, reader, subject, selection)), view, limit, after)
        shower = ItemShower(space, reader, view, session.access.subject)
        return ListedItems(
            items=[shower.shown(item) for item in page.items],
            total=page.total,
            withheld=page.withheld,
            next_after=page.next_after,
        )


def show_item(session: Session, item: str, view: View, as_of_ms: int | None) -> ItemDetail:
    """Return an item with its history; of one that was forgotten nothing is shown."""
    space = session.space
    check_name(item, at="item")
    session.access.require_view(view)
    with space.ledger.reader() as reader:
        known = space.notebooks.item(reader, item)
        if known is None or not known_to(session, known) or not known.is_item:
            raise UnknownPlace(at="item")
        head = space.transcript.head(reader, stream_of(reader, known))
        then = next(space.notebooks.items(reader, head, [known.number], as_of_ms), None)
        if then is None:
            raise UnknownPlace(at="item")
        hidden = hides_item(view, then.privacy)
        if hidden is not None or known.text is None:
            return ItemDetail(missing=hidden or Reason.ERASED)
        changes = changes_of(session, reader, known, as_of_ms)
        shower = ItemShower(space, reader, view, session.access.subject)
        return ItemDetail(item=shower.shown(then), revisions=list(history_of(shower, then, changes)))


def changes_of(session: Session, reader: Reader, item: MemoryItem, as_of_ms: int | None = None) -> list[ItemChange]:
    """Return what targets an item, in log order, until a time if one is given."""
    space = session.space
    found = space.notebooks.changes(reader, space.transcript.head(reader, stream_of(reader, item)))[item.number]
    return [change for change in found if as_of_ms is None or change.time_ms <= as_of_ms]


def history_of(shower: ItemShower, item: MemoryItem, changes: Iterable[ItemChange]) -> Iterator[ItemRevision]:
    """Yield what happened to an item, as the view shows it."""
    assert item.content is not None, "an item that is shown has words"
    tells_words = shower.view in SHOWS_STATEMENTS and shower.is_owner(item)
    former = item.content.text
    for change in changes:
        body, request = change.body, change.body.request
        text = body.revision.text if isinstance(body, ItemRevised) else None
        revision = ItemRevision(
            action=body.cause if isinstance(body, ItemRetired) else change.reason,
            position=change.position,
            time_ms=change.time_ms,
            successor=shower.known(body.successor) if isinstance(body, ItemRetired) else None,
        )
        if shower.tells_origin(item):
            reason = shower.text(request.reason, item.subject)
            revision = replace(revision, requester=request.requester, reason=reason)
        if tells_words and text is not None and not shower.hides_words(item):
            before, after = (shower.text(words, item.subject) for words in (former, text))
            revision = replace(revision, former_text=before, text=after)
        former = former if text is None else text
        yield revision
