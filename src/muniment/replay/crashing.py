"""Stores that can crash: a layer over the port that stops at a point and fails from then on.

It behaves like a killed process: the next call to the store raises `store.fault`, also when it undoes or cleans up, and
nothing later is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from muniment.errors import StoreFault
from muniment.log.port import EventRow, Reader, ScrubReport, Store, Transaction
from muniment.replay.fixture import CrashPoint

T = TypeVar("T")


class CrashTrigger:
    """Decides when the store crashes; `burnt` after it did."""

    def __init__(self) -> None:
        self.burnt = False
        self._point: CrashPoint | None = None
        self._left = 0
        self._at_end: Callable[[], object] = bool

    def set(self, point: CrashPoint, nth: int, at_end: Callable[[], object]) -> None:
        """Crash at the n-th time that a point is met; `at_end` keeps the state of that moment."""
        self._point, self._left, self._at_end = point, nth, at_end

    def clear(self) -> None:
        """Do not crash at any point."""
        self._point = None

    def meet(self, point: CrashPoint | None = None) -> None:
        """Pass a point, or crash there."""
        if self.burnt:
            raise StoreFault(problem="crashed")
        if point is None or point is not self._point:
            return
        self._left -= 1
        if self._left == 0:
            self._at_end()
            self.burnt = True
            raise StoreFault(problem="crashed")


class CrashingStore:
    """A store that can crash. A store that is `kept` by others stays open when this one closes."""

    def __init__(self, store: Store, fuse: CrashTrigger, *, kept: bool) -> None:
        self._store = store
        self._fuse = fuse
        self._kept = kept

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        """Run a plan in a write transaction; return its result once it is durable."""

        def planned(tx: Transaction) -> T:
            result = plan(tx)
            self._fuse.meet(CrashPoint.PLANNED)
            return result

        self._fuse.meet(CrashPoint.BEFORE)
        result = self._store.transact(planned)
        self._fuse.meet(CrashPoint.COMMITTED)
        return result

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Return a snapshot of the present state, for one thread."""
        self._fuse.meet()
        with self._store.reader() as reader:
            yield reader

    def subscribe(self, after: int) -> Iterator[Sequence[EventRow]]:
        """Yield batches of the events behind a position."""
        self._fuse.meet()
        return self._store.subscribe(after)

    def scrub(self) -> ScrubReport:
        """Make what was removed unreadable at rest."""
        self._fuse.meet()
        report = self._store.scrub()
        self._fuse.meet(CrashPoint.SCRUBBED)
        return report

    def keep_reserve(self) -> None:
        """Keep a reserve for erasures on a full disk."""
        self._fuse.meet()
        self._store.keep_reserve()

    def release_reserve(self) -> bool:
        """Release the reserve for erasures; return whether there was one."""
        self._fuse.meet()
        return self._store.release_reserve()

    def close(self) -> None:
        """Close the store."""
        if not self._kept:
            self._store.close()
