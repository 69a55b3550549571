"""What became of candidates, as every operation tells it that takes some."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.memory.candidate import Ruling
from muniment.operations.not_done import AnsweredRequest


class RememberedCandidate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a candidate: what was decided, why, and the item that says it now.

    `replaces` is the item that it took the place of, `evicted` are those that made room for it, `policy` is the one
    that stopped it. `likeness` is the share of its words that it has in common with the item that was in its slot.
    """

    decision: Ruling
    reason: str
    changed: bool
    item: str | None = None
    position: int | None = None
    replaces: str | None = None
    likeness: float | None = None
    policy: str | None = None
    evicted: list[str] = []

    @property
    def would_change(self) -> bool:
        """Whether recording it would change anything."""
        return self.is_accepted and self.item is None

    @property
    def is_accepted(self) -> bool:
        """Whether it is remembered, from now on or from before."""
        return self.decision is Ruling.ACCEPT


class RememberReport(AnsweredRequest, frozen=True, kw_only=True, omit_defaults=False):
    """What became of each candidate, in their order; `recorded` of them are new items."""

    dry_run: bool
    recorded: int
    candidates: list[RememberedCandidate]

    def words(self) -> Iterator[str | None]:
        """Yield what was decided about each candidate."""
        yield from (candidate.decision for candidate in self.candidates)
