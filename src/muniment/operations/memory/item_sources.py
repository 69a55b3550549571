"""Where memory items are and whom they concern, and which turns a request may name as their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muniment.events.identity import SubjectId
from muniment.events.memory_items import MemoryPlane
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.audience import is_known_to
from muniment.memory.candidate import ItemSource
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import REFERENCES
from muniment.operations.provenance.derivations import (
    Derivation,
    Positions,
    PreparedDerivation,
    append_derivation,
    check_derivation,
    prepared_derivation,
)

if TYPE_CHECKING:
    from muniment.declaration.session import Session


class Derived(NamedTuple):
    """The item that was derived from something: its id, its plane, and whose it is. `is_new`: the id was just drawn."""

    item: str
    plane: MemoryPlane
    subject: SubjectId
    is_new: bool = False


def known_to(session: Session, item: MemoryItem) -> bool:
    """Tell whether the caller may know of an item."""
    return is_known_to(item, session.access.subject)


def owned_by(session: Session, item: MemoryItem) -> bool:
    """Tell whether the caller may change an item: it is of a subject that the caller may speak for."""
    return session.access.subject in {None, item.subject}


def derived_from(
    session: Session, reader: Reader, whose: Derived, source: ItemSource, at: str, now_ms: int
) -> PreparedDerivation:
    """Return the link from an item to a turn, checked against that; `at` is its path in the request."""
    given = Derivation(
        plane=REFERENCES[whose.plane],
        key=whose.item,
        subject=whose.subject,
        conversation=source.conversation,
        turn=source.turn,
        message=source.message,
    )
    check_derivation(session, given, at)
    return prepared_derivation(session.seen, reader, given, at, now_ms, is_new=whose.is_new)


def append_links(session: Session, writer: Writer, whose: Derived, sources: list[ItemSource], now_ms: int) -> None:
    """Append the links from an item to turns that are not there yet; the turns were checked before."""
    positions: Positions = {}
    for number, source in enumerate(sources):
        link = derived_from(session, writer.tx, whose, source, f"evidence[{number}]", now_ms)
        append_derivation(session.space, writer, link, positions)
