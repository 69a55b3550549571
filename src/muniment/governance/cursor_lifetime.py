"""How long a cursor may be used, and what ends it.

| cursor | ends when |
|---|---|
| of a replay | never: each page applies the policy of its day |
| of disclosures | never: what was disclosed stays disclosed |
| of a timeline | a lifecycle change in its conversation; appends stay outside its snapshot |
| of the catalogue | anything that it ranks changes |
| of a search | other messages are found, or the same in another order |
| of a timeline, the catalogue or a search | 7 days after it was issued |

A redaction ends none of the others: no turn is listed more or less for it, and it applies from the next page on. What
ends a search is what its view shows: a turn that the view hides, or that is not found, comes and goes unnoticed
(decision 0110).

All of them end when the log is restored: they are bound to its epoch. An ended cursor is `cursor.stale`, so that
a client can begin again; one that was issued for something else, or in the future, is `cursor.invalid`.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.errors import CursorInvalid, CursorStale

CURSOR_LIFE_MS = 7 * 24 * 60 * 60 * 1000
CURSOR_AHEAD_MS_MAX = 300 * 1000


class CursorLifetime(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """From when to when a cursor may be used, in UTC milliseconds."""

    issued_ms: int
    expires_ms: int


def term(now_ms: int) -> CursorLifetime:
    """Return the term of a cursor that is issued now."""
    return CursorLifetime(issued_ms=now_ms, expires_ms=now_ms + CURSOR_LIFE_MS)


def check_term(given: CursorLifetime, now_ms: int) -> None:
    """Refuse a cursor outside its term."""
    if given.issued_ms > now_ms + CURSOR_AHEAD_MS_MAX:
        raise CursorInvalid(problem="issued_in_the_future")
    if given.expires_ms <= now_ms:
        raise CursorStale(problem="expired")


def check_unchanged(bound: object, present: object) -> None:
    """Refuse a cursor when what it leads through is not what it was bound to."""
    if bound != present:
        raise CursorStale(problem="changed")
