"""The report of retrieval: tables for people, written by command and never by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator

from replay.retrieval.methods import BASE
from replay.retrieval.run import COMPARED, Result, Scored, Table
from replay.retrieval.sets import ADVERSARIAL, Labelled, Row, counted

HEAD = """# Retrieval

Written by `python -m replay retrieval`; never edited by hand. How well a question finds the turns that answer it.
"""

METRICS = ("R@5", "R@10", "hit@10", "all@10", "MRR", "s-hit@5", "s-hit@10")
OF_CATEGORIES = ("R@10", "all@10")
HIT_5_MIN, HIT_10_MIN = 0.95, 0.98  # of the sessions of locomo

READING = (
    "R@k: share of the evidence among the first k hits; hit@k: whether any is; all@k: whether all is.",
    "MRR: one over the rank of the first; `s-`: the same of sessions. All are means over questions.",
    f"Questions of category {ADVERSARIAL} count in a row of their own alone: what they ask for was never said.",
    "Ours: each turn is committed, encrypted, to a store in a directory; one message a turn, a session a conversation.",
    "Questions go through `transcripts.search` as they are, with its defaults and the date of the question.",
    "Gains are paired by question, with the 95 % interval of the bootstrap of the script that comes with the sets.",
    "Append and index are CPU milliseconds a turn, embedding included.",
    "p50 and p95 are wall milliseconds of a question that is answered with 100 hits, which is what the script wants.",
    "The sets are the half that may be looked at; the half that decides is kept elsewhere.",
)


def markdown(result: Result) -> str:
    """Return the report as a document."""
    lines = [HEAD, *_about(result)]
    for table in result.tables:
        lines += ["", *_set(table)]
    lines += ["", "## How to read it", "", *(f"- {line}" for line in READING), ""]
    return "\n".join(lines)


def _about(result: Result) -> Iterator[str]:
    yield "| machine | |"
    yield "|---|---|"
    for name, fact in {"date": result.at, **result.machine, "not scored": "; ".join(result.missing) or "none"}.items():
        yield f"| {name} | {fact} |"


def _set(table: Table) -> Iterator[str]:
    labelled, rows = table.labelled, table.scored[0].rows
    asked = f"{len(counted(rows))} questions" + (
        f" and {len(rows) - len(counted(rows))} {ADVERSARIAL} ones" if len(rows) > len(counted(rows)) else ""
    )
    yield f"## {labelled.name}"
    yield ""
    yield f"{labelled.what.capitalize()}: {table.conversations} conversations, {table.turns:,} turns, {asked}."
    yield ""
    metrics = [one for one in METRICS if labelled.has_turns or one.startswith("s-")]
    yield from _header(["method", *metrics, "met?", "append", "index", "p50", "p95"])
    for scored in table.scored:
        means = [_number(table.mean(counted(scored.rows), metric)) for metric in metrics]
        cost = scored.cost
        costs = [
            f"{cost.append_ms:.2f}",
            f"{cost.build_ms:.2f}",
            f"{cost.search_p50_ms:.1f}",
            f"{cost.search_p95_ms:.1f}",
        ]
        yield _row([scored.method.name, *means, _met(table, scored), *costs])
    if len(table.scored) > 1:
        yield ""
        yield from _gains(table)
    if labelled.has_turns and len({row["category"] for row in rows}) > 1:
        yield ""
        yield from _categories(table)


def _met(table: Table, scored: Scored) -> str:
    """Say which figure is asked for and whether it is met."""
    wanted = _wanted(table.labelled, scored)
    if wanted is None:
        return ""
    said = [_told("R@10", table.mean(counted(scored.rows), "R@10"), wanted)]
    if table.labelled.name == "locomo":
        said += [
            _told(metric, table.mean(counted(scored.rows), metric), least)
            for metric, least in (("s-hit@5", HIT_5_MIN), ("s-hit@10", HIT_10_MIN))
        ]
    return ", ".join(said)


def _wanted(labelled: Labelled, scored: Scored) -> float | None:
    if not scored.method.is_ours:
        return None
    return labelled.wanted_with_model if scored.method.has_model else labelled.wanted


def _told(metric: str, found: float, least: float) -> str:
    return f"{metric} >= {_number(least)} {'yes' if found >= least else '**missed**'}"


def _gains(table: Table) -> Iterator[str]:
    metrics = [one for one in COMPARED if table.labelled.has_turns or one.startswith("s-")]
    yield from _header([f"more than {BASE.name}", *metrics])
    for scored in table.scored[1:]:
        by_metric = {gain.metric: gain for gain in scored.gains}
        cells = [
            f"{gain.difference:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})" if (gain := by_metric.get(metric)) else ""
            for metric in metrics
        ]
        yield _row([scored.method.name, *cells])


def _categories(table: Table) -> Iterator[str]:
    names = [scored.method.name for scored in table.scored]
    yield from _header(["category", "questions", *(f"{name}: {' / '.join(OF_CATEGORIES)}" for name in names)])
    for category in sorted({row["category"] for row in table.scored[0].rows}):
        of = [_of(scored.rows, category) for scored in table.scored]
        cells = [" / ".join(_number(table.mean(rows, metric)) for metric in OF_CATEGORIES) for rows in of]
        yield _row([category, str(len(of[0])), *cells])


def _of(rows: list[Row], category: str) -> list[Row]:
    return [row for row in rows if row["category"] == category]


def _header(cells: list[str]) -> Iterator[str]:
    yield _row(cells)
    yield "|" + "---|" * len(cells)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}".removeprefix("0")
