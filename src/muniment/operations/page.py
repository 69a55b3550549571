"""A page of a reading operation: its limit, its cursor, and what that cursor is bound to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar, cast

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.governance.cursor_lifetime import CursorLifetime, check_term, term
from muniment.kernel.digest import b64url
from muniment.log.port import Reader

LEAF_BYTES = 16  # of a leaf are enough to tell two histories apart

Mark = TypeVar("Mark", bound=Struct)
Item = TypeVar("Item")


class ExpiringMark(Protocol):
    """The mark of a run that ends after a time."""

    @property
    def term(self) -> CursorLifetime:
        """From when to when its cursor may be used."""
        ...


class Page(Generic[Mark]):
    """One page of a run: made from limit and cursor, bound to a state of the log, then cut and continued.

    1. Making it checks the limit and reads the budget: `limit` is what was asked for, `size` what the budget allows.
    2. `begin` binds it to the log, the access in force and the request, and returns the mark of its cursor.
    3. `cut` divides what there is into this page and whether there is more.
    4. `cursor_to` issues the cursor of another page of the same request.
    """

    def __init__(self, session: Session, purpose: str, marks: type[Mark], limit: int, cursor: str | None) -> None:
        self.limit = limit_of_query(limit, session.space.limits.page_turns_max)
        self.budget = session.budget()
        self.size = self.budget.page(self.limit)
        self.now_ms = 0
        self._session = session
        self._purpose = purpose
        self._marks = marks
        self._cursor = cursor
        self._binding: tuple[str, ...] = ()

    def begin(self, reader: Reader, *request: str) -> Mark | None:
        """Bind the page; return the mark of its cursor, or None for the first page."""
        self._binding = binding(self._session, reader, *request)
        if self._cursor is None:
            return None
        return self._session.space.cursors.accept(self._purpose, self._binding, self._cursor, self._marks)

    def begin_run(self, reader: Reader, *request: str) -> Mark | None:
        """Do what `begin` does for a run that ends after a time."""
        self.now_ms = self._session.space.sources.clock.now_ms()
        mark = self.begin(reader, *request)
        if mark is not None:
            check_term(cast("ExpiringMark", mark).term, self.now_ms)
        return mark

    @property
    def term(self) -> CursorLifetime:
        """How long a cursor that is issued now is good for."""
        return term(self.now_ms)

    def cut(self, items: Sequence[Item]) -> tuple[Sequence[Item], bool]:
        """Return the items of this page, and whether there are more."""
        return items[: self.size], len(items) > self.size

    def cursor_to(self, mark: Mark) -> str:
        """Return a cursor for another page of the same request."""
        return self._session.space.cursors.issue(self._purpose, self._binding, mark)


def binding(session: Session, reader: Reader, *request: str) -> tuple[str, ...]:
    """Return what a cursor is bound to: the log, its epoch, the access in force, and the request."""
    space = session.space
    return (space.ledger.log, space.epoch(reader), session.access.spelled(), *request)


def limit_of_replay(limit: int) -> int:
    """Return the limit of a replay, where 0 counts as 1."""
    return 1 if limit == 0 else limit


def check_limit(limit: int, limit_max: int) -> None:
    """Refuse a list of nothing, and one that is longer than any."""
    if limit == 0:
        raise InvalidInput(at="limit", problem="not_positive", found=limit)
    if not 1 <= limit <= limit_max:
        raise InvalidInput(at="limit", problem="out_of_range", limit=limit_max, found=limit)


def limit_of_query(limit: int, limit_max: int) -> int:
    """Return how much a page holds at most; a page of nothing is refused."""
    if limit <= 0:
        raise InvalidInput(at="limit", problem="not_positive" if limit == 0 else "negative", found=limit)
    if limit > limit_max:
        raise LimitExceeded(at="limit", problem="too_many", limit=limit_max, found=limit)
    return limit


def short_leaf(leaf: bytes) -> str:
    """Return what a cursor carries of a leaf."""
    return b64url(leaf[:LEAF_BYTES])
