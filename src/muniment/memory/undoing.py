"""Undoing: what takes back everything that a run of a writer did to an item.

1. What the run recorded goes out of use; what it retired, restored or revised is again as it was before.
2. An item that was forgotten stays forgotten, and one that somebody else changed since the run is left alone; both are
   reported.
3. Where nothing is left of what the run did, there is nothing to undo. So undoing twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from muniment.events.memory_items import Retirement, Revision
from muniment.memory.fold import REVISED, ItemChange, MemoryItem, folded


class UndoObstacle(StrEnum):
    """Why what a run did to an item is not undone."""

    CHANGED_SINCE = "changed_since"
    FORGOTTEN = "forgotten"
    SLOT_TAKEN = "slot_taken"
    SOURCE_HIDDEN = "source_hidden"


class Undoing(NamedTuple):
    """What takes back what a run did to an item: how it is retired or restored, and what is revised."""

    retired: Retirement | None = None  # `RESTORED`: it is in use again
    successor: str | None = None
    revision: Revision | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to take back."""
        return self.retired is None and self.revision is None


NOTHING = Undoing()


def undoing(recorded: MemoryItem, changes: Sequence[ItemChange], run: str) -> Undoing | UndoObstacle:
    """Return what takes back what a run did to an item, given the item as it was recorded and what targets it."""
    mine = [place for place, change in enumerate(changes) if change.run == run]
    is_recorded_by_it = recorded.meta.run == run
    if not mine and not is_recorded_by_it:
        return NOTHING
    now, left = folded(recorded, changes), folded(recorded, changes[: mine[-1] + 1 if mine else 0])
    if is_recorded_by_it:
        difference = Undoing(retired=Retirement.UNDONE) if left.is_active else NOTHING
    else:
        difference = _difference(left, folded(recorded, changes[: mine[0]]))
    if difference.is_nothing:
        return NOTHING
    if now.text is None:
        return UndoObstacle.FORGOTTEN
    since = changes[mine[0] if mine and not is_recorded_by_it else 0 :]
    return UndoObstacle.CHANGED_SINCE if any(change.run != run for change in since) else difference


def _difference(now: MemoryItem, before: MemoryItem) -> Undoing:
    """Return what makes of an item what it was before."""
    told = {name: getattr(before, name) for name in REVISED if getattr(now, name) != getattr(before, name)}
    revision = Revision(**told) if told else None
    if (now.retired, now.successor) == (before.retired, before.successor):
        return Undoing(revision=revision)
    return Undoing(before.retired or Retirement.RESTORED, before.successor, revision)
