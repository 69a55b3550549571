"""The memory items about a subject, retired ones too, with their history, as a view shows them.

Items about somebody else stay with that person, also where they name the subject: an answer to a request for access
must not tell one person what is known about another.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec

from muniment.declaration.session import Session
from muniment.formats.writing.subject_pages import SubjectItem, WithheldItems
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import Reason, View
from muniment.log.port import Reader
from muniment.operations.memory.list_items import history_of
from muniment.operations.memory.shown_item import ItemShower


class ItemsAsShown(NamedTuple):
    """The items that a view shows, in the order of their recording, and how many it does not show."""

    items: list[SubjectItem]
    withheld: list[WithheldItems]


def notebook_streams(session: Session, subject: str) -> list[int]:
    """Return the streams of the notebooks of a subject."""
    with session.space.ledger.reader() as reader:
        return [head.stream for head in session.space.notebooks.heads(reader, subject)]


def items_as_shown(session: Session, reader: Reader, subject: str, view: View) -> ItemsAsShown:
    """Return all items about a subject, forgotten ones counted."""
    notebooks, shower = session.space.notebooks, ItemShower(session.space, reader, view)
    shown: list[tuple[int, SubjectItem]] = []
    withheld: Counter[Reason] = Counter()
    for head in notebooks.heads(reader, subject):
        changes = notebooks.changes(reader, head)
        for item in notebooks.items(reader, head):
            why = hides_item(view, item.privacy) or (Reason.ERASED if item.text is None else None)
            if why is not None:
                withheld[why] += 1
                continue
            told = SubjectItem(
                item=msgspec.to_builtins(shower.shown(item)),
                revisions=msgspec.to_builtins(list(history_of(shower, item, changes[item.number]))),
            )
            shown.append((item.position, told))
    counts = [WithheldItems(reason=reason, items=count) for reason, count in sorted(withheld.items())]
    return ItemsAsShown([told for _, told in sorted(shown, key=lambda one: one[0])], counts)
