"""What is told about a conversation: its names, the view, and its turns with the reasons for what is withheld."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from muniment.events.message import Part
from muniment.governance.slices import RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import View


class ExportedTurn(NamedTuple):
    """A turn of a page, and the items of that page that are about it."""

    turn: SliceTurn
    items: list[RedactionItem]

    def withheld_of(self, message: SliceMessage) -> list[RedactionItem]:
        """Return what is withheld of a message: an item for the whole of it, or for each part and range of a part."""
        return [item for item in self.items if item.message == message.id]

    def pieces(self, message: SliceMessage) -> Iterator[Part | RedactionItem]:
        """Yield the parts of a message in their order, each with its withheld ranges behind it.

        In the place of a part that is withheld its item is yielded.
        """
        withheld = self.withheld_of(message)
        if message.parts is UNSET:
            yield from withheld
            return
        whole = {item.part: item for item in withheld if item.start is None}
        shown = list(message.parts)
        place = 0
        while shown or place in whole:
            yield whole.pop(place) if place in whole else shown.pop(0)
            yield from (item for item in withheld if item.part == place and item.start is not None)
            place += 1
        yield from whole.values()


class ExportedConversation(NamedTuple):
    """A conversation on its way into a document. The turns can be walked once."""

    channel: str
    conversation: str
    view: View
    turns: Iterable[ExportedTurn]


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()
