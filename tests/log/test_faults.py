"""Disks that are full, broken, read-only, cut and edited: each a typed error, nothing half-written, nothing lost."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import Corrupt, MunimentError, StoreFault, StoreFull, StoreMissing, StoreNewer, StoreReadOnly
from muniment.log.connection import LogFile, OpenMode
from muniment.log.faults import FAULTS, OS_FAULTS, fault_of
from muniment.log.port import Store
from muniment.log.sqlite import SqliteStore
from tests.log.worlds import Disk, a_turn, check_whole

T = TypeVar("T")

NOBODY = 65534
WORDS = b"words that no error text may hold"


def read_everything(store: Store) -> None:
    with store.reader() as reader:
        frontier = reader.frontier()
        list(reader.sealed_events(0, frontier.size))
        list(reader.events(0, frontier.size))
        reader.envelopes(-1, 100)
        list(reader.of_kind("conversation.opened"))
        reader.checkpoints()
        list(reader.stream_heads())
        reader.count()
        for stream in range(3):
            reader.stream_head(stream)
            list(reader.in_stream(stream, 1, 100))
            reader.turns(stream, 1, 100)
            list(reader.changes(stream, 0))
        for level in (0, 4):
            reader.hashes(level, 0, 100)


@pytest.fixture(scope="module")
def good_log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a log of forty turns."""
    log = tmp_path_factory.mktemp("good") / "log.db"
    store = SqliteStore(log)
    for n in range(40):
        store.transact(a_turn(stream=n % 3, content=WORDS * 40))
    store.transact(lambda tx: tx.put_checkpoint(40, "note"))
    store.close()
    return log.read_bytes()


def edited(log: Path, good_log: bytes, *statements: str) -> None:
    """Make a log that somebody edited with SQLite."""
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(good_log)
    connection = apsw.Connection(str(log))
    for statement in statements:
        connection.execute(statement)
    connection.close()


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [*FAULTS, apsw.IOError, apsw.NoMemError, apsw.InternalError])
def test_every_error_of_sqlite_becomes_one_of_ours_without_its_words(error: type[Exception]) -> None:
    raised = UnicodeDecodeError("utf-8", WORDS, 0, 1, "bad") if error is UnicodeDecodeError else error(WORDS.decode())
    ours = fault_of(raised)
    assert isinstance(ours, FAULTS.get(error, StoreFault))
    assert WORDS.decode() not in str(ours)


@pytest.mark.parametrize("number", [*OS_FAULTS, errno.EIO])
def test_every_error_of_the_system_becomes_one_of_ours(number: int) -> None:
    assert isinstance(fault_of(OSError(number, "secret")), OS_FAULTS.get(number, StoreFault))


# --- the disk refuses -------------------------------------------------------------------------------------------------


def test_a_full_disk_keeps_nothing_of_the_write_and_everything_before_it(store: SqliteStore) -> None:
    store.transact(a_turn())
    connection = store._writing()
    connection.pragma("max_page_count", connection.pragma("page_count"))
    with pytest.raises(StoreFull):
        store.transact(a_turn(content=bytes(100_000)))
    assert check_whole(store) == 1
    connection.pragma("max_page_count", 100_000)
    assert store.transact(a_turn(content=bytes(100_000))) == 1
    assert check_whole(store) == 2


def test_a_plan_that_goes_on_after_a_full_disk_commits_nothing(store: SqliteStore) -> None:
    connection = store._writing()
    connection.pragma("max_page_count", connection.pragma("page_count"))

    def plan(tx: object) -> None:
        try:
            a_turn(content=bytes(100_000))(tx)  # type: ignore[arg-type]  # a transaction
        except StoreFull:
            return

    with pytest.raises(StoreFull):
        store.transact(plan)
    assert check_whole(store) == 0


