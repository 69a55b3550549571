"""Group commit: callers that arrive together share one transaction, led by one of them.

A caller puts a ticket in the queue. If nobody leads, the caller leads: takes the tickets that wait (at most
`GROUP_TICKETS_MAX`), runs them through `commit` in the order of their arrival, wakes their owners, and then hands
leadership to the owner of the oldest ticket that came in meanwhile. So there is no thread in the background, nobody
leads twice in a row, and while the leader waits for the disk the next group gathers.

A ticket whose plan raised carries its error to its own caller. When `commit` itself raises, that error is everybody's.
A ticket that asks to be alone (to scrub, to close) gets a turn of its own, in its place in the queue.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from muniment.errors import MunimentError, StoreFault

T = TypeVar("T")

GROUP_TICKETS_MAX = 256
GATHER_PAUSE_S = 0.00005
GATHER_PAUSES_MAX = 4


class Ticket(Generic[T]):
    """A piece of work, and in the end its result or its error.

    `with ticket:` around the work keeps an error for the caller that waits for it. What is no `Exception` (an
    interrupt) concerns the thread that it hit, not the owner of the ticket, and goes on.
    """

    def __init__(self, work: Callable[[Any], T], *, alone: bool) -> None:
        self.work = work
        self.alone = alone
        self.chosen = False
        self.settled = False
        self.error: Exception | None = None
        self._results: list[T] = []
        self._bell = threading.Lock()
        self._bell.acquire()

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
        if self.error is not None:
            raise self.error
        return self._results[0]

    def wait(self) -> None:
        """Sleep until the bell is rung: settled, or chosen to lead."""
        self._bell.acquire()

    def ring(self) -> None:
        """Wake the owner."""
        self._bell.release()


class GroupCommit:
    """The queue of one store. `commit` runs tickets in one transaction, `tend` does the housekeeping afterwards."""

    def __init__(self, commit: Callable[[list[Ticket[Any]]], None], tend: Callable[[], None]) -> None:
        self._commit = commit
        self._tend = tend
        self._mutex = threading.Lock()
        self._waiting: deque[Ticket[Any]] = deque()
        self._led = False
        self._size_before = 1
        self._leader: int | None = None

    def submit(self, work: Callable[[Any], T], *, alone: bool = False) -> T:
        """Have work done in a group, or alone (then it is called with None); return its result when it is settled."""
        assert self._leader != threading.get_ident(), "a plan uses the transaction that it is given, never the store"
        ticket = Ticket(work, alone=alone)
        with self._mutex:
            self._waiting.append(ticket)
            leads, self._led = not self._led, True
        if not leads:
            leads = self._await(ticket)
        if leads:
            self._lead()
        return ticket.outcome()

    def _await(self, ticket: Ticket[Any]) -> bool:
        """Wait; return whether the ticket was chosen to lead."""
        woken = False
        try:
            ticket.wait()
            woken = True
        finally:
            if not woken:
                self._leave(ticket)
        return not ticket.settled

    def _leave(self, ticket: Ticket[Any]) -> None:
        """Give up waiting after an interrupt: the queue must not choose somebody who has gone."""
        with self._mutex:
            waited = ticket in self._waiting
            if waited:
                self._waiting.remove(ticket)
        if waited and ticket.chosen:
            self._hand_over()

    def _lead(self) -> None:
        self._leader = threading.get_ident()
        try:
            self._gather()
            tickets = self._take()
            try:
                self._run(tickets)
            finally:
                self._settle(tickets)
            self._tend()
        finally:
            self._leader = None
            self._hand_over()

    def _gather(self) -> None:
        """Wait a moment for as many as shared the last group: woken together, they come back together."""
        here = len(self._waiting)
        for _ in range(GATHER_PAUSES_MAX):
            before = here
            if here >= self._size_before:
                break
            time.sleep(GATHER_PAUSE_S)
            here = len(self._waiting)
            if here == before:
                break

    def _take(self) -> list[Ticket[Any]]:
        """Take the oldest ticket and those behind it that may share its transaction."""
        with self._mutex:
            tickets = [self._waiting.popleft()]
            while (
                self._waiting and len(tickets) < GROUP_TICKETS_MAX and not (tickets[0].alone or self._waiting[0].alone)
            ):
                tickets.append(self._waiting.popleft())
            self._size_before = len(tickets)
        return tickets

    def _run(self, tickets: list[Ticket[Any]]) -> None:
        whole = False
        try:
            if tickets[0].alone:
                tickets[0].run(None)
            else:
                self._commit(tickets)
            whole = True
        except MunimentError as error:
            whole = True
            for ticket in tickets:
                ticket.fail(error)
        finally:
            if not whole:
                for ticket in tickets:
                    ticket.fail(StoreFault(problem="interrupted"))

    def _settle(self, tickets: list[Ticket[Any]]) -> None:
        for ticket in tickets:
            ticket.settled = True
            ticket.ring()

    def _hand_over(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting[0].chosen = True
                self._waiting[0].ring()
            else:
                self._led = False
