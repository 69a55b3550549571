"""Every row of every table is edited without a key: the edit is told before it has an effect, or it has none.

For each table, each row and each column (as the schema of the file names them) there are edits: another value, the
value of another row, NULL; for each row also that it is missing, that it is there twice, and that the row of an older
state is put back. Each is made with the store closed, and to an open store by another connection. Then everything is
asked that a caller may ask, a turn is committed, another is repeated and one is erased.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from muniment.errors import Kind, MunimentError
from muniment.events.changes import Transition
from muniment.governance.views import View
from tests.runtime.test_absence import vandal
from tests.turns import plain_turn, rich_turn
from tests.worlds import FileWorld, key_of, sqlite_world

Row = dict[str, Any]


class Edit(NamedTuple):
    """An edit of one row."""

    what: str
    table: str
    sql: str
    bindings: tuple[Any, ...]


def furnished(home: Path) -> FileWorld:
    """Make a store with two conversations, a chat id, a mask, an erasure and checkpoints."""
    world = sqlite_world(home).with_turns(3).with_turns(2, "other").with_turn(rich_turn()).erased(3)
    world.runtime.evidence.checkpoint()
    return world.masked(2).with_turns(1, "other")


def tables_of(raw: apsw.Connection) -> dict[str, tuple[str, ...]]:
    """Return the columns of every table, without those that SQLite keeps for itself."""
    found = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
    return {
        str(name): tuple(str(row[1]) for row in raw.execute(f"PRAGMA table_info({name})")) for (name,) in found
    }  # fmt: skip


def edits_of(raw: apsw.Connection, older: apsw.Connection) -> Iterator[Edit]:
    """Yield the edits of every row; `older` is the same log at an earlier time."""
    for table, columns in tables_of(raw).items():
        names = ", ".join(columns)
        rows = raw.execute(f"SELECT rowid, {names} FROM {table}").fetchall()  # noqa: S608 - names of the schema
        then = older.execute(f"SELECT rowid, {names} FROM {table}").fetchall()  # noqa: S608 - as above
        former = {row[0]: row[1:] for row in then}
        for number, (rowid, *values) in enumerate(rows):
            other = rows[(number + 1) % len(rows)][1:]
            for place, column in enumerate(columns):
                for how, value in (("flipped", _flipped(values[place])), ("of another", other[place]), ("NULL", None)):
                    if value != values[place]:
                        sql = f"UPDATE OR REPLACE {table} SET {column} = ? WHERE rowid = ?"  # noqa: S608 - as above
                        yield Edit(f"{table} {number} {column} {how}", table, sql, (value, rowid))
            yield Edit(f"{table} {number} deleted", table, f"DELETE FROM {table} WHERE rowid = ?", (rowid,))  # noqa: S608 - as above
            yield Edit(f"{table} {number} twice", table, _copied(table, columns, values), (900, *values[1:]))
            old = former.get(rowid)
            if old is not None and list(old) != list(values):
                settings = ", ".join(f"{column} = ?" for column in columns)
                sql = f"UPDATE {table} SET {settings} WHERE rowid = ?"  # noqa: S608 - as above
                yield Edit(f"{table} {number} older", table, sql, (*old, rowid))


def _copied(table: str, columns: tuple[str, ...], values: list[Any]) -> str:
    del values
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of the schema


def _flipped(value: Any) -> Any:
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
    if value is None:
        return 1
    return bytes([*value[:-1], value[-1] ^ 1]) if value else b"x"


# --- what is asked ----------------------------------------------------------------------------------------------------


def asked(world: FileWorld) -> dict[str, Any]:
    """Ask everything, and write; return the answers, errors as the word for them."""
    return {what: _answer(question) for what, question in _questions(world).items()}


def _questions(world: FileWorld) -> dict[str, Callable[[], Any]]:
    runtime = world.runtime
    found: dict[str, Callable[[], Any]] = {
        "health": lambda: "sound" if runtime.system.health().sound else CORRUPT,
        "conversations": lambda: runtime.conversations.list_().conversations,
    }
    for name in ("talk", "other", "nowhere"):
        for view in (View.RAW_OWNER, View.OPERATOR_AUDIT):
            found[f"replay {name} {view}"] = partial(_turns, world, name, view)
        found[f"receipts {name}"] = partial(_receipts, world, name)
    found["repeat"] = lambda: world.commit(rich_turn()).position
    found["prove"] = lambda: runtime.evidence.prove(key_of(), rich_turn().turn).summary["disclosed"]
    found["mask nobody"] = lambda: world.request(Transition.MASK, 77).changed
    found["commit"] = lambda: _committed(world)
    found["erase"] = lambda: world.request(Transition.ERASE, 1).changed
    found["replay again"] = partial(_turns, world, "talk", View.RAW_OWNER)
    return found


CORRUPT = "corrupt"


def _answer(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except AssertionError as bug:
        return f"a bug: {bug}"
    except MunimentError as error:
        return CORRUPT if error.kind in {Kind.CORRUPT, Kind.UNAVAILABLE, Kind.CONFLICT} else error.code


def _turns(world: FileWorld, name: str, view: View) -> list[tuple[str, str, Any]]:
    return [(turn.turn, turn.phase, turn.messages) for turn in world.replay(view, name).turns]


def _receipts(world: FileWorld, name: str) -> list[tuple[int, str, str]]:
    entries = world.runtime.lifecycle.receipts(key_of(name)).entries
    return [(entry.position, entry.transition, entry.reason) for entry in entries]


def _committed(world: FileWorld) -> tuple[int, int | None]:
    receipt = world.commit(plain_turn(9, "other"))
    return receipt.messages_before, receipt.sequence


# --- the test ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a closed store, `now`, and the same one at an earlier time, `then`."""
    home = tmp_path_factory.mktemp("rows")
    world = furnished(home / "now")
    world.close()
    shutil.copytree(home / "now", home / "then")
    world.reopened()
    world.with_turns(1).masked(1, "other").with_turns(1, "third")
    world.close()
    return home


