"""Which changes of a stream are about an entry: their positions by the number of the entry.

`Changes` lists the changes of a stream by kind. Who reads a few entries of many looks theirs up here. Only positions
are kept, so nothing that was erased stays in memory.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment.kernel.locks import new_lock

if TYPE_CHECKING:
    from muniment.projections.change_fold import Changes, NotedChange

STREAMS_KEPT_MAX = 1000


class PositionsByEntry:
    """The positions of the changes of one stream, grown as the stream grows."""

    def __init__(self) -> None:
        self._single: defaultdict[int, list[int]] = defaultdict(list)
        self._several: list[NotedChange] = []
        self._taken: dict[str, int] = {}
        self._newest: dict[str, NotedChange] = {}

    def extends_to(self, changes: Changes) -> bool:
        """Tell whether these changes begin with those that were taken.

        They do where the newest taken one is the very same object: `Changes` grows by appending, so all before it are
        the same, too. What was folded inside a transaction that failed is not in it.
        """
        kinds = _kinds(changes)
        return all(
            len(kinds.get(kind, ())) >= count and kinds[kind][count - 1] is self._newest[kind]
            for kind, count in self._taken.items()
        )

    def grow(self, changes: Changes) -> None:
        """Take the changes that are new."""
        for kind, noted in _kinds(changes).items():
            for change in noted[self._taken.get(kind, 0) :]:
                if change.span.is_single:
                    insort(self._single[change.span.first], change.position)
                else:
                    self._several.append(change)
            if noted:
                self._taken[kind], self._newest[kind] = len(noted), noted[-1]

    def of(self, entry: int) -> list[int]:
        """Return the positions of the changes of an entry, ascending."""
        several = [change.position for change in self._several if change.span.includes(entry)]
        return sorted([*self._single.get(entry, ()), *several])


class ChangePositions:
    """The positions of the changes of streams, kept for those that were read last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._of: OrderedDict[int, PositionsByEntry] = OrderedDict()

    def of(self, stream: int, changes: Changes, entries: Iterable[int]) -> dict[int, list[int]]:
        """Return the positions of the changes of some entries of a stream, by entry."""
        with self._lock:
            known = self._of.get(stream)
            if known is None or not known.extends_to(changes):
                known = self._of[stream] = PositionsByEntry()
            known.grow(changes)
            self._of.move_to_end(stream)
            if len(self._of) > STREAMS_KEPT_MAX:
                self._of.popitem(last=False)
            return {entry: known.of(entry) for entry in entries}


def _kinds(changes: Changes) -> dict[str, tuple[NotedChange, ...]]:
    return {**changes.noted, "": changes.erasures}
