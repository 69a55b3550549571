"""Several processes on one log, and processes that are killed while they write."""

from __future__ import annotations

import contextlib
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import apsw
import pytest

from muniment.log.sqlite import SqliteStore
from tests.log.worlds import a_turn, check_whole

WRITERS, TURNS, KILLS = 8, 40, 10

spawn = multiprocessing.get_context("spawn")


def write_turns(path: Path, writer: int, said: Connection) -> None:
    """Append turns, and tell their positions in the end."""
    store = SqliteStore(path)
    said.send([store.transact(a_turn(stream=writer % 3)) for _ in range(TURNS)])
    store.close()


def write_for_ever(path: Path, said: Connection) -> None:
    """Append turns, and tell the position of each as soon as it is acknowledged."""
    store = SqliteStore(path)
    while True:
        said.send(store.transact(a_turn(content=bytes(3000))))


def test_eight_processes_lose_nothing_and_are_never_told_to_wait(log: Path) -> None:
    """Each position is given to one writer; the log has no gap; nobody sees an error."""
    pipes = [spawn.Pipe(duplex=False) for _ in range(WRITERS)]
    writers = [spawn.Process(target=write_turns, args=(log, n, told)) for n, (_, told) in enumerate(pipes)]
    for writer in writers:
        writer.start()
    for _, told in pipes:
        told.close()
    positions = sorted(position for heard, _ in pipes for position in heard.recv())
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert positions == list(range(WRITERS * TURNS))
    store = SqliteStore(log)
    assert check_whole(store) == WRITERS * TURNS
    store.close()


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_it_acknowledged(log: Path) -> None:
    """After a kill at any moment the log opens, is whole, and holds every position that was told."""
    SqliteStore(log).close()
    for _ in range(KILLS):
        heard, told = spawn.Pipe(duplex=False)
        child = spawn.Process(target=write_for_ever, args=(log, told))
        child.start()
        told.close()
        acknowledged = [heard.recv() for _ in range(25)]
        child.kill()
        child.join()
        with contextlib.suppress(EOFError, OSError):  # the last message may have been cut
            while True:
                acknowledged.append(heard.recv())
        heard.close()
        store = SqliteStore(log)
        assert check_whole(store) > acknowledged[-1]
        assert store._writing().execute("PRAGMA integrity_check").get == "ok"
        store.close()


def test_a_store_that_others_use_can_be_closed(log: Path) -> None:
    """Closing one of two leaves the other its write-ahead log."""
    one, other = SqliteStore(log), SqliteStore(log)
    one.transact(a_turn())
    other.transact(a_turn())
    one.close()
    assert log.with_name("log.db-wal").exists()
    assert other.transact(a_turn()) == 2
    other.close()
    assert apsw.Connection(str(log)).execute("SELECT count(*) FROM events").get == 3
