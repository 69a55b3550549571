"""A page of the entries of a notebook, in the order of their recording, as far as a view shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from muniment.governance.item_visibility import hides_item
from muniment.governance.views import View
from muniment.memory.fold import MemoryItem


class ItemPage(NamedTuple):
    """The entries of a page; how many there are on all pages, how many the view hides, and behind what to go on."""

    items: Sequence[MemoryItem]
    total: int
    withheld: int
    next_after: int | None


def item_page(found: Sequence[MemoryItem], view: View, limit: int, after: int | None) -> ItemPage:
    """Return at most `limit` of some entries, those behind a position if one is given."""
    visible = [item for item in found if hides_item(view, item.privacy) is None]
    rest = [item for item in visible if after is None or item.position > after]
    next_after = rest[limit - 1].position if len(rest) > limit else None
    return ItemPage(rest[:limit], len(visible), len(found) - len(visible), next_after)
