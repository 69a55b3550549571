"""Whom an item is known to: the one decision about subjects (LT-22).

1. A caller that speaks for nobody in particular, as a host does, may know of everything in the space.
2. A subject may know of its own items.
3. Of the plane `shared_fact`, others may know, too: all of them, only those whom its audience names, or all but those
   whom it hides the item from. Of other planes nobody else may know.

To somebody who may not know of an item there is no such item: neither its id nor a count tells of it.
"""

from __future__ import annotations

from muniment.events.memory_items import Audience, MemoryPlane
from muniment.memory.fold import MemoryItem

ALL = Audience()


def is_known_to(item: MemoryItem, subject: str | None) -> bool:
    """Tell whether a subject may know of an item; None is a caller that speaks for nobody in particular."""
    if subject is None or subject == item.subject:
        return True
    return item.plane is MemoryPlane.SHARED_FACT and item.is_item and includes(item.audience, subject)


def includes(audience: Audience, subject: str) -> bool:
    """Tell whether an audience includes a subject."""
    return subject in audience.only if audience.only else subject not in audience.hidden_from


def audience_flaw(audience: Audience, plane: MemoryPlane, subject: str) -> str | None:
    """Return what is wrong with the audience of an item of a subject, as a code, or None."""
    if audience == ALL:
        return None
    if plane is not MemoryPlane.SHARED_FACT:
        return "not_taken"
    if audience.only and audience.hidden_from:
        return "not_one_of_these"
    return "own_subject" if subject in audience.hidden_from else None
