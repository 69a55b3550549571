"""How a log of an older release becomes one of this release, and what the tables look like then.

`MIGRATIONS` leads from each version of the schema to the next; version 0 is the empty file. A new log takes the same
way as an old one, so there is one truth about the tables. All steps of a way happen in one transaction: a log is of
one version or of another, never between. What a log of the present version must look like is what the steps make of
an empty database in memory; a file whose schema differs from that was edited and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import apsw

from muniment.errors import Corrupt, StoreNewer, StoreReadOnly
from muniment.evidence.tree import Frontier
from muniment.log.schema import APPLICATION_ID, VERSION_1

STATISTICS = frozenset({"sqlite_stat1", "sqlite_stat2", "sqlite_stat3", "sqlite_stat4"})  # what ANALYZE makes

Migration = Callable[[apsw.Connection], None]


def _create(connection: apsw.Connection) -> None:
    connection.execute(VERSION_1)
    connection.execute("INSERT INTO frontier VALUES (0, ?, ?)", (Frontier().to_bytes(), b""))


# version -> the step that leads to it from the version before
MIGRATIONS: Mapping[int, Migration] = {1: _create}


def migrate(connection: apsw.Connection, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
    """Bring the log behind a connection to the newest version, in one transaction; the newest one is left alone.

    Raises `StoreNewer` for a version that the table does not know, `Corrupt` for a file that is no log.
    """
    newest = max(migrations)
    if version_of(connection, newest) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(version_of(connection, newest) + 1, newest + 1):
            migrations[version](connection)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", newest)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def version_of(connection: apsw.Connection, newest: int) -> int:
    """Return the version of the log behind a connection, 0 for an empty file."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if (application, version) == (0, 0) and not _objects(connection):
        return 0
    if application != APPLICATION_ID:
        raise Corrupt(at="application_id", problem="not_a_log")
    if not 0 <= version <= newest:
        raise StoreNewer(found=version, limit=newest)
    return int(version)


def check_schema(connection: apsw.Connection) -> None:
    """Raise unless tables and indexes are those of the newest version, in any order: `VACUUM` may change that.

    Statistics that `ANALYZE` leaves are no part of a log. Raises `StoreReadOnly` for an older version, which is only
    brought up to date when it may be written, `Corrupt` for anything else.
    """
    newest = max(MIGRATIONS)
    version = version_of(connection, newest)
    if version < newest:
        raise StoreReadOnly(problem="older_version", found=version, limit=newest)
    if set(_objects(connection)) != set(_newest_objects()):
        raise Corrupt(at="schema", problem="edited")


def store_sql() -> str:
    """Return the schema of the newest version as SQL text."""
    statements = [f"{sql};" for _, _, sql in _newest_objects()]
    pragmas = [f"PRAGMA application_id = {APPLICATION_ID};", f"PRAGMA user_version = {max(MIGRATIONS)};"]
    return "\n\n".join(["-- The tables of a log. One file per space.", *pragmas, *statements]) + "\n"


@cache
def _newest_objects() -> tuple[tuple[str, str, str], ...]:
    connection = apsw.Connection(":memory:")
    migrate(connection)
    objects = _objects(connection)
    connection.close()
    return objects


def _objects(connection: apsw.Connection) -> tuple[tuple[str, str, str], ...]:
    """Return (type, name, text) of what is declared in a database, in the order of declaration."""
    listing = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
    declared = ((str(kind), str(name), str(sql)) for kind, name, sql in connection.execute(listing))
    return tuple(one for one in declared if one[1] not in STATISTICS)
