"""Memory items that were forgotten where an archive goes: they do not come back with it.

An item of the archive comes without its words when it was forgotten here, in any stream that the notebook ever had. So
does one that was never here, when one of the same slot was forgotten that rests on the same turns.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.events.changes import LifecycleRequest
from muniment.events.memory_items import ItemMeta, ItemRetired, MemoryPlane, Retirement
from muniment.log.port import Reader
from muniment.memory.fold import ItemChange, MemoryItem
from muniment.memory.merging import rests_on
from muniment.space.space import Space


class ForgottenItems:
    """The items that a notebook had here, and of those that somebody had forgotten, who asked for it."""

    def __init__(self) -> None:
        self._requests: dict[str, LifecycleRequest | None] = {}  # by id; None: it was not forgotten
        self._by_position: dict[int, tuple[MemoryItem, LifecycleRequest]] = {}

    def take(self, item: MemoryItem, changes: Iterable[ItemChange]) -> None:
        """Take an item, with its changes, which say who asked."""
        requests = [
            change.body.request
            for change in changes
            if isinstance(change.body, ItemRetired) and change.body.cause is Retirement.FORGOTTEN
        ]
        if not requests:
            self._requests.setdefault(item.id, None)
            return
        self._requests[item.id] = requests[0]
        self._by_position[item.position] = item, requests[0]

    def fence(self, meta: ItemMeta, positions: Iterable[int]) -> LifecycleRequest | None:
        """Return who had this item forgotten, or one at these positions that rests on all of its turns; or None.

        An item that was here beside the forgotten one, and was not meant, is let in.
        """
        if meta.item in self._requests:
            return self._requests[meta.item]
        sources = rests_on(meta)
        for position in positions:
            item, request = self._by_position.get(position, (None, None))
            if item is not None and sources and sources <= rests_on(item.meta):
                return request
        return None


def forgotten_items(space: Space, reader: Reader, subject: str, plane: MemoryPlane) -> ForgottenItems:
    """Return what was forgotten here of a notebook, in all streams that it ever had."""
    notebooks, found = space.notebooks, ForgottenItems()
    now = notebooks.head(reader, subject, plane)
    heads = [space.transcript.head(reader, each) for each in notebooks.former_streams(reader, subject, plane)]
    for head in heads if now is None else [*heads, now]:
        changes = notebooks.changes(reader, head)
        for item in notebooks.items(reader, head):
            found.take(item, changes[item.number])
    return found
