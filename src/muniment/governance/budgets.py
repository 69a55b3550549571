"""What a budget did to an answer: which ceiling cut what, from how much.

A budget only ever leaves something out: turns at the end of a page; host references, attributes and report items beyond
a number.
Counts are those of the whole, and an answer from which a budget left something out lists it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from muniment.governance.profiles import Budget, BudgetCause, Ceiling, Profile
from muniment.governance.slices import RedactionItem
from muniment.governance.views import Reason


class BudgetApplied(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ceiling that cut an answer: `limit` of `found` are there.

    `found` of references and attributes is the limit and what was left out of the turn that lost most.
    """

    ceiling: Ceiling
    limit: int
    found: int
    profile: Profile
    percent: int
    limited_by: list[BudgetCause] = []


def applied(budget: Budget, found: Mapping[Ceiling, int]) -> list[BudgetApplied]:
    """Return the ceilings that are lower than what was found."""
    if budget.profile is None:
        return []
    cut = [(each, limit, count) for each, count in found.items() if (limit := budget.ceiling(each)) is not None]
    return [
        BudgetApplied(
            ceiling=each,
            limit=limit,
            found=count,
            profile=budget.profile,
            percent=budget.percent,
            limited_by=budget.limited_by,
        )
        for each, limit, count in cut
        if count > limit
    ]


def applied_to_slices(budget: Budget, items: Sequence[RedactionItem], page_turns: int = 0) -> list[BudgetApplied]:
    """Return what a budget cut from slices: `items` are all of theirs, `page_turns` the turns a page would hold."""
    if budget.profile is None:
        return []
    references = [each for each in items if each.reason is Reason.PROFILE_BUDGET and each.host_ref is not None]
    attributes = [each for each in items if each.reason is Reason.ATTR_VALUE_BUDGET]
    found = {
        Ceiling.PAGE_TURNS: page_turns,
        Ceiling.HOST_REFS_PER_TURN: (budget.host_refs_per_turn or 0) + _most_of_a_turn(references),
        Ceiling.ATTRIBUTES_PER_TURN: (budget.attributes_per_turn or 0) + _most_of_a_turn(attributes),
        Ceiling.REDACTION_ITEMS: len(items),
    }
    return applied(budget, found)


def _most_of_a_turn(items: Sequence[RedactionItem]) -> int:
    return max(Counter(each.turn for each in items).values(), default=0)
