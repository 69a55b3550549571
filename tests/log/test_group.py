"""Group commit: many callers, one fsync, and nobody pays for somebody else's mistake."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import apsw
import pytest

from muniment.errors import Conflict, StoreBusy, StoreFault
from muniment.evidence.tree import extend
from muniment.log.group_commit import GroupCommit, Ticket
from muniment.log.port import Transaction
from muniment.log.sqlite import SqliteStore
from tests.log.worlds import Disk, a_turn, add, check_whole, turn_row

CALLERS = 16


class Crowd:
    """Callers whose plans share one transaction: the leader is held until all of them wait."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._gate = threading.Event()
        self._pool = ThreadPoolExecutor(CALLERS)
        self._leader = self._pool.submit(store.transact, lambda _: self._gate.wait())

    def calls(self, *plans: Callable[[Transaction], Any]) -> list[Future[Any]]:
        """Submit plans so that they queue in this order, then let them go."""
        futures = []
        for place, plan in enumerate(plans):
            futures.append(self._pool.submit(self._store.transact, plan))
            while len(self._store._group._waiting) <= place:
                time.sleep(0.001)
        self._gate.set()
        self._pool.shutdown()
        return futures


def and_raise(plan: Callable[[Transaction], Any], error: BaseException) -> Callable[[Transaction], Any]:
    def run(tx: Transaction) -> None:
        plan(tx)
        raise error

    return run


def test_callers_that_arrive_together_share_one_fsync(store: SqliteStore, disk: Disk) -> None:
    store.transact(a_turn())
    disk.syncs.clear()
    futures = Crowd(store).calls(*(a_turn(stream=n % 3) for n in range(CALLERS - 1)))
    assert [future.result() for future in futures] == list(range(1, CALLERS))
    assert disk.syncs == {".db-wal": 1}
    assert check_whole(store) == CALLERS


def test_under_load_every_acknowledged_turn_is_there_and_most_fsyncs_are_shared(store: SqliteStore, disk: Disk) -> None:
    """16 callers, 20 turns each, on a slow disk: no turn is lost and each fsync carries many."""
    disk.sync_s = 0.003
    disk.syncs.clear()
    with ThreadPoolExecutor(CALLERS) as pool:
        positions = list(pool.map(lambda n: store.transact(a_turn(stream=n % 5)), range(CALLERS * 20)))
    assert sorted(positions) == list(range(CALLERS * 20))
    assert check_whole(store) == CALLERS * 20
    assert disk.syncs[".db-wal"] < CALLERS * 20 / 5


@pytest.mark.parametrize("bad", [0, 2, 5])
def test_one_bad_plan_among_good_ones_is_undone_alone(store: SqliteStore, bad: int) -> None:
    """Wherever a plan that raises stands in its group, the others are committed and it leaves nothing."""
    plans: list[Callable[[Transaction], Any]] = [a_turn(stream=1) for _ in range(6)]
    plans[bad] = and_raise(a_turn(stream=1, content=b"never"), ZeroDivisionError())
    futures = Crowd(store).calls(*plans)
    with pytest.raises(ZeroDivisionError):
        futures.pop(bad).result()
    assert [future.result() for future in futures] == list(range(5))
    assert check_whole(store) == 5
    with store.reader() as reader:
        assert {row.content for row in reader.turns(1, 1, 9)} == {b"words"}


def test_a_plan_that_raises_undoes_no_earlier_one_when_one_between_only_read(store: SqliteStore) -> None:
    """What was written before in the same transaction is kept, however many plans came between."""
    bad = and_raise(a_turn(content=b"never"), ZeroDivisionError())
    futures = Crowd(store).calls(a_turn(), lambda tx: tx.count(), bad, a_turn())
    assert [futures[n].result() for n in (0, 1, 3)] == [0, 1, 1]
    assert isinstance(futures[2].exception(), ZeroDivisionError)
    assert check_whole(store) == 2


def test_a_plan_that_left_a_head_behind_is_not_held_against_the_next(store: SqliteStore) -> None:
    def headless(tx: Transaction) -> None:
        row = turn_row(tx, 0, b"never")
        frontier, nodes = extend(tx.frontier(), [row.leaf])
        tx.append([row], nodes, frontier, b"")

    futures = Crowd(store).calls(a_turn(), headless, a_turn())
    assert [futures[0].result(), futures[2].result()] == [0, 1]
    assert isinstance(futures[1].exception(), Conflict)


