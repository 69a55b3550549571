"""What the pages of all reading operations have in common: limits, and what their cursors are bound to."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.kernel.digest import b64url
from muniment.log.port import Reader

LEAF_BYTES = 16  # of a leaf are enough to tell two histories apart


def limit_of_replay(limit: int, most: int) -> int:
    """Return how many turns a page of a replay has at most: 0 counts as 1."""
    return limit_of_query(max(limit, 1) if limit >= 0 else limit, most)


def limit_of_query(limit: int, most: int) -> int:
    """Return how much a page of a query holds at most; a page of nothing is refused."""
    if limit <= 0:
        raise InvalidInput(at="limit", problem="not_positive" if limit == 0 else "negative", found=limit)
    if limit > most:
        raise LimitExceeded(at="limit", problem="too_many", limit=most, found=limit)
    return limit


def binding(session: Session, reader: Reader, *request: str) -> tuple[str, ...]:
    """Return what a cursor is bound to: the log, its incarnation, the access in force, and the request."""
    space = session.space
    return (space.ledger.log, space.epoch(reader), session.access.spelled(), *request)


def short_leaf(leaf: bytes) -> str:
    """Return what a cursor carries of a leaf."""
    return b64url(leaf[:LEAF_BYTES])
