"""The effect of a budget on a response: which ceiling cut what, and from how much.

A budget omits turns at the end of a page, and host references, attributes and report items beyond a number. Counts
include what was omitted, and a response lists the ceilings that cut it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from muniment.governance.profiles import Budget, BudgetCause, Ceiling, Profile
from muniment.governance.slices import RedactionItem
from muniment.governance.views import Reason


class BudgetApplied(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ceiling that cut a response to `limit` of `found`.

    For references and attributes, `found` is that of the turn from which most were omitted.
    """

    ceiling: Ceiling
    limit: int
    found: int
    profile: Profile
    percent: int
    limited_by: list[BudgetCause] = []


def applied(budget: Budget, counts: Mapping[Ceiling, int]) -> list[BudgetApplied]:
    """Return the ceilings that are lower than the counts."""
    if budget.profile is None:
        return []
    return [
        BudgetApplied(
            ceiling=ceiling,
            limit=limit,
            found=count,
            profile=budget.profile,
            percent=budget.percent,
            limited_by=budget.limited_by,
        )
        for ceiling, count in counts.items()
        if (limit := budget.ceiling(ceiling)) is not None and count > limit
    ]


def applied_to_slices(budget: Budget, items: Sequence[RedactionItem], page_turns: int = 0) -> list[BudgetApplied]:
    """Return the ceilings that cut slices: `items` are all their redactions, `page_turns` the turns of a whole page."""
    if budget.profile is None:
        return []
    references = [item for item in items if item.reason is Reason.PROFILE_BUDGET and item.host_ref is not None]
    attributes = [item for item in items if item.reason is Reason.ATTR_VALUE_BUDGET]
    counts = {
        Ceiling.PAGE_TURNS: page_turns,
        Ceiling.HOST_REFS_PER_TURN: (budget.host_refs_per_turn or 0) + _turn_max(references),
        Ceiling.ATTRIBUTES_PER_TURN: (budget.attributes_per_turn or 0) + _turn_max(attributes),
        Ceiling.REDACTION_ITEMS: len(items),
    }
    return applied(budget, counts)


def _turn_max(items: Sequence[RedactionItem]) -> int:
    return max(Counter(item.turn for item in items).values(), default=0)
