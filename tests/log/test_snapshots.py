"""Snapshots stay as they were, whatever is written and whoever else reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from muniment.errors import StoreClosed
from muniment.log.memory import MemoryStore
from muniment.log.port import Store, Transaction
from muniment.log.sqlite import SqliteStore
from tests.log.worlds import a_turn, check_whole

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda place: SqliteStore(place / "log.db"),
    "memory": lambda _place: MemoryStore(),
}


@pytest.fixture(params=STORES)
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path)
    yield store
    store.close()


def test_snapshots_of_different_ages_answer_each_for_its_own_time(any_store: Store) -> None:
    """Ending an old snapshot does not let a younger one see what is written after it."""

    def change(tx: Transaction) -> None:
        a_turn()(tx)
        tx.destroy_content(0)
        tx.put_envelopes([(1, b"other")])

    with ExitStack() as old, ExitStack() as young:
        any_store.transact(a_turn())
        first = old.enter_context(any_store.reader())
        any_store.transact(a_turn())
        second = young.enter_context(any_store.reader())
        assert len(first.turns(0, 1, 9)) == 1
        old.close()
        any_store.transact(change)
        assert [(row.content, row.envelope) for row in second.turns(0, 1, 9)] == [(b"words", b"envelope")] * 2
        assert sum(head.seq for head in second.stream_heads()) == second.count() == 2
    assert check_whole(any_store) == 3


def test_a_snapshot_is_of_the_moment_it_was_taken_not_of_its_first_question(any_store: Store) -> None:
    with any_store.reader() as reader:
        any_store.transact(a_turn())
        assert reader.count() == 0


def test_what_reads_lazily_from_a_closed_snapshot_is_refused(any_store: Store) -> None:
    any_store.transact(a_turn())
    with any_store.reader() as reader:
        rows = reader.sealed_events(0, 0)
    with pytest.raises(StoreClosed):
        next(rows)


def test_a_closed_store_says_so(any_store: Store) -> None:
    any_store.close()
    for use in (any_store.scrub, lambda: any_store.transact(a_turn()), lambda: any_store.reader().__enter__()):
        with pytest.raises(StoreClosed):
            use()


def test_readers_and_writers_in_many_threads_disturb_nobody(any_store: Store) -> None:
    """While four threads write, every snapshot that four others take is whole."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            for _ in range(25):
                work()
        except BaseException as error:
            failures.append(error)
            raise

    works: list[Callable[[], object]] = [lambda: any_store.transact(a_turn()), lambda: check_whole(any_store)] * 4
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert check_whole(any_store) == 100