@pytest.mark.parametrize("method", ["xWrite", "xSync"])
@pytest.mark.parametrize(
    ("error", "expected"),
    [(apsw.FullError, StoreFull), (apsw.IOError, StoreFault), (apsw.ReadOnlyError, StoreReadOnly)],
)
def test_a_disk_that_breaks_at_commit_acknowledges_nothing_and_recovers(
    store: SqliteStore, disk: Disk, method: str, error: type[apsw.Error], expected: type[MunimentError]
) -> None:
    """The turn that failed may be there or not, the ones before and after it are, and the log is whole."""
    store.transact(a_turn())
    disk.broken[method, "-wal"] = error
    with pytest.raises(expected):
        store.transact(a_turn())
    disk.broken.clear()
    position = store.transact(a_turn())
    assert position in {1, 2}
    assert check_whole(store) == position + 1


def test_after_a_failed_fsync_everything_is_flushed_before_it_is_trusted(
    store: SqliteStore, disk: Disk, log: Path
) -> None:
    store.transact(a_turn())
    flushed = disk.syncs[".db"]
    disk.broken["xSync", "-wal"] = apsw.IOError
    with pytest.raises(StoreFault):
        store.transact(a_turn())
    assert store._suspect
    assert disk.syncs[".db"] == flushed  # what was not flushed did not get into the database either
    disk.broken = {("xSync", "log.db"): apsw.IOError}
    for _ in range(2):  # as long as the disk is broken, recovery fails, for readers too
        with pytest.raises(StoreFault), store.reader():
            pass
    disk.broken.clear()
    disk.syncs.clear()
    assert check_whole(store) in {1, 2}
    assert disk.syncs[".db"]
    assert log.with_name("log.db-wal").stat().st_size == 0
    assert not store._suspect


def test_a_connection_that_is_given_up_takes_nothing_along_into_the_database(store: SqliteStore, disk: Disk) -> None:
    store.transact(a_turn())
    flushed = disk.syncs[".db"]
    disk.broken["xWrite", "-wal"] = apsw.IOError
    with pytest.raises(StoreFault):
        store.transact(a_turn())
    assert store._writer is None
    assert disk.syncs[".db"] == flushed


def test_a_fault_while_reading_is_told_and_the_next_reader_starts_afresh(store: SqliteStore, disk: Disk) -> None:
    for _ in range(10):
        store.transact(a_turn(content=bytes(5000)))
    store.close()
    store = SqliteStore(store._place.path, vfs=disk.name)
    with store.reader() as reader:
        assert reader.frontier().size == 10
    disk.broken["xRead", "log.db"] = apsw.IOError
    with pytest.raises(StoreFault), store.reader() as reader:
        list(reader.sealed_events(0, 9))
    assert store._suspect
    disk.broken.clear()
    assert check_whole(store) == 10
    store.close()


def test_a_reader_from_before_a_fault_finishes_and_is_not_used_again(store: SqliteStore, disk: Disk) -> None:
    store.transact(a_turn())
    with store.reader() as reader:
        disk.broken["xSync", "-wal"] = apsw.IOError
        with pytest.raises(StoreFault):
            store.transact(a_turn())
        disk.broken.clear()
        assert reader.count() == 1
    assert not store._idle
    assert check_whole(store) in {1, 2}


def test_a_log_that_cannot_be_taken_into_the_database_at_the_end_is_closed_and_complete(
    store: SqliteStore, disk: Disk, log: Path
) -> None:
    """Closing is told nothing of it: what was acknowledged is in the write-ahead log, and the next one takes it."""
    store.transact(a_turn())
    disk.broken["xSync", "log.db"] = apsw.IOError
    store.close()
    disk.broken.clear()
    again = SqliteStore(log)
    assert check_whole(again) == 1
    again.close()


def test_a_disk_that_does_not_open_the_file_is_told(log: Path, disk: Disk) -> None:
    disk.broken["xOpen", ".db"] = apsw.CantOpenError
    with pytest.raises(StoreReadOnly):
        SqliteStore(log, vfs=disk.name)


def test_a_fault_while_a_snapshot_is_taken_is_told(store: SqliteStore, disk: Disk, log: Path) -> None:
    with store.reader() as reader:
        assert reader.count() == 0
    other = SqliteStore(log)
    other.transact(a_turn())
    disk.broken["xRead", "-wal"] = apsw.IOError
    with pytest.raises(StoreFault), store.reader():
        pass
    disk.broken.clear()
    assert check_whole(store) == 1
    other.close()


