"""A private SQLite database in memory that anybody may read and only its maker may fill.

A statement of a caller can read and nothing else: while it runs, SQLite refuses every write (`query_only`), asks an
authorizer about each thing that the statement touches, attaches no other file, and keeps what it sorts in memory. It
ends at a deadline, after so many rows, or after so many bytes of rows. One database belongs to one thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw
import apsw.ext

from muniment.errors import InvalidInput, LimitExceeded, StatementInvalid
from muniment.tables.table_forms import STATEMENTS, Row

PAGE_BYTES = 4096
VALUE_BYTES_MAX = 16 * 2**20  # of one value that a statement makes
STEPS_BETWEEN_LOOKS = 100_000  # instructions of SQLite's machine between two looks at the deadline
STATEMENT_BYTES_MAX = 64 * 2**10

LIMITS: dict[int, int] = {
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_LENGTH: VALUE_BYTES_MAX,
    apsw.SQLITE_LIMIT_SQL_LENGTH: STATEMENT_BYTES_MAX,
}
READS = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE})
# What tells about tables; `data_version` is what the full-text index asks for itself.
PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "data_version"})
FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})

Scalar = str | int | float | None


class Bounds(NamedTuple):
    """How much a statement may answer, and how long it may run."""

    rows: int
    result_bytes: int
    seconds: int


class Selected(NamedTuple):
    """The columns and rows of an answer; `is_cut`: there were more."""

    columns: list[str]
    rows: list[list[Scalar]]
    is_cut: bool


class PrivateDatabase:
    """The database of one view, in memory."""

    def __init__(self, bytes_max: int) -> None:
        self._connection = apsw.Connection(":memory:")
        self._bytes_max = bytes_max
        for pragma in (
            "temp_store = MEMORY",
            "secure_delete = ON",
            "trusted_schema = OFF",
            "foreign_keys = ON",
            f"page_size = {PAGE_BYTES}",
            f"max_page_count = {max(1, bytes_max // PAGE_BYTES)}",
        ):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        for statement in STATEMENTS:
            self._connection.execute(statement)

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Fill the database in one transaction; raises `LimitExceeded` when it grows too large.

        A database that was left half filled is to be closed.
        """
        try:
            self._connection.execute("BEGIN")
            yield
            self._connection.execute("COMMIT")
        except (apsw.FullError, apsw.TooBigError):
            raise LimitExceeded(at="tables", problem="too_large", limit=self._bytes_max) from None

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows; those of one table have the same columns."""
        by_table: dict[str, list[dict[str, Any]]] = {}
        for table, values in rows:
            by_table.setdefault(table, []).append(values)
        for table, of_table in by_table.items():
            columns = ", ".join(f'"{name}"' for name in of_table[0])
            places = ", ".join("?" * len(of_table[0]))
            statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"  # noqa: S608 - our own names
            self._connection.executemany(statement, [tuple(values.values()) for values in of_table])

    def remove(self, channel: str, conversation: str, first: int, last: int) -> None:
        """Remove turns of a conversation with all that belongs to them."""
        self._connection.execute(
            "DELETE FROM turns WHERE channel = ? AND conversation = ? AND sequence BETWEEN ? AND ?",
            (channel, conversation, first, last),
        )

    def remove_items(self) -> None:
        """Remove all memory items with what they rest on."""
        self._connection.execute("DELETE FROM items")

    def select(self, statement: str, values: Mapping[str, Scalar], bounds: Bounds) -> Selected:
        """Return what one statement selects."""
        if len(statement.encode(errors="replace")) > STATEMENT_BYTES_MAX:
            raise LimitExceeded(at="sql", problem="too_long", limit=STATEMENT_BYTES_MAX)
        try:
            with self._reading(bounds.seconds):
                return self._selected(statement, values, bounds)
        except apsw.InterruptError:
            raise LimitExceeded(at="sql", problem="too_slow", limit=bounds.seconds) from None
        except (apsw.TooBigError, apsw.NoMemError, MemoryError):
            raise LimitExceeded(at="sql", problem="too_large", limit=VALUE_BYTES_MAX) from None
        except (apsw.AuthError, apsw.ReadOnlyError):
            raise StatementInvalid(at="sql", problem="only_reads") from None
        except (apsw.BindingsError, KeyError, TypeError, OverflowError):
            raise StatementInvalid(at="bindings", problem="not_bound") from None
        except UnicodeError:
            raise StatementInvalid(at="sql", problem="lone_surrogate") from None
        except (apsw.Error, ValueError) as fault:  # of values, apsw refuses a null character in a statement
            raise StatementInvalid(at="sql", problem="not_understood", explanation=str(fault)) from None

    def _selected(self, statement: str, values: Mapping[str, Scalar], bounds: Bounds) -> Selected:
        details = apsw.ext.query_info(self._connection, statement, values)
        if not details.has_vdbe:
            raise InvalidInput(at="sql", problem="empty")
        if details.query_remaining is not None:
            raise StatementInvalid(at="sql", problem="several_statements")
        rows: list[list[Scalar]] = []
        size = 0
        cursor = self._connection.cursor()
        try:
            for row in cursor.execute(statement, values):
                shown = [_scalar(value) for value in row]
                size += sum(len(value) if isinstance(value, str) else 8 for value in shown)
                if len(rows) == bounds.rows or (rows and size > bounds.result_bytes):
                    return Selected([name for name, _ in details.description], rows, True)
                rows.append(shown)
        finally:
            cursor.close()
        return Selected([name for name, _ in details.description], rows, False)

    @contextmanager
    def _reading(self, seconds: int) -> Iterator[None]:
        """Let statements read, and only read, until the deadline."""
        connection, ends = self._connection, time.monotonic() + seconds
        limits = {limit: connection.limit(limit, most) for limit, most in LIMITS.items()}
        connection.execute("PRAGMA query_only = ON")
        connection.authorizer = _may
        connection.set_progress_handler(lambda: time.monotonic() >= ends, STEPS_BETWEEN_LOOKS)
        try:
            yield
        finally:
            connection.set_progress_handler(None)
            connection.authorizer = None
            connection.execute("PRAGMA query_only = OFF")
            for limit, was in limits.items():
                connection.limit(limit, was)


def _may(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """Decide about one thing that a statement does."""
    allowed = action in READS
    if action == apsw.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in FORBIDDEN_FUNCTIONS
    elif action == apsw.SQLITE_PRAGMA:
        allowed = (first or "").lower() in PRAGMAS
    return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


def _scalar(value: Any) -> Scalar:
    """Return a value as JSON can say it; bytes become hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value
