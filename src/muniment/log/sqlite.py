"""The store in a file: one log in SQLite, shared by the threads of many processes.

One connection writes, under a group leader; a pool of connections reads. A commit is one fsync of the write-ahead
log. It is checkpointed after its callers have their answer, every `CHECKPOINT_PAGES` pages.

After an error of the disk nothing that this process holds in memory is trusted: all connections are given up, and the
next use opens the file again, writes and flushes the write-ahead log as it then reads, takes all of it into the
database and flushes that before it goes on. What a failed fsync left behind is thereby either durable or gone (decision
0130).
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from muniment.errors import MunimentError, StoreBusy, StoreClosed, StoreReadOnly
from muniment.kernel.locks import new_lock
from muniment.kernel.one_process import OneProcess
from muniment.log.connection import PATIENCE_S, LogFile, OpenMode, give_up, make_private
from muniment.log.faults import POISONOUS, STORE_ERRORS, fault_of
from muniment.log.group_commit import GroupCommit, Ticket
from muniment.log.port import BATCH_EVENTS_MAX, EventRow, Reader, ScrubReport, Transaction
from muniment.log.reserve import Reserve
from muniment.log.sqlite_reader import SqliteReader
from muniment.log.sqlite_transaction import SqliteTransaction

T = TypeVar("T")

_open_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_of_parents: list[apsw.Connection] = []  # connections that a fork copied: they are neither used nor closed here

CHECKPOINT_PAGES = 1000
CHECKPOINT_PAGES_MAX = 16 * CHECKPOINT_PAGES  # beyond this, writers wait for the write-ahead log to start over
RESTART_TIMEOUT_MS = 100
READERS_IDLE_MAX = 8


class SqliteStore(OneProcess):
    """A log in one file. `OpenMode.CREATE` makes it when missing; `OpenMode.READ` never writes, even to recover."""

    def __init__(
        self, path: Path, *, mode: OpenMode = OpenMode.CREATE, patience_s: float = PATIENCE_S, vfs: str | None = None
    ) -> None:
        super().__init__()
        self._place = LogFile(path, mode, patience_s, vfs)
        self._reserve = Reserve(path.parent)
        self._group = GroupCommit(self._commit)
        self._idle: list[apsw.Connection] = []
        self._pool = new_lock()
        self._era = 0  # counts up when the connections of before are not trusted any more
        self._suspect = False
        self._closed = False
        self._wal_pages = 0
        self._tended_pages = 0  # how long the write-ahead log was when it was last tended
        self._writer: apsw.Connection | None = None
        _open_stores.add(self)
        if self._place.mode is OpenMode.CREATE:
            make_private(self._place.path)
        if self._place.mode is OpenMode.READ:
            self._idle.append(self._place.open())
        else:
            self._writing()

    # --- writing ------------------------------------------------------------------------------------------------------

    def transact(self, plan: Callable[[Transaction], T]) -> T:
        """Run a plan in a write transaction; return its result once it is durable."""
        self.require_own_process()
        if self._place.mode is OpenMode.READ:
            raise StoreReadOnly(problem=self._place.refusal)
        try:
            return self._group.submit(plan)
        finally:  # on a full disk this may make room
            if self._wal_pages - self._tended_pages >= CHECKPOINT_PAGES:
                self._group.alone(self._tend)

    def _commit(self, tickets: list[Ticket[Any]]) -> None:
        connection = self._writing()
        if connection.in_transaction:  # a leader was interrupted while it gave up
            self._guarded(lambda: connection.execute("ROLLBACK"))
        transaction = SqliteTransaction(connection)
        try:
            for ticket in tickets:
                if not connection.in_transaction:
                    self._place.patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
                self._attempt(ticket, transaction)
            if connection.in_transaction:
                connection.execute("COMMIT")
        except STORE_ERRORS as error:
            transaction.failed = fault_of(error)
            raise transaction.failed from None
        finally:
            transaction.close()
            if isinstance(transaction.failed, POISONOUS):
                self._poison()
            elif connection.in_transaction:
                self._guarded(lambda: connection.execute("ROLLBACK"))

    @staticmethod
    def _attempt(ticket: Ticket[Any], transaction: SqliteTransaction) -> None:
        ticket.run(transaction)
        if transaction.failed is not None:
            raise transaction.failed
        if ticket.error is None and (conflict := transaction.settle()) is not None:
            ticket.fail(conflict)
        if ticket.error is None:
            transaction.keep()
        else:
            transaction.undo()

    def _writing(self) -> apsw.Connection:
        """Return the connection that writes; only the leader of the group asks for it."""
        if self._closed:
            raise StoreClosed
        if self._writer is None:
            connection = self._place.open()
            try:
                self._writer = connection
                self._recover(connection)
            except MunimentError:  # a full disk may still take an erasure
                raise
            except BaseException:
                self._writer = None
                give_up(connection)
                raise
        assert self._writer is not None, "it was opened"
        return self._writer

    def _recover(self, connection: apsw.Connection) -> None:
        """Make a connection fit to write: what is in the write-ahead log becomes trustworthy."""
        connection.set_wal_hook(self._on_commit)
        if self._place.wal_bytes():
            self._guarded(lambda: self._renew_wal(connection))
        if self._suspect:
            self._guarded(lambda: self._empty_wal(connection))
            self._suspect = False
        elif self._place.wal_bytes():
            self._inherit_wal(connection)

    def _renew_wal(self, connection: apsw.Connection) -> None:
        """Make what is left of a write-ahead log durable before anything is taken from it into the database.

        An fsync may have failed, ours or that of somebody who went since. The lock keeps others from changing it.
        """
        self._place.patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            self._place.rewrite_wal()
        finally:
            connection.execute("ROLLBACK")

    def _inherit_wal(self, connection: apsw.Connection) -> None:
        """Take over a write-ahead log that somebody left behind, unless somebody is still there who uses it."""
        try:
            self._checkpoint(connection, apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            return  # it is durable where it is
        except apsw.Error as error:
            self._poison()
            raise fault_of(error) from None
        self._guarded(self._place.flush_wal)

    def _on_commit(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        if pages < self._wal_pages:
            self._tended_pages = 0  # it started over
        self._wal_pages = pages
        return apsw.SQLITE_OK

    # --- the write-ahead log ------------------------------------------------------------------------------------------

    def _tend(self) -> None:
        """Take the write-ahead log into the database when it has grown; the callers have their answer already."""
        if self._wal_pages - self._tended_pages < CHECKPOINT_PAGES or self._writer is None:
            return
        self._tended_pages = self._wal_pages
        overgrown = self._wal_pages >= CHECKPOINT_PAGES_MAX
        mode = apsw.SQLITE_CHECKPOINT_RESTART if overgrown else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            self._checkpoint(self._writer, mode)
        except (apsw.BusyError, apsw.LockedError):
            pass  # somebody reads an old snapshot; when the log has grown by as much again, the next try is due
        except apsw.Error:
            self._poison()

    def _checkpoint(self, connection: apsw.Connection, mode: int) -> None:
        connection.set_busy_timeout(RESTART_TIMEOUT_MS)
        try:
            connection.wal_checkpoint(mode=mode)
        finally:
            connection.set_busy_timeout(self._place.busy_timeout_ms)

    def _empty_wal(self, connection: apsw.Connection) -> ScrubReport:
        self._place.patiently(lambda: connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))
        flushed = ["database", "wal"] if self._place.flush_wal() else ["database"]
        self._place.flush_directory()
        self._wal_pages = self._tended_pages = 0
        return ScrubReport(flushed=(*flushed, "directory"), wal_bytes=self._place.wal_bytes())

    def scrub(self) -> ScrubReport:
        """Empty the write-ahead log and flush everything."""
        self.require_own_process()
        if self._place.mode is OpenMode.READ:
            raise StoreReadOnly(problem=self._place.refusal)
        return self._group.alone(lambda: self._guarded(lambda: self._empty_wal(self._writing())))

    def keep_reserve(self) -> None:
        """Keep the reserve for erasures on a full disk."""
        if self._place.mode is not OpenMode.READ:
            self._reserve.keep()

    def release_reserve(self) -> bool:
        """Give up the reserve; return whether there was any."""
        return self._reserve.release()

    def _guarded(self, work: Callable[[], T]) -> T:
        """Return what the work returns; an error of the disk in it gives up the connections."""
        try:
            return work()
        except (*STORE_ERRORS, OSError) as error:
            fault = fault_of(error)
            if isinstance(fault, POISONOUS):
                self._poison()
            raise fault from None

    # --- reading ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def reader(self) -> Iterator[Reader]:
        """Return a snapshot of the present state, for one thread."""
        era, connection = self._take()
        is_still = self._place.is_still
        reader = SqliteReader(connection)
        try:
            self._begin(reader, connection)
            yield reader
            if is_still and (era != self._era or self._place.moved()):
                raise StoreBusy(problem="changed_meanwhile")
        finally:
            reader.close()
            self._give(era, connection, reader.failed)

    def _begin(self, reader: SqliteReader, connection: apsw.Connection) -> None:
        """Begin to read; the snapshot is of now, not of the first question."""
        try:
            connection.execute("BEGIN")
            self._place.patiently(lambda: connection.execute("SELECT 1 FROM frontier").fetchall())
        except STORE_ERRORS as error:
            raise reader.fault(error) from None

    def _take(self) -> tuple[int, apsw.Connection]:
        self.require_own_process()
        if self._suspect and self._place.mode is not OpenMode.READ:
            self._group.alone(self._writing)
        with self._pool:
            if self._closed:
                raise StoreClosed
            if self._place.is_still and self._place.moved():
                self._look_again()
            if self._idle:
                return self._era, self._idle.pop()
            era = self._era
        return era, self._place.open()

    def _look_again(self) -> None:
        """Give up what was opened on a log that seemed to lie still; the pool is locked."""
        idle, self._idle = self._idle, []
        self._era += 1
        for connection in idle:
            give_up(connection)
        self._place.begin_again()

    def _give(self, era: int, connection: apsw.Connection, failed: MunimentError | None) -> None:
        if os.getpid() != self._opened_by:  # as `is_foreign`, without a call for each reader
            _of_parents.append(connection)
            return
        if isinstance(failed, POISONOUS):
            give_up(connection)
            self._group.alone(self._poison)
            return
        with contextlib.suppress(apsw.SQLError):  # an interrupt came before there was anything to end
            connection.execute("ROLLBACK")
        with self._pool:
            keep = era == self._era and not self._closed and len(self._idle) < READERS_IDLE_MAX
            if keep:
                self._idle.append(connection)
        if not keep:
            _end(connection)

    def subscribe(self, after: int) -> Iterator[Sequence[EventRow]]:
        """Yield batches of the events behind a position, until the head is reached."""
        while True:
            with self.reader() as reader:
                batch = list(reader.events(after + 1, after + BATCH_EVENTS_MAX))
            if not batch:
                return
            yield batch
            after = batch[-1].position

    # --- the end ------------------------------------------------------------------------------------------------------

    def _poison(self) -> None:
        """Give up every connection; the next use recovers. Only the leader of the group does this."""
        with self._pool:
            self._era += 1
            self._suspect = True
            writer, self._writer = self._writer, None
            idle, self._idle = self._idle, []
        for connection in [*idle, writer] if writer else idle:
            give_up(connection)

    def close(self) -> None:
        """Close all connections; the last one takes the write-ahead log into the database and removes it."""
        if not self._closed and not self.is_foreign:
            self._group.alone(self._close)

    def _close(self) -> None:
        with self._pool:
            self._closed = True
            writer, self._writer = self._writer, None
            idle, self._idle = self._idle, []
        for connection in [*idle, writer] if writer else idle:
            _end(connection)

    def leave_to_parent(self) -> None:
        """Keep the connections that a fork copied from doing anything when they are forgotten."""
        for connection in [*self._idle, self._writer] if self._writer else list(self._idle):
            with contextlib.suppress(apsw.Error):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _of_parents.append(connection)


def _end(connection: apsw.Connection) -> None:
    """Close a connection, on a disk that fails too: what could not be checkpointed stays in the write-ahead log."""
    try:
        connection.close()
    except apsw.Error:
        give_up(connection)


def _forked() -> None:
    for store in list(_open_stores):
        store.leave_to_parent()


os.register_at_fork(after_in_child=_forked)
