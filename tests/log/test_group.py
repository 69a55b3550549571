"""Group commit: many callers, one fsync, and nobody pays for somebody else's mistake."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import FrameType
from typing import Any

import apsw
import pytest

from muniment.errors import Conflict, StoreBusy, StoreFault
from muniment.evidence.tree import extend
from muniment.log import group_commit
from muniment.log.group_commit import GroupCommit, Ticket, TicketGroup
from muniment.log.port import Transaction
from muniment.log.sqlite import SqliteStore
from muniment.log.sqlite_transaction import SqliteTransaction
from tests.log.worlds import Disk, a_turn, add, check_whole, turn_row

CALLERS = 16
PATIENCE_S = 30.0  # a hang fails; nothing else takes as long


def held(leads: threading.Event, gate: threading.Event, then: Callable[[], object] = int) -> Callable[[object], object]:
    """Return a plan that tells when it runs, and goes on when it may."""

    def plan(_: object) -> object:
        leads.set()
        gate.wait(PATIENCE_S)
        return then()

    return plan


class Crowd:
    """Callers whose plans share one transaction: the leader is held until all of them wait."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._gate, leads = threading.Event(), threading.Event()
        self._pool = ThreadPoolExecutor(CALLERS)
        self._leader = self._pool.submit(store.transact, held(leads, self._gate))
        assert leads.wait(PATIENCE_S)

    def calls(self, *plans: Callable[[Transaction], Any]) -> list[Future[Any]]:
        """Submit plans so that they queue in this order, then let them go."""
        futures = []
        for place, plan in enumerate(plans):
            futures.append(self._pool.submit(self._store.transact, plan))
            while len(self._store._group._gathering.waiting) <= place:
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


def test_what_an_interrupted_leader_left_in_its_transaction_is_undone_by_the_next(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt can come while a leader gives up; nobody commits what it wrote."""

    def interrupted(_: SqliteTransaction) -> None:
        raise _Alarm

    with monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, "close", interrupted)
        with pytest.raises(_Alarm):
            store.transact(and_raise(a_turn(content=b"never"), KeyboardInterrupt()))
    assert store.transact(a_turn()) == 0
    assert check_whole(store) == 1


class _Alarm(BaseException):
    """What the handler of a signal might raise."""


def _all_run(tickets: list[Ticket[Any]]) -> None:
    for ticket in tickets:
        ticket.run(None)


def _note(done: list[int], number: int, _: object) -> None:
    done.append(number)


def _interrupted(group: GroupCommit, at: int, work: Callable[[Any], Any]) -> bool:
    """Submit work with an alarm at the so many-th bytecode of the group commit; tell whether there were as many."""
    left = at

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        nonlocal left
        if frame.f_code.co_filename != group_commit.__file__:
            return None
        frame.f_trace_opcodes = True
        left -= event == "opcode"
        if event == "opcode" and not left:
            raise _Alarm
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for such a frame when tracing begins
    sys.settrace(trace)
    try:
        group.submit(work)
    except _Alarm:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_bytecode_leaves_the_way_free_for_all_others() -> None:
    """Wherever it hits the caller that leads: the next one, in another thread, leads; and nothing is done twice."""
    done: list[int] = []

    group, at = GroupCommit(_all_run), 1
    while _interrupted(group, at, partial(_note, done, at)):
        other = threading.Thread(target=group.submit, args=(lambda _: None,), daemon=True)
        other.start()
        other.join(PATIENCE_S)
        assert not other.is_alive(), f"bytecode {at}"
        at += 1
    assert at > 100
    assert len(done) == len(set(done))


def test_a_caller_whose_leader_was_interrupted_is_told_so() -> None:
    """Its work may have been done, but nobody answers for it: the caller tries again."""

    def interrupted(tickets: list[Ticket[Any]]) -> None:
        _all_run(tickets)
        raise _Alarm

    group = GroupCommit(interrupted)
    group._gathering.waiting.append(other := Ticket(lambda _: 7))
    with pytest.raises(_Alarm):
        group.submit(lambda _: 8)
    with pytest.raises(StoreFault, match="interrupted"):
        other.outcome()


def test_a_caller_that_is_interrupted_while_it_waits_takes_its_work_back(store: SqliteStore) -> None:
    """Its plan does not run, and the others go on."""
    gate, leads = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        leader = pool.submit(store.transact, held(leads, gate))
        assert leads.wait(PATIENCE_S)
        before = signal.signal(signal.SIGUSR1, _raise_alarm)
        threading.Thread(target=_signal_when, args=(store._group._gathering, threading.get_ident())).start()
        try:
            with pytest.raises(_Alarm):
                store.transact(a_turn())
        finally:
            signal.signal(signal.SIGUSR1, before)
        gate.set()
        leader.result()
    assert store.transact(a_turn()) == 0


def _raise_alarm(*_: object) -> None:
    raise _Alarm


def _signal_when(group: TicketGroup, thread: int) -> None:
    while not group.waiting:
        time.sleep(0.001)
    signal.pthread_kill(thread, signal.SIGUSR1)


@pytest.mark.parametrize(("coming", "here", "pauses"), [(12, 9, 8), (2, 3, 3), (0, 1, 1)])
def test_a_leader_waits_for_as_many_as_came_before_while_they_keep_coming(
    monkeypatch: pytest.MonkeyPatch, coming: int, here: int, pauses: int
) -> None:
    group, waiting = GroupCommit(lambda _: None), deque([Ticket(lambda _: None)])
    arrivals = [Ticket(lambda _: None) for _ in range(coming)]
    slept = []

    def pause(seconds: float) -> None:
        slept.append(seconds)
        waiting.extend(arrivals[:1])
        del arrivals[:1]

    monkeypatch.setattr("muniment.log.group_commit.time.sleep", pause)
    group._size_before = 10
    group._gather(waiting)
    assert (len(waiting), len(slept)) == (here, pauses)


def test_more_callers_than_a_group_takes_are_led_by_the_next_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def commit(tickets: list[Ticket[Any]]) -> None:
        sizes.append(len(tickets))
        for ticket in tickets:
            ticket.run(None)

    monkeypatch.setattr(group_commit, "GROUP_TICKETS_MAX", 3)
    group = GroupCommit(commit)
    group._gathering.waiting.extend(Ticket(lambda _: None) for _ in range(7))
    assert group.submit(lambda _: 7) == 7
    assert sizes == [3, 3, 2]


def test_work_that_asks_to_be_alone_waits_for_the_group_before_it() -> None:
    """While somebody leads, nobody is alone; and a failure of such work is its caller's."""
    done: list[str] = []
    gate, leads = threading.Event(), threading.Event()
    group = GroupCommit(_all_run)
    with ThreadPoolExecutor(2) as pool:
        leader = pool.submit(group.submit, held(leads, gate, lambda: done.append("group")))
        assert leads.wait(PATIENCE_S)
        alone = pool.submit(group.alone, lambda: done.append("alone"))
        gate.set()
        leader.result()
        alone.result()
    assert done == ["group", "alone"]
    with pytest.raises(ZeroDivisionError):
        group.alone(lambda: 1 // 0)
    assert group.submit(lambda _: 7) == 7
