"""A history whose turns set keys, and writers that notice each other: where the state of sessions comes from.

The id of a turn is a number, above that of the turn before it. Two writers that have seen the same newest turn take the
same number, and the store accepts one of them: the other has seen too little. So nothing is lost and no lock is needed
between processes.

A turn that sets keys says for every key which turn has set it last. The newest such turn and the turns that it names
are all that has to be read, however long the history is, and a value is kept once: where it was set. Who redacts or
erases that turn, changes or takes away the value. A turn that is hidden or erased has set nothing.

| in the item | is |
|---|---|
| `sets` | the keys that the turn sets, with their values, if they are not elsewhere in the item |
| `keys` | of every key the number of the turn that has set it last; on turns that set some, and on a first turn |
| `at` | on all other turns: the number of the newest turn that has `keys` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from muniment.errors import TurnConflict, UnknownPlace
from muniment.events.turn import Turn
from muniment.formats.parted_items import Item
from muniment.host.histories.item_history import ItemHistory, PlacedItem
from muniment.operations.transcripts.commit import ALREADY_COMMITTED
from muniment.operations.transcripts.timeline import LATEST, Anchor, AnchorKind
from muniment.runtime.runtime import Runtime

READ_TURNS_MAX = 200
ERASED_TURNS_MAX_LOG2 = 48  # numbers are tried at distances that double


class HistoryHead(NamedTuple):
    """The newest turn of a history: its number and item, and which turn has set each key. Before any turn, -1."""

    number: int
    item: Item
    keys: Mapping[str, int]
    at: int


NOTHING = HistoryHead(-1, {}, {}, -1)
NONE_KNOWN: Mapping[int, Item] = {}


class HistoryMoved(NamedTuple):
    """Somebody else has written to a history since its head was read; `head` is the new one."""

    head: HistoryHead


class KeyedHistory:
    """The numbered turns of one conversation. `values_of` returns the values that an item sets, by key."""

    def __init__(self, history: ItemHistory, values_of: Callable[[Item], Mapping[str, Any]]) -> None:
        self._history = history
        self._values_of = values_of

    def newest_first(self, size: int = READ_TURNS_MAX) -> Iterator[tuple[int, Item]]:
        """Yield numbers and items; so many turns a read."""
        return map(_numbered, self._history.placed(LATEST, size))

    def head(self) -> HistoryHead:
        """Read the newest turn."""
        return next((self.head_at(number, item) for number, item in self.newest_first(1)), NOTHING)

    def head_at(self, number: int, item: Item, known: Mapping[int, Item] = NONE_KNOWN) -> HistoryHead:
        """Return the head that the newest turn makes, which was read before; reads no turn that is known."""
        if "keys" in item:
            return HistoryHead(number, item, item["keys"], number)
        at, keys = self._keys_of(item["at"], known)
        return HistoryHead(number, item, keys, at)

    def values(self, head: HistoryHead, known: Mapping[int, Item]) -> dict[str, Any]:
        """Return the value of each key; reads the turns that are not known."""
        items = {number: known.get(number) or self._read(number) for number in sorted(set(head.keys.values()))}
        values: dict[str, Any] = {}
        for key, number in head.keys.items():
            item = items[number]
            found = {} if item is None else self._values_of(item)
            if key in found:
                values[key] = found[key]
        return values

    def _keys_of(self, at: int, known: Mapping[int, Item]) -> tuple[int, Mapping[str, int]]:
        item = known.get(at) or self._read(at)
        if item is not None and "keys" in item:
            return at, item["keys"]
        for number, shown in self.newest_first():  # the turn is hidden or erased
            if "keys" in shown:
                return number, shown["keys"]
        return NOTHING.at, NOTHING.keys

    def _read(self, number: int) -> Item | None:
        try:
            shown = next(self._history.placed(Anchor(at=AnchorKind.AROUND, turn=str(number)), 1), None)
        except UnknownPlace:
            return None
        return shown.item if shown is not None and shown.turn == str(number) else None


class NumberedWrite(NamedTuple):
    """A turn to append to a history behind a head; `made` makes it for its number and that head."""

    history: KeyedHistory
    head: HistoryHead
    made: Callable[[int, HistoryHead], tuple[Turn, Item]]


def write_all(runtime: Runtime, writes: Sequence[NumberedWrite]) -> HistoryHead | HistoryMoved:
    """Append turns in one atomic step, durably, and return the head of the first history.

    When that has got another head, nothing is appended; the others go on behind theirs. The number of a
    turn that is hidden is tried first, then others above it: whoever sees the same head tries the same ones.
    """
    heads, tries = [write.head for write in writes], [0] * len(writes)
    while True:
        numbers = [head.number + (1 << tried) for head, tried in zip(heads, tries, strict=True)]
        made = [write.made(number, head) for write, number, head in zip(writes, numbers, heads, strict=True)]
        refused = _refused(runtime, [turn for turn, _ in made])
        if not refused:
            number, item, head = numbers[0], made[0][1], heads[0]
            return HistoryHead(number, item, item.get("keys", head.keys), number if "keys" in item else head.at)
        for place in refused:
            head = writes[place].history.head()
            if head.number == heads[place].number:
                tries[place] += 1
                assert tries[place] < ERASED_TURNS_MAX_LOG2, "no history has as many turns"
            elif place == 0:
                return HistoryMoved(head)
            else:
                heads[place], tries[place] = head, 0


def _refused(runtime: Runtime, turns: list[Turn]) -> list[int]:
    """Append turns; return the places of those whose number is taken, and then nothing was appended but repeats."""
    try:
        if len(turns) == 1:
            receipts = [runtime.transcripts.commit(turns[0])]
        else:
            receipts = runtime.transcripts.commit_many(turns).receipts
    except TurnConflict as conflict:
        at = conflict.at or ""
        return [int(at[len("turns[") : at.index("]")])] if at.startswith("turns[") else [0]
    return [
        place for place, receipt in enumerate(receipts) if not receipt.committed and receipt.reason != ALREADY_COMMITTED
    ]


def _numbered(shown: PlacedItem) -> tuple[int, Item]:
    return int(shown.turn), shown.item
