"""The store in a file: what it does to the disk, and what it leaves there."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest

from muniment.errors import StoreBusy, StoreClosed, StoreMissing, StoreReadOnly
from muniment.log import sqlite, sqlite_reader
from muniment.log.connection import OpenMode
from muniment.log.port import BATCH_EVENTS_MAX, BATCH_SEALED_MAX, Transaction
from muniment.log.sqlite import READERS_IDLE_MAX, SqliteStore
from tests.log.worlds import TURN, Disk, a_turn, check_whole

COUNTING = {"ORPHANS", "COUNT", "LOOKUP_COUNT", "SIZE_BYTES"}  # asked once, at opening
STATEMENTS = {
    name: sql
    for name, sql in vars(sqlite_reader).items()
    if isinstance(sql, str) and name.isupper() and "SELECT" in sql and name not in COUNTING
}


def everything_at_rest(log: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(log.parent.iterdir()))


def test_a_commit_is_one_fsync_of_the_write_ahead_log(store: SqliteStore, disk: Disk) -> None:
    store.transact(a_turn())  # the first one also flushes the new log's head
    disk.syncs.clear()
    for _ in range(20):
        store.transact(a_turn())
    assert disk.syncs == {".db-wal": 20}


def test_a_plan_that_writes_nothing_flushes_nothing(store: SqliteStore, disk: Disk) -> None:
    store.transact(a_turn())
    disk.syncs.clear()
    assert store.transact(lambda tx: tx.frontier().size) == 1
    assert not disk.syncs


def test_the_log_is_taken_into_the_database_when_it_has_grown(
    store: SqliteStore, disk: Disk, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 20)
    for _ in range(60):
        store.transact(a_turn(content=bytes(2000)))
    assert disk.syncs[".db"] >= 3
    assert log.with_name("log.db-wal").stat().st_size < 60 * 4096
    assert check_whole(store) == 60


def test_a_log_that_a_reader_keeps_from_starting_over_starts_over_when_it_ends(
    store: SqliteStore, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 5)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES_MAX", 20)
    monkeypatch.setattr(sqlite, "RESTART_TIMEOUT_MS", 1)
    wal = log.with_name("log.db-wal")
    with store.reader() as reader:
        for _ in range(30):
            store.transact(a_turn())
        assert reader.frontier().size == 0
    store.transact(a_turn())
    grown = wal.stat().st_size
    for _ in range(30):
        store.transact(a_turn())
    assert wal.stat().st_size == grown
    assert check_whole(store) == 61


def test_a_reader_that_stays_costs_no_checkpoint_for_each_commit(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
    tries: list[None] = []
    checkpoint = store._checkpoint
    monkeypatch.setattr(store, "_checkpoint", lambda connection, mode: tries.append(checkpoint(connection, mode)))
    with store.reader():
        for _ in range(60):
            store.transact(a_turn())
    assert 3 <= len(tries) <= 12


def test_writers_of_other_processes_cannot_keep_the_log_from_starting_over(
    store: SqliteStore, disk: Disk, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes during every checkpoint; when the log is overgrown, that writer has to wait for once."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 5)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES_MAX", 40)
    other = SqliteStore(log, patience_s=0)

    def intrude() -> None:
        with contextlib.suppress(StoreBusy):
            other.transact(a_turn(stream=9))

    disk.at_sync[".db"] = intrude
    for _ in range(60):
        store.transact(a_turn())
    disk.at_sync.clear()
    other.close()
    assert log.with_name("log.db-wal").stat().st_size < 80 * 4120
    assert check_whole(store) > 60


def test_an_error_while_tending_the_log_harms_no_caller(
    store: SqliteStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 1)
    disk.broken["xWrite", ".db"] = apsw.IOError
    assert store.transact(a_turn()) == 0
    disk.broken.clear()
    assert store.transact(a_turn()) == 1
    assert check_whole(store) == 2


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_may_read_what_is_written(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = SqliteStore(tmp_path / "spaces" / "one" / "log.db")
        store.transact(a_turn())
    finally:
        os.umask(before)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"log.db", "log.db-wal", "log.db-shm"}
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in tmp_path.rglob("*"))
    store.close()


def test_the_connection_keeps_the_promises_of_durability_and_erasure(store: SqliteStore) -> None:
    connection = store._writing()
    names = ["journal_mode", "synchronous", "secure_delete", "temp_store", "busy_timeout", "foreign_keys"]
    assert [connection.pragma(name) for name in names] == ["wal", 2, 1, 2, 200, 1]
    assert [connection.pragma(name) for name in ("fullfsync", "checkpoint_fullfsync")] == [1, 1]  # macOS heeds them
    assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1)  # without it each append plans its statements again


def test_a_patient_store_waits_five_seconds_at_a_time(log: Path) -> None:
    store = SqliteStore(log)
    assert store._writing().pragma("busy_timeout") == 5000
    store.close()


def test_closing_leaves_one_file_and_nothing_open(store: SqliteStore, log: Path) -> None:
    store.transact(a_turn())
    store.close()
    store.close()
    assert [path.name for path in log.parent.iterdir()] == ["log.db"]
    for use in (lambda: store.transact(a_turn()), store.scrub, lambda: list(store.subscribe(-1))):
        with pytest.raises(StoreClosed):
            use()
    with pytest.raises(StoreClosed), store.reader():
        pass


def test_a_reader_that_outlives_the_store_may_finish(store: SqliteStore, log: Path) -> None:
    store.transact(a_turn())
    with store.reader() as reader:
        store.close()
        assert reader.count() == 1
    assert [path.name for path in log.parent.iterdir()] == ["log.db"]


def test_what_was_destroyed_is_in_no_file_after_a_scrub(store: SqliteStore, log: Path) -> None:
    """Destroying a cell and scrubbing removes its bytes from database and write-ahead log."""
    canary = b"a canary sings in the log"
    store.transact(a_turn(content=canary))
    store.transact(a_turn(content=canary * 1000))  # in pages of its own
    assert canary in everything_at_rest(log)
    assert store.transact(lambda tx: tx.destroy_content(0) and tx.destroy_content(1))
    assert canary in everything_at_rest(log)
    report = store.scrub()
    assert canary not in everything_at_rest(log)
    assert (report.wal_bytes, report.flushed) == (0, ("database", "wal", "directory"))


def test_a_scrub_says_so_when_a_reader_is_in_its_way(store: SqliteStore) -> None:
    store.transact(a_turn())
    with store.reader():
        store.transact(a_turn())
        with pytest.raises(StoreBusy):
            store.scrub()
    assert store.scrub().wal_bytes == 0
    assert check_whole(store) == 2


def test_a_store_opened_for_reading_reads_along_and_writes_nothing(store: SqliteStore, log: Path) -> None:
    store.transact(a_turn())
    watcher = SqliteStore(log, mode=OpenMode.READ)
    assert check_whole(watcher) == 1
    store.transact(a_turn())
    assert check_whole(watcher) == 2
    with pytest.raises(StoreReadOnly):
        watcher.transact(a_turn())
    with pytest.raises(StoreReadOnly):
        watcher.scrub()
    watcher.close()


@pytest.mark.parametrize("mode", [OpenMode.WRITE, OpenMode.READ])
def test_a_log_that_is_not_there_is_made_only_when_asked_for(tmp_path: Path, mode: OpenMode) -> None:
    with pytest.raises(StoreMissing):
        SqliteStore(tmp_path / "log.db", mode=mode)
    (tmp_path / "log.db").touch()
    with pytest.raises(StoreMissing):
        SqliteStore(tmp_path / "log.db", mode=mode)
    SqliteStore(tmp_path / "log.db", mode=OpenMode.CREATE).close()
    SqliteStore(tmp_path / "log.db", mode=mode).close()


SMALL = {"CHECKPOINT", "CHECKPOINTS", "SEGMENT_ROWS", "STREAM_TOTALS"}  # questions about few rows


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_question_is_answered_from_an_index(store: SqliteStore, name: str) -> None:
    """No statement of the reader scans a table that grows with the log, or sorts."""
    bindings = (0,) * len(re.findall(r"\?", STATEMENTS[name]))
    plan = [str(row[3]) for row in store._writing().execute("EXPLAIN QUERY PLAN " + STATEMENTS[name], bindings)]
    small = ("checkpoints", "streams", "segments") if name in SMALL else ()
    scanned = [step for step in plan if step.startswith("SCAN") and not step.endswith(("frontier", *small))]
    assert plan
    assert not scanned
    assert not [step for step in plan if "TEMP B-TREE" in step]


def test_long_ranges_are_read_in_batches(store: SqliteStore) -> None:
    size = BATCH_EVENTS_MAX + BATCH_SEALED_MAX + 1

    def plan(tx: Transaction) -> None:
        for _ in range(size):
            a_turn()(tx)

    store.transact(plan)
    assert check_whole(store) == size
    with store.reader() as reader:
        assert [row.position for row in reader.events(3, size)] == list(range(3, size))
        assert [row.seq for row in reader.in_stream(0, 2, size)] == list(range(2, size + 1))
        assert {row.kind for row in reader.events(0, size)} == {TURN}
    assert [len(batch) for batch in store.subscribe(-1)] == [BATCH_EVENTS_MAX, BATCH_SEALED_MAX + 1]


def test_readers_are_kept_for_the_next_but_not_all_of_them(store: SqliteStore) -> None:
    with ExitStack() as stack:
        for _ in range(READERS_IDLE_MAX + 4):
            stack.enter_context(store.reader())
    assert len(store._idle) == READERS_IDLE_MAX


def test_a_plan_that_goes_around_its_transaction_is_a_bug(store: SqliteStore) -> None:
    with pytest.raises(AssertionError, match="never the store"):
        store.transact(lambda _: store.scrub())
    assert store.transact(a_turn()) == 0


def test_a_subscription_follows_a_log_that_grows_meanwhile(store: SqliteStore) -> None:
    store.transact(a_turn())
    seen = []
    for batch in store.subscribe(-1):
        seen += [row.position for row in batch]
        if len(seen) < 3:
            store.transact(a_turn())
    assert seen == [0, 1, 2]
