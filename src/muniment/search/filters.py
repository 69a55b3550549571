"""Which documents of an index may answer a query: by place, speaker, role, time, lifecycle, and by what must be there.

| a filter that is given several times | keeps |
|---|---|
| `from`, `in`, `role`, `on` | what fits any of them |
| `before`, `after` | what fits all of them |

With `-` before it, a filter keeps what does not fit. A search that names conversations looks at their documents alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.events.message import Role
from muniment.ranking.columns import ROLES, Columns, Rows
from muniment.search.index import Index
from muniment.search.query import Clause, FilterName, Query, TimeSpan, span_of

Mask = NDArray[np.bool_]

NO_ROWS: Rows = np.empty(0, np.int64)


class ResolvedScope(NamedTuple):
    """Where to look, beside what the query says. `streams` None: everywhere; `named` are those of `in` filters."""

    streams: frozenset[int] | None = None
    named: Mapping[str, int] = {}
    role: Role | None = None
    speaker: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None
    archived: bool = False


class RequiredTerms(NamedTuple):
    """The terms of what must be there, and of what must not."""

    phrases: list[list[str]]
    excluded: list[list[str]]


def candidates(index: Index, query: Query, terms: RequiredTerms, scope: ResolvedScope) -> Rows:
    """Return the documents that may answer a query, in the order of their numbers."""
    rows, columns = _of_streams(index, query, scope), index.columns
    keep = np.ones(len(rows), np.bool_)
    for mask in _masks(columns, rows, scope):
        keep &= mask
    for mask in _filtered(columns, rows, query.filters, scope):
        keep &= mask
    rows = rows[keep]
    for phrase in terms.phrases:
        rows = rows[index.holding(phrase, rows)]
    for phrase in terms.excluded:
        rows = rows[~index.holding(phrase, rows)]
    return rows


def _of_streams(index: Index, query: Query, scope: ResolvedScope) -> Rows:
    """Return the documents of the conversations that are named, or all."""
    streams = scope.streams
    named = frozenset(
        scope.named[each.text] for each in query.filters if each.name is FilterName.IN and not each.excludes
    )
    if named:
        streams = named if streams is None else named & streams
    if streams is None:
        return index.every()
    return np.sort(np.concatenate([NO_ROWS, *(index.rows_of(stream) for stream in sorted(streams))]))


def _masks(columns: Columns, rows: Rows, scope: ResolvedScope) -> list[Mask]:
    masks: list[Mask] = []
    if not scope.archived:
        masks.append(~columns.archived[rows])
    if scope.role is not None:
        masks.append(columns.role[rows] == ROLES.index(scope.role))
    if scope.speaker is not None:
        masks.append(_said_by(columns, rows, lambda name: name == scope.speaker))
    if scope.from_ms is not None:
        masks.append(columns.time_ms[rows] >= scope.from_ms)
    if scope.until_ms is not None:
        masks.append(columns.time_ms[rows] < scope.until_ms)
    return masks


def _filtered(columns: Columns, rows: Rows, filters: list[Clause], scope: ResolvedScope) -> list[Mask]:
    """Return what the filters of a query keep, name by name."""
    kept: defaultdict[FilterName, list[Mask]] = defaultdict(list)
    masks: list[Mask] = []
    for each in filters:
        assert each.name is not None, "filters have names"
        fits = MASKS[each.name](columns, rows, each.text, scope)
        if each.excludes:
            masks.append(~fits)
        else:
            kept[each.name].append(fits)
    joined = {name: np.logical_and if name in NARROWING else np.logical_or for name in kept}
    return masks + [joined[name].reduce(several) for name, several in kept.items()]


def _from(columns: Columns, rows: Rows, value: str, _scope: ResolvedScope) -> Mask:
    wanted = _name(value)
    return _said_by(columns, rows, lambda name: wanted <= _name(name))


def _in(columns: Columns, rows: Rows, value: str, scope: ResolvedScope) -> Mask:
    return np.isin(columns.stream[rows], scope.named[value])


def _role(columns: Columns, rows: Rows, value: str, _scope: ResolvedScope) -> Mask:
    return np.isin(columns.role[rows], ROLES.index(Role(value)))


def _before(columns: Columns, rows: Rows, value: str, _scope: ResolvedScope) -> Mask:
    mask: Mask = columns.time_ms[rows] < _span(value).from_ms
    return mask


def _after(columns: Columns, rows: Rows, value: str, _scope: ResolvedScope) -> Mask:
    mask: Mask = columns.time_ms[rows] >= _span(value).until_ms
    return mask


def _on(columns: Columns, rows: Rows, value: str, _scope: ResolvedScope) -> Mask:
    times, span = columns.time_ms[rows], _span(value)
    return (times >= span.from_ms) & (times < span.until_ms)


MASKS: dict[FilterName, Callable[[Columns, Rows, str, ResolvedScope], Mask]] = {
    FilterName.FROM: _from,
    FilterName.IN: _in,
    FilterName.ROLE: _role,
    FilterName.BEFORE: _before,
    FilterName.AFTER: _after,
    FilterName.ON: _on,
}
NARROWING = frozenset({FilterName.BEFORE, FilterName.AFTER})


def _said_by(columns: Columns, rows: Rows, wanted: Callable[[str], bool]) -> Mask:
    speakers = [number for number, name in enumerate(columns.speakers) if wanted(name)]
    return np.isin(columns.speaker[rows], speakers)


def _name(text: str) -> frozenset[str]:
    """Return what a name is made of; part of it is enough to ask for it."""
    return frozenset("".join(char if char.isalnum() else " " for char in text.casefold()).split()) or frozenset({text})


def _span(value: str) -> TimeSpan:
    span = span_of(value)
    assert span is not None, "the query was read"
    return span
