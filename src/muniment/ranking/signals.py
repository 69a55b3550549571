"""What speaks for a document, each signal for itself: a number between 0 and 1 for every document that is looked at.

Nothing here depends on the numbers of documents or on what was put in when. Sums are of integers, or have one order;
of arrays of numbers with a point only sums, products, quotients and comparisons of two at a time are taken, which are
exact to the last bit on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muniment.events.message import Role
from muniment.ranking.columns import NO_ROW, ROLES, Columns, Rows, Scores
from muniment.ranking.dates import DAY_MS, DateRange

COSINE_STEPS = 1 << 16  # cosines are told apart in such steps, so that their sum is exact
NEAR_COSINE = 0.05  # if the best is less above the mean, nothing is near
NEAR_SHARE = 0.4  # of the best: what is less near is no hit by its meaning alone
SESSION_BEST = 2
DATE_MARGIN_DAYS = 2  # people tell what happened some days before
DATE_MARGIN_SHARE = 0.5  # of a long range, so much
RECENCY_HALF_DAYS = 30

assert NO_ROW == -1, "spread out, what is lent by no row is read from the end"


def scaled(values: Scores) -> Scores:
    """Return values as shares of the greatest."""
    greatest = float(values.max(initial=0.0))
    return values / greatest if greatest > 0 else np.zeros(len(values))


def semantic(cosines: Scores, keyword: Scores) -> Scores:
    """Return how far cosines are above their mean; of what has no vector yet (nan), its words are the best guess."""
    known = np.flatnonzero(~np.isnan(cosines))
    found = keyword.copy()
    if len(known):
        steps = np.rint(cosines[known] * COSINE_STEPS).astype(np.int64)
        above = np.maximum(steps - int(steps.sum()) / len(steps), 0)
        found[known] = scaled(above) if above.max() >= NEAR_COSINE * COSINE_STEPS else 0
    return found


def spread(columns: Columns, rows: Rows, own: Scores) -> Scores:
    """Return what documents score by themselves, for every row; 0 for all others and, at the end, for `NO_ROW`."""
    field = np.zeros(len(columns.alive) + 1)
    field[rows] = own
    return field


def neighbours(columns: Columns, rows: Rows, field: Scores) -> Scores:
    """Return what the documents before and after score by themselves."""
    return field[columns.previous[rows]] + field[columns.following[rows]]


def beyond(columns: Columns, rows: Rows, field: Scores) -> Scores:
    """Return what the documents before and after the neighbours score by themselves."""
    lent = np.zeros(len(rows))
    for link in (columns.previous, columns.following):
        near = link[rows]
        lent += field[np.where(near == NO_ROW, NO_ROW, link[near])]
    return lent


def session(columns: Columns, rows: Rows, field: Scores) -> Scores:
    """Return how good the best of each session are, as shares of the best session."""
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
    """Return 1 for what somebody said whom the question names."""
    if not named:
        return np.zeros(len(rows))
    wanted = np.zeros(len(columns.speakers))
    wanted[list(named)] = 1
    told: Scores = wanted[columns.speaker[rows]]
    return told


def role(columns: Columns, rows: Rows, asked: Role | None) -> Scores:
    """Return 1 for what the role said that the question asks about; where it asks for none, the user."""
    said: Scores = (columns.role[rows] == ROLES.index(asked or Role.USER)).astype(np.float64)
    return said


def date(columns: Columns, rows: Rows, ranges: Sequence[DateRange]) -> Scores:
    """Return 1 for what was said in a time that the question names, and less with the distance from it."""
    found = np.zeros(len(rows))
    times = columns.time_ms[rows] if ranges else found
    for start_ms, end_ms in ranges:
        margin = max(DATE_MARGIN_DAYS * DAY_MS, (end_ms - start_ms) * DATE_MARGIN_SHARE)
        away = np.maximum(np.maximum(start_ms - times, times - end_ms + 1), 0)
        found = np.maximum(found, np.maximum(1 - away / margin, 0))
    return found


def recency(columns: Columns, rows: Rows, asked_ms: int) -> Scores:
    """Return 1 for what was said just now, a half for what is `RECENCY_HALF_DAYS` old, and so on."""
    age = np.maximum(asked_ms - columns.time_ms[rows], 0)
    return 1 / (1 + age / (RECENCY_HALF_DAYS * DAY_MS))
