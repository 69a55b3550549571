"""Group commit: callers that arrive together share one transaction, led by one of them.

A caller puts a ticket into the group that gathers and takes the group's lock. Who has it and finds the ticket still
waiting leads: waits for the turn of the group (the one lock of the store), closes the group to newcomers, and runs the
tickets that wait (at most `GROUP_TICKETS_MAX`) through `commit` in the order of their arrival. The others get the lock
of their group when it is done, and find their tickets settled. Meanwhile the next group gathers. There is no thread in
the background, and nobody is chosen to lead: a caller who was interrupted, wherever that was, leaves its locks to the
next.

A ticket whose plan raised carries its error to its own caller. When `commit` itself raises, that error is everybody's.
A ticket that was taken and not settled had a leader who was interrupted: its caller is told so and may try again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

from muniment.errors import MunimentError, StoreFault
from muniment.kernel.locks import let_go

T = TypeVar("T")

GROUP_TICKETS_MAX = 256
GATHER_PAUSE_S = 0.0002
GATHER_PAUSES_MAX = 8


class Ticket(Generic[T]):
    """A piece of work, and in the end its result or its error. Neither counts before it is `settled`.

    `with ticket:` around the work keeps an error for the caller that waits for it. What is no `Exception` (an
    interrupt) concerns the thread that it hit, not the owner of the ticket, and goes on.
    """

    def __init__(self, work: Callable[[Any], T]) -> None:
        self.work = work
        self.settled = False
        self.error: Exception | None = None
        self._results: list[T] = []

    def run(self, argument: object) -> None:
        """Do the work and keep what comes of it."""
        with self:
            self._results = [self.work(argument)]

    def __enter__(self) -> None:
        return

    def __exit__(self, _type: object, error: BaseException | None, _trace: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = error
        return True

    def fail(self, error: Exception) -> None:
        """Fail with an error, unless the ticket has one of its own."""
        self.error = self.error or error

    def outcome(self) -> T:
        """Return the result or raise the error."""
        if not self.settled:
            raise StoreFault(problem="interrupted")
        if self.error is not None:
            raise self.error
        return self._results[0]


class TicketGroup:
    """Tickets that gather, and the lock that their callers wait for."""

    def __init__(self) -> None:
        self.waiting: deque[Ticket[Any]] = deque()
        self.lock = threading.RLock()


class GroupCommit:
    """The queue of one store. `commit` runs tickets in one transaction."""

    def __init__(self, commit: Callable[[list[Ticket[Any]]], None]) -> None:
        self._commit = commit
        self._turn = threading.RLock()
        self._gathering = TicketGroup()
        self._size_before = 1

    def submit(self, work: Callable[[Any], T]) -> T:
        """Have work done in a group; return its result when it is settled."""
        self._require_no_plan()
        ticket, group = Ticket(work), self._gathering
        try:
            group.waiting.append(ticket)
            with group.lock:
                while ticket in group.waiting:
                    with self._turn:
                        self._lead(group)
        except BaseException:
            let_go(self._turn, group.lock)
            with suppress(ValueError):
                group.waiting.remove(ticket)
            raise
        return ticket.outcome()

    def alone(self, work: Callable[[], T]) -> T:
        """Do work that shares no transaction, while nobody leads; return its result."""
        self._require_no_plan()
        try:
            with self._turn:
                return work()
        except BaseException:
            let_go(self._turn)
            raise

    def _require_no_plan(self) -> None:
        # A flag of our own would outlive an interrupt.
        is_led_here = self._turn._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
        assert not is_led_here, "a plan uses the transaction that it is given, never the store"

    def _lead(self, group: TicketGroup) -> None:
        self._gather(group.waiting)
        if self._gathering is group:
            self._gathering = TicketGroup()
        tickets: list[Ticket[Any]] = []
        while group.waiting and len(tickets) < GROUP_TICKETS_MAX:
            tickets.append(group.waiting.popleft())
        self._size_before = len(tickets)
        try:
            self._commit(tickets)
        except MunimentError as error:
            for ticket in tickets:
                ticket.fail(error)
        for ticket in tickets:
            ticket.settled = True

    def _gather(self, waiting: deque[Ticket[Any]]) -> None:
        """Wait a moment for as many as shared the last group: woken together, they come back together."""
        here = len(waiting)
        for _ in range(GATHER_PAUSES_MAX):
            before = here
            if here >= self._size_before:
                break
            time.sleep(GATHER_PAUSE_S)
            here = len(waiting)
            if here == before:
                break
