"""What is told about a conversation: its names, the view, and its turns with the reasons for what is withheld."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from muniment.events.message import Part
from muniment.governance.slices import RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import Reason, View


class ToldTurn(NamedTuple):
    """A turn of a page, and the items of that page that are about it."""

    turn: SliceTurn
    items: list[RedactionItem]

    def withheld_of(self, message: SliceMessage) -> list[RedactionItem]:
        """Return what is withheld of a message: one item for the whole of it, or one for each part."""
        return [item for item in self.items if item.message == message.id]

    def pieces(self, message: SliceMessage) -> Iterator[Part | Reason]:
        """Yield the parts of a message in their order, a reason in the place of each one withheld."""
        if message.parts is UNSET:
            yield from (item.reason for item in self.withheld_of(message))
            return
        reasons = {item.part: item.reason for item in self.withheld_of(message) if item.part is not None}
        shown = list(message.parts)
        place = 0
        while shown or place in reasons:
            yield reasons.pop(place) if place in reasons else shown.pop(0)
            place += 1
        yield from reasons.values()


class Told(NamedTuple):
    """A conversation on its way into a document. The turns can be walked once."""

    channel: str
    conversation: str
    view: View
    turns: Iterable[ToldTurn]


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()