def _database(home: Path) -> str:
    (found,) = home.glob("store/spaces/*/log.db")
    return str(found)


def _everything(made: Path) -> list[Edit]:
    raw, older = apsw.Connection(_database(made / "now")), apsw.Connection(_database(made / "then"))
    found = list(edits_of(raw, older))
    raw.close()
    older.close()
    return found


def _opened(made: Path, home: Path) -> FileWorld:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(made / "now", home)
    return sqlite_world(home, "again")


def _applied(raw: apsw.Connection, edit: Edit) -> bool:
    try:
        raw.execute(edit.sql, edit.bindings)
    except (apsw.ConstraintError, apsw.MismatchError):
        return False  # SQLite itself refuses it
    return bool(raw.changes())


@pytest.mark.slow
@pytest.mark.parametrize("open_", [False, True], ids=["closed", "open"])
def test_every_edit_is_told_or_without_effect(made: Path, tmp_path: Path, open_: bool) -> None:
    """Whatever is shown or acknowledged beside an error is what it was before the edit."""
    home = tmp_path / "home"
    world = _opened(made, home)
    expected = asked(world)
    world.close()
    assert CORRUPT not in expected.values()
    unerased = expected[f"replay talk {View.RAW_OWNER}"]
    unseen = []
    for edit in _everything(made):
        world = _opened(made, home)
        if open_:
            asked_before = world.replay(), world.replay(View.RAW_OWNER, "other")
            assert asked_before
            with vandal(world) as raw:
                applied = _applied(raw, edit)
        else:
            world.close()
            raw = apsw.Connection(_database(home))
            applied = _applied(raw, edit)
            raw.close()
            told = _answer(world.reopened)
            if told == CORRUPT:
                continue
        told = asked(world) if applied else expected
        if told["erase"] == CORRUPT and told["replay again"] == unerased:
            told["replay again"] = expected["replay again"]
        unseen += [(edit.what, what) for what, answer in told.items() if answer not in (CORRUPT, expected[what])]
        _answer(world.close)
    assert not unseen, "\n".join(map(str, unseen))