@pytest.mark.parametrize(("error", "expected"), [(apsw.IOError, StoreFault), (apsw.FullError, StoreFull)])
def test_a_scrub_that_the_disk_refuses_is_told(
    store: SqliteStore, disk: Disk, error: type[apsw.Error], expected: type[MunimentError]
) -> None:
    store.transact(a_turn())
    disk.broken["xWrite", ".db"] = error
    with pytest.raises(expected):
        store.scrub()
    disk.broken.clear()
    assert store.scrub().wal_bytes == 0
    assert check_whole(store) == 1


@pytest.fixture
def humble_place() -> Iterator[Path]:
    """Return a directory, and be somebody for whom its permissions count: not root."""
    place = Path(tempfile.mkdtemp())
    was_root = os.geteuid() == 0
    if was_root:
        os.chown(place, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield place
    finally:
        if was_root:
            os.seteuid(0)
        place.chmod(0o700)
        shutil.rmtree(place)


def test_a_read_only_file_is_read_and_not_written(humble_place: Path, good_log: bytes) -> None:
    log = humble_place / "log.db"
    edited(log, good_log)
    log.chmod(0o400)
    store = SqliteStore(log)
    read_everything(store)
    with pytest.raises(StoreReadOnly):
        store.transact(a_turn())
    store.close()


def test_a_log_in_a_directory_that_may_not_be_written_is_neither_made_nor_opened(
    humble_place: Path, good_log: bytes
) -> None:
    """Reading a log needs its write-ahead log beside it, so that a directory which refuses that is told."""
    edited(humble_place / "old.db", good_log)
    humble_place.chmod(0o500)
    with pytest.raises(StoreReadOnly):
        SqliteStore(humble_place / "log.db")
    with pytest.raises(StoreReadOnly):
        SqliteStore(humble_place / "old.db", mode=OpenMode.READ)
    humble_place.chmod(0o000)
    with pytest.raises(StoreReadOnly):
        SqliteStore(humble_place / "old.db", mode=OpenMode.READ)


def test_a_log_that_cannot_be_made_is_told(log: Path) -> None:
    log.parent.parent.joinpath("space").touch()  # a file where the directory should be
    with pytest.raises(StoreFault):
        SqliteStore(log)


# --- somebody edited the file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("PRAGMA application_id = 7", Corrupt),
        ("PRAGMA user_version = 2", StoreNewer),
        ("PRAGMA user_version = -1", StoreNewer),
        ("DROP INDEX events_by_stream", Corrupt),
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM envelopes; END", Corrupt),
        ("ALTER TABLE meta ADD COLUMN more TEXT", Corrupt),
    ],
)
def test_a_log_of_another_shape_is_not_opened(
    log: Path, good_log: bytes, edit: str, expected: type[MunimentError]
) -> None:
    edited(log, good_log, edit)
    for mode in OpenMode:
        with pytest.raises(expected):
            SqliteStore(log, mode=mode)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE position = 7",
        "UPDATE checkpoints SET note = CAST(x'ff' AS TEXT)",
        "DELETE FROM frontier",
        "UPDATE frontier SET range = x'00'",
    ],
)
def test_a_row_of_another_shape_is_not_read(log: Path, good_log: bytes, edit: str) -> None:
    edited(log, good_log, edit)
    store = SqliteStore(log)
    with pytest.raises(Corrupt) as refused:
        read_everything(store)
    assert WORDS.decode() not in str(refused.value)
    store.close()


def test_a_column_of_another_type_is_not_read(log: Path, good_log: bytes) -> None:
    """A type that the schema forbids can only have come past SQLite; the row is refused, not passed on."""
    edited(
        log,
        good_log,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'events'",
        "PRAGMA writable_schema = RESET",
        "UPDATE events SET leaf = 17 WHERE position = 7",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name = 'events'",
    )
    store = SqliteStore(log)
    with pytest.raises(Corrupt), store.reader() as reader:
        reader.sealed(7)
    store.close()


def test_a_file_that_is_no_database_is_not_opened(log: Path) -> None:
    log.parent.mkdir()
    log.write_bytes(b"a letter to a friend, long enough to be looked at" * 100)
    with pytest.raises(Corrupt):
        SqliteStore(log)


