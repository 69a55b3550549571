"""Old logs become new ones in one step or not at all, and the schema that is published is the one in force."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from muniment.errors import Corrupt, StoreNewer, StoreReadOnly
from muniment.log.migrations import MIGRATIONS, check_schema, migrate, store_sql, version_of
from muniment.log.schema import APPLICATION_ID


def add_a_table(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT")


def fill_it(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO more VALUES (7)")


LATER = {**MIGRATIONS, 2: add_a_table, 3: fill_it}


def tables(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_an_old_log_takes_every_step_in_order(tmp_path: Path) -> None:
    """From the empty file and from version 1 the way leads to the same log."""
    for start in ({}, MIGRATIONS):
        connection = apsw.Connection(str(tmp_path / f"{len(start)}.db"))
        if start:
            migrate(connection, start)
            assert version_of(connection, 3) == 1
        migrate(connection, LATER)
        migrate(connection, LATER)  # there is nothing left to do
        assert version_of(connection, 3) == 3
        assert connection.execute("SELECT id FROM more").get == 7


def test_a_step_that_fails_leaves_the_log_at_the_version_it_had(tmp_path: Path) -> None:
    def fail(connection: apsw.Connection) -> None:
        fill_it(connection)
        raise ZeroDivisionError

    connection = apsw.Connection(str(tmp_path / "log.db"))
    migrate(connection)
    with pytest.raises(ZeroDivisionError):
        migrate(connection, {**MIGRATIONS, 2: add_a_table, 3: fail})
    assert not connection.in_transaction
    assert version_of(connection, 3) == 1
    assert "more" not in tables(connection)
    check_schema(connection)


def test_a_log_of_an_older_release_that_may_not_be_written_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = apsw.Connection(":memory:")
    migrate(connection)
    monkeypatch.setattr("muniment.log.migrations.MIGRATIONS", LATER)
    with pytest.raises(StoreReadOnly) as refused:
        check_schema(connection)
    assert (refused.value.problem, refused.value.found, refused.value.limit) == ("older_version", 1, 3)


def test_a_log_of_a_later_release_is_left_alone(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "log.db"))
    migrate(connection, LATER)
    with pytest.raises(StoreNewer):
        migrate(connection)
    assert version_of(connection, 3) == 3


def test_a_database_of_somebody_else_is_not_made_a_log(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "other.db"))
    connection.execute("CREATE TABLE customers (name TEXT)")
    with pytest.raises(Corrupt):
        migrate(connection)
    assert tables(connection) == {"customers"}


def test_the_published_schema_makes_a_log() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(store_sql())
    check_schema(connection)
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("user_version") == max(MIGRATIONS)
