"""Locks that no interrupt leaves behind."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import muniment
from muniment.kernel import locks
from muniment.kernel.locks import let_go, new_lock


def _is_free(lock: threading.RLock) -> bool:
    """Tell whether another thread can take a lock."""
    found: list[bool] = []
    other = threading.Thread(target=lambda: found.append(lock.acquire(blocking=False)))
    other.start()
    other.join()
    return found[0]


def test_what_a_thread_holds_is_let_go_however_often_it_took_it() -> None:
    mine, others = new_lock(), new_lock()
    mine.acquire()
    mine.acquire()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with others:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    let_go()
    assert _is_free(mine)
    assert not _is_free(others)
    done.set()
    holder.join()


def test_a_lock_that_is_given_is_let_go_alone() -> None:
    one, other = threading.RLock(), new_lock()
    one.acquire()
    other.acquire()
    let_go(one)
    assert _is_free(one)
    assert not _is_free(other)
    other.release()


def test_locks_that_are_gone_are_forgotten() -> None:
    gc.collect()
    before = len(locks._made)
    kept = [new_lock() for _ in range(5)]
    assert len(locks._made) == before + 5
    kept.clear()
    assert len(locks._made) == before


def test_no_lock_is_made_that_an_interrupt_could_leave_behind() -> None:
    """A plain lock in `ledger.heads` once stopped every commit after a Ctrl-C."""
    package = Path(muniment.__file__).parent
    letting_go = {package / "kernel" / "locks.py", package / "log" / "group_commit.py"}
    made = {
        path for path in package.rglob("*.py") if "threading.Lock(" in (text := path.read_text()) or "RLock(" in text
    }
    assert made <= letting_go
