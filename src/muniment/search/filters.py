"""The documents of an index that may answer a query: by conversation, speaker, role, time, lifecycle and phrases.

| a filter that is given several times | keeps |
|---|---|
| `from`, `in`, `role`, `on` | documents that match any of them |
| `before`, `after` | documents that match all of them |

With `-` before it, a filter keeps documents that do not match. A search that names conversations reads theirs alone.
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
    """Where to search, besides the query. `streams` None: everywhere; `named` are those of `in` filters."""

    streams: frozenset[int] | None = None
    named: Mapping[str, int] = {}
    role: Role | None = None
    speaker: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None
    archived: bool = False


class RequiredTerms(NamedTuple):
    """The terms of the phrases that must occur, and of what must not."""

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
        [scope.named[part.text] for part in query.filters if part.name is FilterName.IN and not part.excludes]
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
        masks.append(_of_speakers(columns, rows, lambda name: name == scope.speaker))
    if scope.from_ms is not None:
        masks.append(columns.time_ms[rows] >= scope.from_ms)
    if scope.until_ms is not None:
        masks.append(columns.time_ms[rows] < scope.until_ms)
    return masks


def _filtered(columns: Columns, rows: Rows, filters: list[Clause], scope: ResolvedScope) -> list[Mask]:
    """Return what the filters of a query keep, name by name."""
    if not filters:
        return []
    kept: defaultdict[FilterName, list[Mask]] = defaultdict(list)
    masks: list[Mask] = []
    for part in filters:
        assert part.name is not None, "filters have names"
        matching = MASKS[part.name](columns, rows, part.text, scope)
        if part.excludes:
            masks.append(~matching)
        else:
            kept[part.name].append(matching)
    joined = {name: np.logical_and if name in NARROWING else np.logical_or for name in kept}
    return masks + [joined[name].reduce(several) for name, several in kept.items()]


def _from(columns: Columns, rows: Rows, value: str, _scope: ResolvedScope) -> Mask:
    wanted = _name(value)
    return _of_speakers(columns, rows, lambda name: wanted <= _name(name))


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


def _of_speakers(columns: Columns, rows: Rows, wanted: Callable[[str], bool]) -> Mask:
    speakers = [number for number, name in enumerate(columns.speakers) if wanted(name)]
    return np.isin(columns.speaker[rows], speakers)


def _name(text: str) -> frozenset[str]:
    """Return the words of a name; some of them are enough to match it."""
    return frozenset("".join(char if char.isalnum() else " " for char in text.casefold()).split()) or frozenset({text})


def _span(value: str) -> TimeSpan:
    span = span_of(value)
    assert span is not None, "a filter with another value is a word"
    return span
