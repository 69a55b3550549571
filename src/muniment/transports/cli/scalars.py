"""Scalars as text, and the end of many pages: what a budget left out, and the cursors to go on."""

from __future__ import annotations

from base64 import b64encode
from enum import Enum
from typing import Any

from muniment.governance.budgets import BudgetApplied
from muniment.kernel.times import written
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle

MS = "_ms"
PERIODS = frozenset({"keep_at_least_ms", "erase_after_ms", "within_ms"})
UNITS_MS = {"days": 24 * 60 * 60 * 1000, "hours": 60 * 60 * 1000, "minutes": 60 * 1000, "seconds": 1000}


def label(name: str) -> str:
    """Return the name of a member as a label."""
    return name.removesuffix(MS).replace("_", " ")


def said(name: str, value: Any) -> StyledText:
    """Return a scalar as text."""
    if isinstance(value, bool):
        return StyledText("yes" if value else "no")
    if isinstance(value, int):
        if name in PERIODS:
            return StyledText(period(value))
        return StyledText(moment(value) if name.endswith(MS) else f"{value:,}")
    if isinstance(value, bytes):
        return StyledText(b64encode(value).decode())
    if isinstance(value, Enum):
        return StyledText(str(value.value))
    return StyledText("" if value is None else str(value))


def moment(ms: int) -> str:
    """Return a time as text, to the second."""
    return written(ms)


def period(ms: int) -> str:
    """Return a period as text."""
    for unit, size_ms in UNITS_MS.items():
        if ms % size_ms == 0:
            return f"{ms // size_ms:,} {unit if ms != size_ms else unit.removesuffix('s')}"
    return f"{ms:,} ms"


def tell_budget(over: list[BudgetApplied], page: OutputPage) -> None:
    """Write what a budget left out of a page."""
    if over:
        cut = ", ".join(f"{label(each.ceiling)} {each.limit:,} of {each.found:,}" for each in over)
        why = f"at {over[0].percent} %: {', '.join(over[0].limited_by)}" if over[0].limited_by else ""
        page.line(StyledText(f"profile {over[0].profile}"), StyledText(cut), StyledText(why, TextStyle.FAINT))


def tell_cursors(cursors: list[tuple[str, str | None]], page: OutputPage) -> None:
    """Write the cursors of a page."""
    page.facts([(name, StyledText(cursor)) for name, cursor in cursors if cursor is not None])
