"""What a benchmark reports: one row for each figure, with its target where the design sets one."""

from __future__ import annotations

from msgspec import Struct

from replay.measure import Spread


class Amount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number with its unit; what was measured in rounds has its lowest and its highest as well."""

    median: float
    unit: str
    low: float | None = None
    high: float | None = None
    digits: int = 3

    def told(self) -> str:
        """Return it as a person reads it."""
        said = f"{self.median:,.{self.digits}f} {self.unit}"
        if self.low is None or self.high is None:
            return said
        return f"{said} ({self.low:,.{self.digits}f}-{self.high:,.{self.digits}f})"


class Mark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a figure is drawn: the chart, the bar, and the group of bars."""

    chart: str
    bar: str
    group: str = ""


class Figure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the report; words are what no number says. `met` is None where the design sets no target.

    `calls` are the functions that a count of frames is made of, the one that is called most first.
    """

    subject: str
    what: str
    measured: Amount | str
    target: str | None = None
    met: bool | None = None
    note: str = ""
    mark: Mark | None = None
    calls: dict[str, int] = {}

    def told(self) -> str:
        """Return what was measured as a person reads it."""
        return self.measured if isinstance(self.measured, str) else self.measured.told()


def ranged(values: Spread, unit: str, digits: int = 3) -> Amount:
    """Return what was measured in rounds."""
    return Amount(median=values.median, low=values.low, high=values.high, unit=unit, digits=digits)


def at_most(value: float, limit: float) -> bool:
    """Tell whether a figure that wants to be small is met."""
    return value <= limit


def at_least(value: float, limit: float) -> bool:
    """Tell whether a figure that wants to be large is met."""
    return value >= limit