def test_a_plan_that_swallows_its_conflict_is_undone_all_the_same(store: SqliteStore) -> None:
    def plan(tx: Transaction) -> str:
        add(tx, turn_row(tx, 0, b"never"))
        try:
            tx.put_checkpoint(999, "ahead")
        except Conflict:
            return "it went well"
        raise AssertionError

    futures = Crowd(store).calls(a_turn(), plan, a_turn())
    with pytest.raises(Conflict):
        futures[1].result()
    assert [futures[0].result(), futures[2].result()] == [0, 1]


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_a_commit_that_fails_fails_for_everybody(store: SqliteStore, disk: Disk, error: type[apsw.Error]) -> None:
    store.transact(a_turn())
    disk.broken["xWrite", "-wal"] = error
    own = ZeroDivisionError()
    futures = Crowd(store).calls(a_turn(), and_raise(a_turn(), own), a_turn())
    kinds = [type(future.exception()).__name__ for future in futures]
    assert kinds in (["StoreFault", "ZeroDivisionError", "StoreFault"], ["StoreFull", "ZeroDivisionError", "StoreFull"])
    disk.broken.clear()
    assert store.transact(a_turn()) == 1
    assert check_whole(store) == 2


def test_a_busy_store_is_busy_for_everybody(store: SqliteStore) -> None:
    other = apsw.Connection(str(store._place.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        store.transact(a_turn())
    other.execute("ROLLBACK")
    other.close()
    assert store.transact(a_turn()) == 0


def test_an_interrupt_of_the_leader_fails_its_group_and_passes_on_leadership(store: SqliteStore) -> None:
    """An interrupt hits the thread that leads; those whose plans it carried are told that nothing was kept."""
    crowd = Crowd(store)
    futures = crowd.calls(a_turn(), and_raise(a_turn(), KeyboardInterrupt()), a_turn())
    assert isinstance(futures[0].exception(), KeyboardInterrupt)  # the leader, because its plan was first
    assert [type(future.exception()) for future in futures[1:]] == [StoreFault, StoreFault]
    assert store.transact(a_turn()) == 0


class _Alarm(BaseException):
    """What the handler of a signal might raise in the thread that waits."""


@pytest.mark.parametrize("chosen", [False, True])
def test_a_caller_that_is_interrupted_while_it_waits_stops_nobody(store: SqliteStore, chosen: bool) -> None:
    """Whether or not it was to lead next: its plan does not run, and the others go on."""
    gate = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        leader = pool.submit(store.transact, lambda _: gate.wait())
        while not store._group._led:
            time.sleep(0.001)
        wait = Ticket.wait

        def interrupted(ticket: Ticket[Any]) -> None:
            if chosen:
                gate.set()
                wait(ticket)
            raise _Alarm

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ticket, "wait", interrupted)
            with pytest.raises(_Alarm):
                store.transact(a_turn())
        gate.set()
        assert leader.result()
    assert store.transact(a_turn()) == 0


@pytest.mark.parametrize(("coming", "here", "pauses"), [(9, 5, 4), (2, 3, 3), (0, 1, 1)])
def test_a_leader_waits_for_as_many_as_came_before_while_they_keep_coming(
    monkeypatch: pytest.MonkeyPatch, coming: int, here: int, pauses: int
) -> None:
    group = GroupCommit(lambda _: None, lambda: None)
    arrivals = [Ticket(lambda _: None, alone=False) for _ in range(coming)]
    slept = []

    def pause(seconds: float) -> None:
        slept.append(seconds)
        group._waiting.extend(arrivals[:1])
        del arrivals[:1]

    monkeypatch.setattr("muniment.log.group_commit.time.sleep", pause)
    group._size_before = 6
    group._waiting.append(Ticket(lambda _: None, alone=False))
    group._gather()
    assert (len(group._waiting), len(slept)) == (here, pauses)


def test_a_caller_that_leaves_after_its_plan_was_taken_disturbs_nobody() -> None:
    """The leader has the ticket: the plan is carried through, only nobody waits for its result."""
    group = GroupCommit(lambda tickets: tickets[0].run(None), lambda: None)
    group._leave(Ticket(lambda _: None, alone=False))
    assert group.submit(lambda _: 7) == 7


def test_work_that_asks_to_be_alone_gets_its_turn_in_the_queue() -> None:
    """Tickets before it share a group, tickets behind it share another."""
    groups: list[int] = []

    def commit(tickets: list[Ticket[Any]]) -> None:
        groups.append(len(tickets))
        for ticket in tickets:
            ticket.run(None)

    group = GroupCommit(commit, lambda: None)
    gate = threading.Event()
    with ThreadPoolExecutor(8) as pool:
        pool.submit(group.submit, lambda _: gate.wait())
        for place, alone in enumerate([False, False, True, False, False, False]):
            pool.submit(group.submit, lambda _: None, alone=alone)
            while len(group._waiting) <= place:
                time.sleep(0.001)
        gate.set()
    assert groups == [1, 2, 3]
