"""The input of every export format: the names of a conversation, the view, and its turns with redaction items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from muniment.events.message import Part
from muniment.governance.slices import RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import View


class ExportedTurn(NamedTuple):
    """A turn of a page and its redaction items."""

    turn: SliceTurn
    items: list[RedactionItem]

    def withheld_of(self, message: SliceMessage) -> list[RedactionItem]:
        """Return the redaction items of a message: one for all of it, or one for each part and range of a part."""
        return [item for item in self.items if item.message == message.id]

    def pieces(self, message: SliceMessage) -> Iterator[Part | RedactionItem]:
        """Yield the parts of a message in order, each followed by the items of its withheld ranges.

        A withheld part is replaced by its item.
        """
        withheld = self.withheld_of(message)
        if message.redacted:
            yield from withheld
            return
        whole = {item.part: item for item in withheld if item.start is None}
        shown = list(message.parts)
        index = 0
        while shown or index in whole:
            yield whole.pop(index) if index in whole else shown.pop(0)
            yield from (item for item in withheld if item.part == index and item.start is not None)
            index += 1
        yield from whole.values()


class ExportedConversation(NamedTuple):
    """A conversation to export. The turns can be iterated once."""

    channel: str
    conversation: str
    view: View
    turns: Iterable[ExportedTurn]


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()
