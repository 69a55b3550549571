"""Which attributes the turns of a conversation have: the newest event of each id, by turn.

A write of a known id names the same turn and message (decision 0060), so that all that was ever recorded under an id
is destroyed with one turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class LatestAttribute(NamedTuple):
    """The position of the newest event of an id, and the message that it is about; None: the turn."""

    position: int
    message: int | None


class AttributeIndex(NamedTuple):
    """The attributes of a stream: by turn and id, and the turn of each id."""

    by_turn: Mapping[int, Mapping[str, LatestAttribute]] = {}
    turn_of: Mapping[str, int] = {}

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        return [[turn, sorted([name, *at] for name, at in each.items())] for turn, each in sorted(self.by_turn.items())]

    def of(self, turn: int) -> Mapping[str, LatestAttribute]:
        """Return the attributes of a turn by their ids."""
        return self.by_turn.get(turn, {})

    def known(self, attribute: str) -> tuple[int, int | None] | None:
        """Return the turn and the message that an id is about, or None when it is free."""
        turn = self.turn_of.get(attribute)
        return None if turn is None else (turn, self.by_turn[turn][attribute].message)

    def is_newest(self, turn: int, attribute: str, position: int) -> bool:
        """Return whether an event is the newest of its id."""
        latest = self.of(turn).get(attribute)
        return latest is not None and latest.position == position


class AttributeIndexBuilder:
    """Grows the attributes of a stream; what was known is copied when there is something to add."""

    def __init__(self, known: AttributeIndex) -> None:
        self._known = known
        self._by_turn: dict[int, dict[str, LatestAttribute]] = {}
        self._turn_of: dict[str, int] = {}

    def add(self, turn: int, attribute: str, recorded: LatestAttribute) -> None:
        """Take the next event; one of a known id replaces it."""
        if turn not in self._by_turn:
            self._by_turn[turn] = dict(self._known.of(turn))
        self._by_turn[turn][attribute] = recorded
        self._turn_of[attribute] = turn

    def grown(self) -> AttributeIndex:
        """Return all that is known now."""
        if not self._turn_of:
            return self._known
        return AttributeIndex({**self._known.by_turn, **self._by_turn}, {**self._known.turn_of, **self._turn_of})
