"""The lifetime of cursors.

| cursor | expires |
|---|---|
| of a replay | never: each page applies the current policy |
| of disclosures | never: a disclosure is permanent |
| of a timeline | with a lifecycle change in its conversation; appends are outside its snapshot |
| of the catalogue | when anything that it ranks changes |
| of a search | when the results or their order change |
| of a timeline, the catalogue or a search | 7 days after it was issued |

A redaction expires no cursor except that of a search: it adds or removes no turn, and applies from the next page on. A
search cursor depends only on what its view shows: turns that the view hides, or that are no results, do not expire it
(decision 0110).

All cursors expire when the log is restored, because they are bound to its epoch. An expired cursor is `cursor.stale`,
so that a client can start again; a cursor for another request, or from the future, is `cursor.invalid`.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.errors import CursorInvalid, CursorStale

CURSOR_LIFE_MS = 7 * 24 * 60 * 60 * 1000
CURSOR_AHEAD_MS_MAX = 300 * 1000


class CursorLifetime(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """The time in which a cursor is valid, in UTC milliseconds."""

    issued_ms: int
    expires_ms: int


def term(now_ms: int) -> CursorLifetime:
    """Return the lifetime of a cursor that is issued now."""
    return CursorLifetime(issued_ms=now_ms, expires_ms=now_ms + CURSOR_LIFE_MS)


def check_term(given: CursorLifetime, now_ms: int) -> None:
    """Refuse a cursor outside its lifetime."""
    if given.issued_ms > now_ms + CURSOR_AHEAD_MS_MAX:
        raise CursorInvalid(problem="issued_in_the_future")
    if given.expires_ms <= now_ms:
        raise CursorStale(problem="expired")


def check_unchanged(bound: object, present: object) -> None:
    """Refuse a cursor when the data that it is bound to has changed."""
    if bound != present:
        raise CursorStale(problem="changed")
