"""Who sees what of a memory item: views as tables, in the words of `governance.views` (LT-06, LT-10).

What a view does not show of items is counted and never described.
"""

from __future__ import annotations

from muniment.events.memory_items import ItemPrivacy
from muniment.governance.views import SHOWS_DIALOGUE, SHOWS_ORIGIN, Reason, View

_SHARED = frozenset({ItemPrivacy.PUBLIC_RUNTIME, ItemPrivacy.SHARED_WITH_SUBJECT})

# view -> the privacies of items that it shows
SHOWS_PRIVACIES: dict[View, frozenset[ItemPrivacy]] = {
    View.RAW_OWNER: frozenset(ItemPrivacy),
    View.MODEL_CONTEXT: _SHARED,
    View.HOST_UI: _SHARED,
    View.OPERATOR_AUDIT: _SHARED | {ItemPrivacy.OPERATOR_DIAGNOSTIC},
    View.EXPORT: _SHARED,
}

# views that show what an item says, and views that show which turns it rests on
SHOWS_STATEMENTS = SHOWS_DIALOGUE
SHOWS_EVIDENCE = SHOWS_ORIGIN


def hides_item(view: View, privacy: ItemPrivacy) -> Reason | None:
    """Return why a view does not show an item at all, or None."""
    if privacy in SHOWS_PRIVACIES[view]:
        return None
    return Reason.OPERATOR_ONLY if privacy is ItemPrivacy.OPERATOR_DIAGNOSTIC else Reason.PRIVATE_AUTHORITY
