"""What a benchmark reports: one row for each figure, with its target where the design sets one."""

from __future__ import annotations

from msgspec import Struct


class Figure(Struct, frozen=True, kw_only=True):
    """One row of the report. `met` is None where the design sets no target; `profile` names the path to look into."""

    subject: str
    what: str
    measured: str
    target: str | None = None
    met: bool | None = None
    note: str = ""
    profile: str | None = None


def at_most(value: float, limit: float) -> bool:
    """Tell whether a figure that wants to be small is met."""
    return value <= limit


def at_least(value: float, limit: float) -> bool:
    """Tell whether a figure that wants to be large is met."""
    return value >= limit
