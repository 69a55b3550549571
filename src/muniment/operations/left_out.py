"""What an export leaves out: turns and messages, counted by the reason why the view withholds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import Reason


class LeftOut:
    """The messages that an export withholds as a whole, and the turns without any message that it shows."""

    def __init__(self) -> None:
        self.turns_seen = self.turns = 0
        self.messages: Counter[Reason] = Counter()

    def take(self, reasons: Sequence[Reason | None]) -> None:
        """Take a turn: for each of its messages the reason why it is withheld as a whole, or None."""
        self.turns_seen += 1
        self.turns += bool(reasons) and None not in reasons
        for reason in reasons:
            if reason is not None:
                self.messages[reason] += 1

    def summary(self) -> dict[str, int]:
        """Return the counts by name."""
        counts = {f"messages_left_out_{reason}": count for reason, count in sorted(self.messages.items())}
        return {"turns_left_out": self.turns, "messages_left_out": self.messages.total(), **counts}


def reasons_of(turn: SliceTurn, items: Sequence[RedactionItem]) -> list[Reason | None]:
    """Return for each message of a turn why it is withheld as a whole, or None; `items` are those of the turn."""
    whole = {item.message: item.reason for item in items if item.part is None and item.attribute is None}
    return [whole[message.id] if message.redacted else None for message in turn.messages]
