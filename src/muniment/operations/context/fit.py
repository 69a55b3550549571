"""How many of the newest turns fit into a budget.

Units are added from the newest on, until one does not fit; an older one never takes its place. System text that is
included already costs nothing. Where a shape has the user begin and the oldest unit does not, an opening is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from muniment.events.message import Role, TextPart
from muniment.operations.context.cost import NOTHING, Meter, RemainingBudget
from muniment.operations.context.pairs import Unit
from muniment.operations.context.prompt import StopReason
from muniment.operations.context.prompt_lines import OPENING, Line


class Fitted(NamedTuple):
    """The units from `first` on fit. `bound` is what ended them, `chars_over` how many characters were too many."""

    first: int
    bound: StopReason | None = None
    chars_over: int = 0


class Rules(NamedTuple):
    """How lines are counted, whether the user has to begin, and the system text that is there already."""

    meter: Meter
    user_first: bool
    system: tuple[str, ...]


def fit(units: Sequence[Unit], room: RemainingBudget, rules: Rules) -> Fitted:
    """Return how many of the newest units a room holds."""
    opening = rules.meter.cost([OPENING])
    taken, best = NOTHING, len(units)
    seen = set(rules.system)
    first: Line | None = None
    for place in range(len(units) - 1, -1, -1):
        unit = units[place]
        system = [text for turn in unit.turns for text in turn.system if text not in seen]
        taken = taken.plus(rules.meter.cost([*unit.lines, *system_lines(dict.fromkeys(system))]))
        if not room.holds(taken):
            if taken.tokens > room.tokens:
                return Fitted(best, StopReason.TOKENS)
            return Fitted(best, StopReason.CHARS, taken.chars - (room.chars or 0))
        seen.update(system)
        first = unit.lines[0] if unit.lines else first
        if first is None or not opens(first, rules.user_first) or room.holds(taken.plus(opening)):
            best = place
    return Fitted(best, None if best == 0 else StopReason.TOKENS)


def opens(first: Line, user_first: bool) -> bool:
    """Tell whether lines need an opening before the first of them."""
    return user_first and first.role is not Role.USER


def system_lines(texts: Iterable[str]) -> list[Line]:
    """Return system text as lines."""
    return [Line(Role.SYSTEM, (TextPart(content=text),)) for text in texts]
