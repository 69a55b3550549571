"""Charts of a report: bars in SVG, drawn from figures alone, with nothing but text.

Every chart is a card of its own colours, so that it reads the same on a white and on a dark page. Bars lie, with their
names in full on the left and their values on the right, where nothing crosses them; a line over a bar goes from the
lowest round to the highest. There is no legend: what is ours has one colour, what is somebody else's another, and a
group of bars has its name above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape

from replay.bench.contestants import Muniment
from replay.bench.figures import Amount, Figure

WIDTH, MARGIN = 760, 20
TITLE_HEIGHT, AXIS_HEIGHT, TARGET_HEIGHT = 52, 48, 18
BAR, BAR_STEP, GROUP_HEAD, GROUP_GAP = 16, 24, 24, 8
CHARACTER = 6.8  # pixels, of a usual one at the usual size
VALUE_ROOM = 70  # right of the axis
TICKS_MAX = 6
GROUND, FRAME, INK, FAINT, GRID = "#ffffff", "#d0d7de", "#1f2328", "#59636e", "#e4e8ec"
OURS, OTHERS, SPREAD, TARGET = "#4c9aef", "#aab1b9", "#24292f", "#cf222e"


class Chart(NamedTuple):
    """What a chart shows: its title, what its axis counts, and the target that is drawn across it."""

    title: str
    axis: str
    alternative: str
    target: float | None = None


class Bar(NamedTuple):
    """One bar: its name and what was measured."""

    name: str
    amount: Amount


CHARTS: dict[str, Chart] = {
    "append": Chart(
        "What one durable append costs",
        "CPU milliseconds a turn of 2 x 400 characters, user and system (less is better)",
        "Bar chart: CPU time of one append for muniment, the floor and the peers",
        target=0.33,
    ),
    "callers": Chart(
        "Committed turns per second, by number of callers",
        "turns per second (more is better)",
        "Bar chart: turns per second with 1, 4 and 16 callers, on this disk and on simulated slower disks",
    ),
    "pages": Chart(
        "Time for a page of 50 turns, by size of the conversation",
        "milliseconds, p50 with p5 and p95 (less is better)",
        "Bar chart: time of a page for each view and each size of the conversation",
        target=0.8,
    ),
    "size": Chart(
        "Disk usage",
        "bytes a turn of 2 x 400 characters, closed (less is better)",
        "Bar chart: bytes on disk for each turn, for muniment, the floor and the peers",
    ),
}


def charts(figures: list[Figure]) -> dict[str, str]:
    """Return the charts that these figures are enough for, as SVG by name."""
    found = {name: _bars(name, figures) for name in CHARTS}
    return {name: "\n".join(_drawn(CHARTS[name], groups)) + "\n" for name, groups in found.items() if groups}


def _bars(chart: str, figures: list[Figure]) -> dict[str, list[Bar]]:
    """Return the bars of a chart by group, in the order of the figures."""
    found: dict[str, list[Bar]] = {}
    for figure in figures:
        if figure.mark is not None and figure.mark.chart == chart and isinstance(figure.measured, Amount):
            found.setdefault(figure.mark.group, []).append(Bar(figure.mark.bar, figure.measured))
    return found


def _drawn(chart: Chart, groups: dict[str, list[Bar]]) -> Iterator[str]:
    bars = [bar for group in groups.values() for bar in group]
    step, steps = ticks(max([chart.target or 0.0, *(_most(bar.amount) for bar in bars)]))
    left = MARGIN + CHARACTER * max(len(bar.name) for bar in bars) + 8
    scale = (WIDTH - MARGIN - VALUE_ROOM - left) / (step * steps)
    top = TITLE_HEIGHT + (TARGET_HEIGHT if chart.target else 0)
    bottom = top + GROUP_HEAD * sum(bool(name) for name in groups) + BAR_STEP * len(bars) + GROUP_GAP * len(groups)
    height = bottom + AXIS_HEIGHT
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12">'
    )
    yield f"<title>{escape(chart.title)}</title>"
    yield f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{GROUND}" stroke="{FRAME}"/>'
    yield _text(MARGIN, 32, chart.title, size=16, weight="600")
    for tick in range(steps + 1):
        x = left + step * tick * scale
        yield f'<path d="M{x:.1f} {top}V{bottom}" stroke="{GRID}"/>'
        yield _text(x, bottom + 16, _number(step * tick), anchor="middle", fill=FAINT)
    yield _text(left, bottom + 36, chart.axis, fill=FAINT)
    y, heads = float(top), []
    for name, group in groups.items():
        if name:
            heads.append(_head(name, y + 17))
            y += GROUP_HEAD
        for bar in group:
            yield from _bar(bar, left, y, scale)
            y += BAR_STEP
        y += GROUP_GAP
    if chart.target:
        x = left + chart.target * scale
        yield f'<path d="M{x:.1f} {top - 4}V{bottom}" stroke="{TARGET}" stroke-dasharray="4 3"/>'
        yield _text(x, top - 8, f"target {_number(chart.target)}", anchor="middle", fill=TARGET)
    yield from heads
    yield "</svg>"


def _head(name: str, y: float) -> str:
    """Return the name of a group; lines that pass it stop beside it."""
    return _text(MARGIN, y, name, weight="600", fill=GROUND, stroke=GROUND, width=6) + _text(
        MARGIN, y, name, weight="600"
    )


def _bar(bar: Bar, left: float, y: float, scale: float) -> Iterator[str]:
    amount, middle = bar.amount, y + BAR_STEP / 2
    colour = OTHERS if _is_foreign(bar.name) else OURS
    yield _text(left - 8, middle + 4, bar.name, anchor="end")
    yield (
        f'<rect x="{left:.1f}" y="{middle - BAR / 2:.1f}" width="{amount.median * scale:.1f}" height="{BAR}" rx="2" '
        f'fill="{colour}"/>'
    )
    if amount.low is not None and amount.high is not None and amount.high > amount.low:
        low, high = left + amount.low * scale, left + amount.high * scale
        yield (
            f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 3}v6M{high:.1f} {middle - 3}v6" '
            f'stroke="{SPREAD}" fill="none"/>'
        )
    yield _text(WIDTH - MARGIN, middle + 4, f"{amount.median:,.{amount.digits}f}", anchor="end")


def _is_foreign(name: str) -> bool:
    return name != Muniment.name and not name[0].isdigit()


def _most(amount: Amount) -> float:
    return max(amount.median, amount.high or 0.0)


def ticks(most: float) -> tuple[float, int]:
    """Return the step of an axis, 1, 2 or 5 times a power of ten, and how many steps it has."""
    for factor in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0):
        step = factor * 10 ** floor(log10(most))
        count = int(most / step) + 1
        if count <= TICKS_MAX:
            return step, count
    raise AssertionError(most)


def _number(value: float) -> str:
    return f"{value:,.10g}" if value < 1000 else f"{value:,.0f}"


def _text(x: float, y: float, words: str, **style: str | int) -> str:
    names = {"size": "font-size", "weight": "font-weight", "anchor": "text-anchor", "width": "stroke-width"}
    given = "".join(f' {names.get(name, name)}="{value}"' for name, value in ({"fill": INK} | style).items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{given}>{escape(words)}</text>'
