"""The report: a table for people, written by command and never by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from replay.bench.charts import CHARTS, charts
from replay.bench.figures import Figure
from replay.bench.profile import Hot
from replay.bench.run import Result

HEAD = """# Figures

Written by `python -m replay bench`; never edited by hand. What is measured and how is in [README.md](README.md).
"""

DRAWN = "charts"
CAVEATS = (
    "CPU time is that of the whole process, user and system; wall time is as the machine was that day.",
    "On a machine that is busy with more than this, CPU time grows, too: caches, cores and the disk are shared.",
    "A median stands before the lowest and the highest round (in parentheses).",
    "Contestants take turns round by round, in one process and on one file system.",
    "All of them are durable before they answer: SQLite, WAL, synchronous=FULL.",
    "The studies of one growing conversation run with the modules of the peers frozen out of garbage collection.",
    "The floor and most peers neither encrypt nor keep evidence; those that encrypt use one key for everything.",
    "Rows that say `simulated` ran on a disk whose flushes were made slow; they show the group commit, not this disk.",
)


def markdown(result: Result) -> str:
    """Return the report as a document."""
    parts = (_machine(result), _drawn(result), _table(result.figures), _caveats(), _profiles(result))
    return "\n".join([HEAD, *(line for part in parts for line in (*part, ""))]).rstrip() + "\n"


def write(result: Result, path: Path) -> None:
    """Write the report, and its charts into a directory beside it."""
    directory = path.parent / DRAWN
    directory.mkdir(exist_ok=True)
    for name, chart in charts(result.figures).items():
        (directory / f"{name}.svg").write_text(chart)
    path.write_text(markdown(result))


def told(figure: Figure) -> str:
    """Return a figure as one line for a terminal; below a count of frames, what is called most."""
    target = f" (target {figure.target}: {_met(figure)})" if figure.target else ""
    note = f"  [{figure.note}]" if figure.note else ""
    calls = (f"{count:9,}  {function}" for function, count in figure.calls.items())
    return "\n".join([f"{figure.subject}: {figure.what}: {figure.told()}{target}{note}", *calls])


def _met(figure: Figure) -> str:
    return {None: "", True: "yes", False: "**missed**"}[figure.met]


def _machine(result: Result) -> Iterator[str]:
    yield "| machine | |"
    yield "|---|---|"
    facts = {
        "date": result.at,
        **result.machine,
        "words": result.words,
        "peers": result.peers or "none",
        "peers not measured": ", ".join(result.peers_missing) or "none",
    }
    for name, fact in facts.items():
        yield f"| {name} | {fact} |"
    if result.quick:
        yield "| caution | a quick run: too short for figures |"


def _drawn(result: Result) -> Iterator[str]:
    yield from (f"![{CHARTS[name].alternative}]({DRAWN}/{name}.svg)\n" for name in charts(result.figures))


def _table(figures: list[Figure]) -> Iterator[str]:
    yield "| figure | target | measured | met? | remarks |"
    yield "|---|---|---|---|---|"
    for one in figures:
        yield f"| {one.subject}: {one.what} | {one.target or ''} | {one.told()} | {_met(one)} | {one.note} |"


def _caveats() -> Iterator[str]:
    yield "## Caveats"
    yield ""
    yield from (f"- {caveat}" for caveat in CAVEATS)


def _profiles(result: Result) -> Iterator[str]:
    missed = [one for one in result.figures if one.met is False]
    if not missed:
        return
    yield "## What the profile shows"
    yield ""
    yield "Of each path whose figure is missed, the functions with the most time of their own. The profiler makes calls"
    yield "dearer than they are; shares matter, not times. Waiting counts: the disk of an append is in `execute`."
    yield "Of a count of frames, the functions that are called most."
    for one in missed:
        yield ""
        yield f"### {one.what}"
        yield ""
        if one.calls:
            yield from _called(one.calls)
        elif one.what in result.profiles:
            yield from _hot(result.profiles[one.what])
        else:
            yield "Follows from the rows above; there is no path of its own to profile."


def _hot(functions: list[Hot]) -> Iterator[str]:
    yield "| own time | function | calls | ms |"
    yield "|---:|---|---:|---:|"
    for one in functions:
        yield f"| {one.share:.1%} | `{one.function}` | {one.calls:,} | {one.own_ms:.1f} |"


def _called(calls: dict[str, int]) -> Iterator[str]:
    yield "| calls | function |"
    yield "|---:|---|"
    yield from (f"| {count:,} | `{function}` |" for function, count in calls.items())
