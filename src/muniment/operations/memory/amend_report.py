"""A request to amend an item, and the report about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from muniment.events.changes import LifecycleRequest
from muniment.memory.amendment import AmendRefusal, AnyChange
from muniment.operations.not_done import AnsweredRequest


class AmendReport(AnsweredRequest, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an amendment. One that is not accepted has a reason and changed nothing.

    `former_revision` and `revision` are the numbers before and after; `position` is that of the event, `successor`
    the id of the new item. `was_in_prompts`: prompts could hold the item as it was, so make them again.
    """

    accepted: bool
    changed: bool
    dry_run: bool
    amendment: str
    target: str
    reason: AmendRefusal | None = None
    former_revision: int | None = None
    revision: int | None = None
    position: int | None = None
    successor: str | None = None
    was_in_prompts: bool = False

    def words(self) -> Iterator[str | None]:
        """Yield why the item does not change."""
        yield self.reason


class AskedAmendment(NamedTuple):
    """One change of one item: who asks and why, and the revision that the caller has seen, if it matters."""

    item: str
    amendment: AnyChange
    request: LifecycleRequest
    expected: int | None = None
    run: str | None = None
