"""A page as one view shows it: of each part of a message the part, or what withholds it and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from muniment.events.changes import RedactionReason
from muniment.events.message import BlobPart, Part
from muniment.formats.parted_items import ItemShape, decode_shapes
from muniment.formats.turn_items import SHAPES_TYPE
from muniment.governance.slices import RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import Reason

POPPED = RedactionReason.OTHER


class SeenPage:
    """The messages of a page as a view shows them."""

    def __init__(
        self,
        turns: Iterable[SliceTurn],
        items: Iterable[RedactionItem],
        digest: str | None = None,
        *,
        has_older: bool = False,
        has_newer: bool = False,
    ) -> None:
        self.has_older = has_older
        self.has_newer = has_newer
        self.digest = digest
        self.turns = {turn.sequence: turn for turn in turns}
        self._whole: dict[str, RedactionItem] = {}
        self._parts: defaultdict[str, dict[int, RedactionItem]] = defaultdict(dict)
        self.withheld: set[str] = set()
        for item in items:
            if item.message is None or item.attribute is not None:
                continue
            self.withheld.add(item.message)
            if item.start is None:
                if item.part is None:
                    self._whole[item.message] = item
                else:
                    self._parts[item.message][item.part] = item

    def parts(self, message: SliceMessage, count: int) -> list[Part | RedactionItem | None]:
        """Return so many parts of a message, each as it is shown or what withholds it; None where that is not said."""
        if message.redacted:
            return [self._whole.get(message.id)] * count
        withheld = self._parts.get(message.id, {})
        if len(message.parts) + len(withheld) != count:  # a profile leaves out items
            return [None] * count
        shown = iter(message.parts)
        return [withheld.get(place) or next(shown) for place in range(count)]


def shapes_of(turn: SliceTurn) -> list[ItemShape]:
    """Return the shapes of the items of a turn as its owner sees it; none of a turn that has no items."""
    last = turn.messages[-1].parts[0] if turn.messages and turn.messages[-1].parts else None
    if not isinstance(last, BlobPart) or last.mime_type != SHAPES_TYPE:
        return []
    return decode_shapes(last.content)


def is_policy(seen: Part | RedactionItem | None) -> bool:
    """Tell whether the policy of a view alone withholds a part; a redaction that does so, too, is among its causes."""
    return isinstance(seen, RedactionItem) and seen.reason is Reason.VIEW_POLICY and not seen.causes


def is_popped(seen: Part | RedactionItem | None) -> bool:
    """Tell whether a part was popped."""
    return isinstance(seen, RedactionItem) and POPPED in seen.causes


def marker(part: Part | RedactionItem | None) -> Part | str:
    """Return a part, or what an item shows instead of one that is withheld."""
    if part is None:
        return f"[{Reason.REDACTED}]"
    if isinstance(part, RedactionItem):
        return f"[{reason_of(part)}: {', '.join(part.causes)}]" if part.causes else f"[{part.reason}]"
    return part


def reason_of(part: Part | RedactionItem | None) -> Reason | None:
    """Return why a part is withheld; None for one that is shown."""
    if part is None:
        return Reason.REDACTED
    if not isinstance(part, RedactionItem):
        return None
    return Reason.REDACTED if part.reason is Reason.VIEW_POLICY and part.causes else part.reason
