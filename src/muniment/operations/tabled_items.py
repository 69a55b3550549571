"""Memory items as rows of the tables: those that a view lists, as it shows them, and the turns that they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from muniment.governance.access import Access
from muniment.governance.item_visibility import SHOWS_EVIDENCE, hides_item
from muniment.governance.views import View
from muniment.memory.audience import is_known_to
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.shown_item import ItemShower, ShownItem

if TYPE_CHECKING:
    from muniment.log.port import Reader
    from muniment.space.space import Space
    from muniment.tables.table_forms import Row

# members of a shown item that are columns under their own names; the others are written as JSON, or told elsewhere
PLAIN = (
    "position", "id", "subject", "plane", "kind", "name", "topic", "text", "title", "summary", "note", "confidence",
    "band", "importance", "privacy", "scope", "source_type", "freshness", "stale", "revision", "evidence_count",
    "observed_ms", "recorded_ms", "confirmed_ms", "expires_ms", "retired", "successor", "writer", "origin", "withheld",
)  # fmt: skip
LISTS = ("keywords", "tags", "entities")
FLAGS = ("pinned", "disabled")


def memory_rows(space: Space, view: View, access: Access, reader: Reader) -> Iterator[Row]:
    """Yield the rows of all items that a view lists to an access, in or out of use, in one state of the log.

    Memory is in no channel, so who is kept to channels sees none of it.
    """
    if access.channels is not None:
        return
    to = access.subject
    shower = ItemShower(space, reader, view, to)
    for head in space.notebooks.every_head(reader):
        for item in space.notebooks.items(reader, head):
            if item.text is not None and _is_listed(item, view, to):
                shown = shower.shown(item)
                yield _item(shown)
                if view in SHOWS_EVIDENCE and shower.is_owner(item):
                    yield from _evidence(item, shown)


def _is_listed(item: MemoryItem, view: View, to: str | None) -> bool:
    return item.is_item and is_known_to(item, to) and hides_item(view, item.privacy) is None


def _item(shown: ShownItem) -> Row:
    values = {name: getattr(shown, name) for name in PLAIN}
    values |= {name: _json(getattr(shown, name)) for name in LISTS}
    values |= {name: int(getattr(shown, name)) for name in FLAGS}
    return "items", values | {"audience": None if shown.audience is None else _json(shown.audience)}


def _evidence(item: MemoryItem, shown: ShownItem) -> Iterator[Row]:
    for place, (source, told) in enumerate(zip(item.evidence, shown.evidence, strict=True)):
        yield (
            "item_evidence",
            {
                "position": item.position,
                "place": place,
                "channel": source.channel,
                "conversation": source.conversation,
                "turn": source.turn,
                "message": source.message,
                "phase": told.phase,
            },
        )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
