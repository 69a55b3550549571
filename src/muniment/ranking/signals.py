"""The signals of documents: for each signal a number between 0 and 1 for every document.

Nothing here depends on the numbers of documents or on the history of the index. Sums are of integers, or have one
order; arrays of floating-point numbers are only added, multiplied, divided and compared element by element, which
IEEE 754 makes exact to the last bit on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muniment.events.message import Role
from muniment.ranking.columns import NO_ROW, ROLES, Columns, Rows, Scores
from muniment.ranking.dates import DAY_MS, DateRange

COSINE_STEPS = 1 << 16  # cosines are rounded to such steps, so that their sum is exact
NEAR_COSINE = 0.05  # if the best is less above the mean, none is similar
NEAR_SHARE = 0.4  # of the best: a document below it is no hit by its meaning alone
SESSION_BEST = 2
DATE_MARGIN_DAYS = 2  # people talk about events of some days before
DATE_MARGIN_SHARE = 0.5  # of a long range
RECENCY_HALF_DAYS = 30

assert NO_ROW == -1, "`spread` has the value of no row at the end"


def scaled(values: Scores) -> Scores:
    """Return values as shares of the greatest."""
    greatest = float(values.max(initial=0.0))
    return values / greatest if greatest > 0 else np.zeros(len(values))


def semantic(cosines: Scores, keyword: Scores) -> Scores:
    """Return how far cosines are above their mean; without a vector (nan), the keyword score stands in."""
    known, above = _above_mean(cosines)
    scores = keyword.copy()
    if len(known):
        scores[known] = scaled(above) if above.max() >= NEAR_COSINE * COSINE_STEPS else 0
    return scores


def nearest(cosines: Scores) -> float:
    """Return how far the best cosine is above their mean; 0 where it is not far enough to make anything similar."""
    _, above = _above_mean(cosines)
    best = float(above.max(initial=0.0)) / COSINE_STEPS
    return best if best >= NEAR_COSINE else 0.0


def _above_mean(cosines: Scores) -> tuple[Rows, Scores]:
    """Return the places of known cosines, and how many steps each of these is above their mean."""
    known = np.flatnonzero(~np.isnan(cosines))
    if not len(known):
        return known, np.zeros(0)
    steps = np.rint(cosines[known] * COSINE_STEPS).astype(np.int64)
    return known, np.maximum(steps - int(steps.sum()) / len(steps), 0)


def spread(columns: Columns, rows: Rows, own: Scores) -> Scores:
    """Return the own scores of documents for every row; 0 for all others and, at the end, for `NO_ROW`."""
    field = np.zeros(len(columns.alive) + 1)
    field[rows] = own
    return field


def neighbours(columns: Columns, rows: Rows, field: Scores) -> Scores:
    """Return the own scores of the documents before and after."""
    return field[columns.previous[rows]] + field[columns.following[rows]]


def beyond(columns: Columns, rows: Rows, field: Scores) -> Scores:
    """Return the own scores of the documents before and after the neighbours."""
    lent = np.zeros(len(rows))
    for link in (columns.previous, columns.following):
        near = link[rows]
        lent += field[np.where(near == NO_ROW, NO_ROW, link[near])]
    return lent


def session(columns: Columns, rows: Rows, field: Scores) -> Scores:
    """Return the scores of the best documents of each session, as shares of the best session."""
    own, of = field[rows], columns.session[rows]
    marks = np.zeros(len(rows))
    for _ in range(SESSION_BEST):
        best = np.zeros(len(columns.alive))
        np.maximum.at(best, of, own)
        marks += best[of]
        first = np.empty(len(columns.alive), np.int64)
        bearers = np.flatnonzero(own == best[of])
        first[of[bearers]] = bearers  # any one of them
        own[first[of[bearers]]] = 0
    return scaled(marks)


def speaker(columns: Columns, rows: Rows, named: Sequence[int]) -> Scores:
    """Return 1 for documents of a speaker whom the question names."""
    if not named:
        return np.zeros(len(rows))
    wanted = np.zeros(len(columns.speakers))
    wanted[list(named)] = 1
    scores: Scores = wanted[columns.speaker[rows]]
    return scores


def role(columns: Columns, rows: Rows, wanted: Role | None) -> Scores:
    """Return 1 for documents of the role that the question asks about, or of the user where it asks about none."""
    scores: Scores = (columns.role[rows] == ROLES.index(wanted or Role.USER)).astype(np.float64)
    return scores


def date(columns: Columns, rows: Rows, ranges: Sequence[DateRange]) -> Scores:
    """Return 1 for documents of a time that the question names, and less with the distance from it."""
    scores = np.zeros(len(rows))
    if not ranges:
        return scores
    times = columns.time_ms[rows]
    for start_ms, end_ms in ranges:
        margin = max(DATE_MARGIN_DAYS * DAY_MS, (end_ms - start_ms) * DATE_MARGIN_SHARE)
        away = np.maximum(np.maximum(start_ms - times, times - end_ms + 1), 0)
        scores = np.maximum(scores, np.maximum(1 - away / margin, 0))
    return scores


def recency(columns: Columns, rows: Rows, asked_ms: int) -> Scores:
    """Return 1 for a document of now, a half for one that is `RECENCY_HALF_DAYS` old, and so on."""
    age = np.maximum(asked_ms - columns.time_ms[rows], 0)
    return 1 / (1 + age / (RECENCY_HALF_DAYS * DAY_MS))