def damage(folder: Path, data: bytes) -> None:
    """Read everything from damaged bytes, and append to them; only our errors may come of it."""
    folder.mkdir()
    log = folder / "log.db"
    log.write_bytes(data)
    store = refused(lambda: SqliteStore(log, patience_s=0))
    if store is not None:
        refused(lambda: read_everything(store))
        refused(lambda: store.transact(a_turn(stream=1)))
        store.close()
    shutil.rmtree(folder)


def refused(use: Callable[[], T]) -> T | None:
    """Return what the use returns, or None when it is refused with an error that tells nothing of the content."""
    told = ""
    try:
        return use()
    except MunimentError as error:
        told = str(error)
    assert WORDS.decode() not in told
    return None


@settings(max_examples=60)
@given(share=st.floats(0, 1))
def test_a_cut_file_gives_only_errors_of_ours(
    tmp_path_factory: pytest.TempPathFactory, good_log: bytes, share: float
) -> None:
    """Wherever a log is cut, every use of it ends in an answer or in one of our errors."""
    damage(tmp_path_factory.mktemp("cut") / "space", good_log[: int(len(good_log) * share)])


@settings(max_examples=150)
@given(data=st.data())
def test_an_edited_file_gives_only_errors_of_ours(
    tmp_path_factory: pytest.TempPathFactory, good_log: bytes, data: st.DataObject
) -> None:
    """Whatever bytes of a log are overwritten, every use of it ends in an answer or in one of our errors."""
    bad = bytearray(good_log)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(bad) - 1))
        patch = data.draw(st.binary(min_size=1, max_size=16))
        bad[at : at + len(patch)] = patch
    damage(tmp_path_factory.mktemp("edited") / "space", bytes(bad[: len(good_log)]))


def test_patience_outlasts_others_who_are_quick(log: Path) -> None:
    """An attempt is repeated while others are in the way, as long as the patience lasts."""
    others = [apsw.BusyError(), apsw.LockedError()]

    def attempt() -> str:
        if others:
            raise others.pop()
        return "done"

    assert LogFile(log, OpenMode.WRITE, 5.0, None).patiently(attempt) == "done"


def test_a_log_without_write_ahead_log_has_nothing_to_flush(log: Path) -> None:
    SqliteStore(log).close()
    place = LogFile(log, OpenMode.WRITE, 0.0, None)
    assert not place.flush_wal()
    assert place.wal_bytes() == 0


def test_a_file_that_went_missing_is_not_made_anew(log: Path) -> None:
    SqliteStore(log).close()
    log.unlink()
    with pytest.raises(StoreMissing):
        LogFile(log, OpenMode.WRITE, 0.0, None).open()


def test_a_write_ahead_log_that_somebody_left_is_taken_over_before_it_is_built_on(log: Path, disk: Disk) -> None:
    """Whoever left it may have gone because an fsync failed: what that lost is on no disk until it is written again."""
    gone = SqliteStore(log, vfs=disk.name)
    gone.transact(a_turn())
    gone._poison()
    assert log.with_name("log.db-wal").stat().st_size
    disk.syncs.clear()
    store = SqliteStore(log, vfs=disk.name)
    assert disk.syncs[".db"]
    assert log.with_name("log.db-wal").stat().st_size == 0
    assert check_whole(store) == 1
    store.close()


def test_a_write_ahead_log_that_somebody_else_uses_is_left_to_them(log: Path) -> None:
    other = SqliteStore(log)
    other.transact(a_turn())
    with other.reader() as reader:
        assert reader.count() == 1
        other.transact(a_turn())
        store = SqliteStore(log)
        assert store.transact(a_turn()) == 2
    store.close()
    other.close()


def test_a_write_ahead_log_that_cannot_be_taken_over_is_told(log: Path, disk: Disk) -> None:
    gone = SqliteStore(log, vfs=disk.name)
    gone.transact(a_turn())
    gone._poison()
    disk.broken["xSync", "log.db"] = apsw.IOError
    with pytest.raises(StoreFault):
        SqliteStore(log, vfs=disk.name)
    disk.broken.clear()
    store = SqliteStore(log, vfs=disk.name)
    assert check_whole(store) == 1
    store.close()
