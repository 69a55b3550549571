"""How the memory of a space stands: counts alone, over all subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muniment.events.memory_items import Retirement
from muniment.memory.fold import EvidenceState, evidence_state
from muniment.memory.policies import STOPS, in_force
from muniment.operations.memory.source_phases import SourcePhases, is_gone

if TYPE_CHECKING:
    from muniment.space.space import Space


class MemoryCounts(NamedTuple):
    """Items in use, those of them that need a review, proposals to decide about, and policies that stop something."""

    items_in_use: int
    items_to_review: int
    proposals_open: int
    policies_stopping: int


def memory_counts(space: Space) -> MemoryCounts | None:
    """Return how memory stands, or None in a space that has none."""
    now_ms = space.sources.clock.now_ms()
    with space.ledger.reader() as reader:
        policies = list(space.notebooks.policies(reader))
        heads = list(space.notebooks.every_head(reader))
        if not policies and not heads:
            return None
        sources = SourcePhases(space, reader)
        in_use = to_review = proposals = 0
        for head in heads:
            for item in space.notebooks.items(reader, head):
                proposals += item.retired is Retirement.PROPOSED and item.text is not None
                if item.holds_at(now_ms):
                    state = evidence_state(item, now_ms, is_source_gone=any(map(is_gone, sources.left(item))))
                    in_use += 1
                    to_review += state is EvidenceState.NEEDS_REVIEW
        stopping = sum(policy.event.action in STOPS for policy in in_force(policies, now_ms))
    return MemoryCounts(in_use, to_review, proposals, stopping)
