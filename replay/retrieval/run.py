"""Scoring: every method on every available set, with the script of the sets."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from msgspec import Struct

from replay.embedders import versions
from replay.machine import machine
from replay.retrieval.items import ItemTable, item_table
from replay.retrieval.methods import BASE, METHODS, Adapter, Method
from replay.retrieval.sets import DATA, SETS, Labelled, Row, counted, script

COMPARED = ("R@5", "R@10", "all@10", "MRR", "s-hit@5")
_COMPARED_LINE = re.compile(r"^ *(\S+) +([+-][\d.]+) +\[([+-][\d.]+), ([+-][\d.]+)\]$", re.MULTILINE)


class Order(Struct, frozen=True, kw_only=True):
    """What to score; without names, everything."""

    sets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()  # words that occur in the names of methods
    data: Path = DATA


class Cost(Struct, frozen=True, kw_only=True):
    """The cost of a method: CPU milliseconds a turn to store and to index it, wall milliseconds a question."""

    append_ms: float
    build_ms: float
    search_p50_ms: float
    search_p95_ms: float


class Gain(Struct, frozen=True, kw_only=True):
    """A metric of a method less that of the base, with the 95 % interval of the paired bootstrap over questions."""

    metric: str
    difference: float
    low: float
    high: float


class Scored(NamedTuple):
    """A method on a set: what the script says of each question."""

    method: Method
    rows: list[Row]
    cost: Cost
    gains: list[Gain]


class Table(NamedTuple):
    """A set with all methods that were scored on it."""

    labelled: Labelled
    conversations: int
    turns: int
    mean: Callable[[list[Row], str], float]
    scored: list[Scored]


class Result(NamedTuple):
    """The result of a run."""

    machine: dict[str, str]
    at: str
    tables: list[Table]
    missing: list[str]
    items: list[ItemTable]


def run(order: Order, tell: Callable[[str], None]) -> Result:
    """Score what is ordered; report each method on each set as it comes."""
    missing = [f"{one.name}: not there" for one in SETS if not one.is_there(order.data)]
    methods = [one for one in METHODS if not order.methods or _is_asked(one, order.methods)]
    absent = {one.name: reason for one in methods if (reason := one.missing()) is not None}
    missing += [f"{name}: {reason}" for name, reason in absent.items()]
    there = [one for one in methods if one.name not in absent]
    with tempfile.TemporaryDirectory(prefix="muniment-retrieval-") as scratch:
        wanted = [one for one in SETS if one.is_there(order.data) and (not order.sets or one.name in order.sets)]
        tables = [_table(script(order.data), one, there, order.data, tell) for one in wanted]
        with_answers = [one for one in wanted if one.has_turns]
        items = [item_table(one, there, order.data, tell) for one in with_answers]
        items = [table for table in items if table.scored and table.scored[0].found]
        about = machine(Path(scratch)) | {"models installed": versions()}
    return Result(about, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), tables, missing, items)


def _is_asked(method: Method, words: Iterable[str]) -> bool:
    return method is BASE or any(word in method.name for word in words)


def _table(
    evaluation: ModuleType, labelled: Labelled, methods: list[Method], data: Path, tell: Callable[[str], None]
) -> Table:
    scored: list[Scored] = []
    conversations = turns = 0
    for method in methods:
        with (
            tempfile.TemporaryDirectory(prefix="muniment-retrieval-") as scratch,
            _fresh(method, Path(scratch)) as make,
        ):
            rows, info = evaluation.run(str(data), labelled.name, make.new)
        conversations, turns = info["conversations"], info["turns"]
        cost = Cost(
            append_ms=1000 * sum(one.append_cpu_s for one in make.made) / turns,
            build_ms=1000 * sum(one.build_cpu_s for one in make.made) / turns,
            search_p50_ms=info["search_ms_p50"],
            search_p95_ms=info["search_ms_p95"],
        )
        base = scored[0].rows if scored else rows
        scored.append(Scored(method, rows, cost, list(_gains(evaluation, base, rows)) if scored else []))
        headline = "R@10" if labelled.has_turns else "s-hit@5"
        tell(f"{labelled.name}: {method.name}: {headline} {evaluation.mean(counted(rows), headline):.3f}")
    return Table(labelled, conversations, turns, evaluation.mean, scored)


class Making:
    """Makes an adapter for each conversation, and keeps them all."""

    def __init__(self, method: Method, scratch: Path) -> None:
        self._method = method
        self._scratch = scratch
        self._numbers = count()
        self.made: list[Adapter] = []

    def new(self) -> Adapter:
        """Return a new adapter; the one before is finished."""
        if self.made:
            self.made[-1].close()
        directory = self._scratch / str(next(self._numbers))
        directory.mkdir()
        self.made.append(self._method.make(directory))
        return self.made[-1]


@contextlib.contextmanager
def _fresh(method: Method, scratch: Path) -> Iterator[Making]:
    making = Making(method, scratch)
    yield making
    making.made[-1].close()


def _gains(evaluation: ModuleType, base: list[Row], rows: list[Row]) -> Iterator[Gain]:
    """Compare as the script does; it prints what it finds."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        evaluation.compare(counted(base), counted(rows), COMPARED)
    for metric, difference, low, high in _COMPARED_LINE.findall(said.getvalue()):
        yield Gain(metric=metric, difference=float(difference), low=float(low), high=float(high))
