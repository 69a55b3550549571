"""The operational file of a store: what a server has to remember and no promise rests on.

Client keys, answers that were given, counters: records of a kind, each under a name and until a moment. It is no part
of any log, so losing it loses no turn. Like a log it is keyless: names are digests and values are sealed when they
come here (`space.operational_records`). What is deleted is overwritten.

One file for all spaces of a store, shared by its processes; every change is one transaction. It is flushed before it
returns, unless whoever makes it can do without it after a power cut; the end of a process loses none.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import apsw

from muniment.errors import StoreClosed, StoreNewer
from muniment.kernel.locks import new_lock
from muniment.log.connection import BUSY_TIMEOUT_MS, PRAGMAS, make_private
from muniment.log.faults import STORE_ERRORS, fault_of

FILE = "operational.db"
VERSION = 1
SCHEMA = """
CREATE TABLE records (
    kind TEXT NOT NULL,
    name BLOB NOT NULL,
    expires_ms INTEGER,
    sealed BLOB NOT NULL,
    PRIMARY KEY (kind, name)
);
CREATE INDEX records_by_expiry ON records (expires_ms) WHERE expires_ms IS NOT NULL;
"""


Change = Callable[[bytes | None], bytes | None]  # from what is there to what shall be there


class OperationalFile:
    """Records of a store beside its logs. Thread-safe; `path` None keeps them in memory.

    One that is not flushed is for what may be lost with the machine.
    """

    def __init__(self, path: Path | None, *, is_flushed: bool = True) -> None:
        self._path = path
        self._pragmas = PRAGMAS if is_flushed else {**PRAGMAS, "synchronous": "OFF"}
        self._lock = new_lock()
        self._connection: apsw.Connection | None = None
        self._is_closed = False
        self._changes: Counter[str] = Counter()  # by this connection, which its data version does not count

    def get(self, kind: str, name: bytes, now_ms: int) -> bytes | None:
        """Return a record that has not expired, or None."""
        if not self._is_there():
            return None
        with self._used() as connection:
            found = connection.execute(
                "SELECT sealed FROM records WHERE kind = ? AND name = ? AND (expires_ms IS NULL OR expires_ms > ?)",
                (kind, name, now_ms),
            ).fetchone()
        return None if found is None else found[0]

    def version(self, kinds: Collection[str], *, waits: bool = True) -> tuple[int, int] | None:
        """Return a value that changes whenever a record of these kinds does, in any process; None where no file is.

        It may change without that: what other processes write is not told apart. Unless it `waits`, None also says that
        another thread uses the file, or that nobody has opened it yet.
        """
        if (self._connection is None and not waits) or not self._is_there() or not self._lock.acquire(blocking=waits):
            return None
        try:
            with self._used() as connection:
                data_version: int = connection.pragma("data_version")
                return data_version, sum(self._changes[kind] for kind in kinds)
        finally:
            self._lock.release()

    def all_of(self, kind: str, now_ms: int) -> list[tuple[bytes, bytes]]:
        """Return the names and records of a kind that have not expired, in the order of their names."""
        if not self._is_there():
            return []
        with self._used() as connection:
            return list(
                connection.execute(
                    "SELECT name, sealed FROM records WHERE kind = ? AND (expires_ms IS NULL OR expires_ms > ?)"
                    " ORDER BY name",
                    (kind, now_ms),
                )
            )

    def change(
        self, kind: str, name: bytes, now_ms: int, change: Change, expires_ms: int | None, *, is_flushed: bool = True
    ) -> None:
        """Replace a record by what `change` makes of it, alone among all processes; None deletes it.

        What is written counts until `expires_ms`. What `change` raises leaves everything as it was. Expired records of
        every kind go first, in the same transaction, so `change` never sees one. One that is not flushed is durable
        with the next one that is.
        """
        with self._used() as connection:
            connection.pragma("synchronous", self._pragmas["synchronous"] if is_flushed else "NORMAL")
            with _transaction(connection):
                connection.execute("DELETE FROM records WHERE expires_ms <= ?", (now_ms,))
                found = connection.execute(
                    "SELECT sealed FROM records WHERE kind = ? AND name = ?", (kind, name)
                ).fetchone()
                sealed = change(None if found is None else found[0])
                if sealed is None:
                    connection.execute("DELETE FROM records WHERE kind = ? AND name = ?", (kind, name))
                else:
                    connection.execute(
                        "INSERT OR REPLACE INTO records (kind, name, expires_ms, sealed) VALUES (?, ?, ?, ?)",
                        (kind, name, expires_ms, sealed),
                    )
                self._changes[kind] += 1  # a change that is not kept after all costs a look, no more

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        with self._lock:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _is_there(self) -> bool:
        """Tell whether anything was ever kept: looking for it makes no file."""
        return self._connection is not None or (self._path is not None and self._path.exists())

    @contextlib.contextmanager
    def _used(self) -> Iterator[apsw.Connection]:
        with self._lock:
            if self._is_closed:
                raise StoreClosed
            try:
                if self._connection is None:
                    self._connection = _opened(self._path, self._pragmas)
                yield self._connection
            except (*STORE_ERRORS, OSError) as error:
                raise fault_of(error) from None


def _opened(path: Path | None, pragmas: Mapping[str, str | int]) -> apsw.Connection:
    if path is not None and not path.exists():
        make_private(path)
    connection = apsw.Connection(":memory:" if path is None else str(path))
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    for name, value in pragmas.items():
        connection.pragma(name, value)
    if path is not None:
        connection.pragma("journal_mode", "WAL")
    with _transaction(connection):
        version = connection.pragma("user_version")
        if version > VERSION:
            raise StoreNewer(at=FILE, limit=VERSION, found=version)
        if version == 0:
            for statement in SCHEMA.strip().split(";\n"):
                connection.execute(statement)
            connection.pragma("user_version", VERSION)
    return connection


@contextlib.contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
