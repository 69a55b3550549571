"""The tables of a view: exactly what the view shows, gone with what is erased, read-only, never on a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.errors import AccessDenied, InvalidInput, LimitExceeded, MunimentError, StatementInvalid
from muniment.events.approving import GuardedAct
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.events.turn import Turn
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from muniment.tables import view_tables
from muniment.tables.table_forms import DERIVED, TABLES
from tests.laws.marked import marks_in
from tests.laws.walks import KEYS, Walk, steps
from tests.turns import SUBJECT, TALK, answer, asked, question
from tests.worlds import World, key_of, memory_world, sqlite_world

SAID = "SELECT text FROM messages ORDER BY position, place"
FOUND = "SELECT m.id FROM words JOIN messages m ON m.number = words.rowid WHERE words MATCH :query"


def dump(runtime: Runtime, view: View) -> dict[str, list[list[Any]]]:
    """Return every row of every table of a view."""
    rows: dict[str, list[list[Any]]] = {}
    for form in (*TABLES, *DERIVED):
        columns = ", ".join(f'"{name}"' for name in form.names if name != "number")
        selected = runtime.tables.query(f"SELECT {columns} FROM {form.name}", view=view, limit=10_000).rows  # noqa: S608 - our own names
        rows[form.name] = sorted(selected, key=repr)
    return rows


@pytest.fixture
def world() -> Iterator[World]:
    """Three plain turns."""
    made = memory_world().with_turns(3)
    yield made
    made.close()


@pytest.mark.slow
@given(st.lists(steps, max_size=16))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_the_tables_hold_what_the_view_shows_whatever_was_done(drawn: list[tuple[int, int, int]]) -> None:
    """After every command the tables of each view hold the words that a plain model names, and no others."""
    walk = Walk(memory_world())
    try:
        for step in drawn:
            walk.step(*step)
            for view in View:
                model = set().union(*(walk.shown(key, view) for key in KEYS))
                assert marks_in(msgspec.json.encode(dump(walk.world.runtime, view)).decode()) == model, view
    finally:
        walk.world.close()


@given(st.lists(steps, max_size=16), st.sampled_from(View), st.integers(1, 7))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_tables_that_followed_the_log_are_those_made_from_it(
    drawn: list[tuple[int, int, int]], view: View, part: int
) -> None:
    """Whatever happened between two statements, and in whatever parts the log was read."""
    walk = Walk(memory_world())
    whole, view_tables.PART_EVENTS = view_tables.PART_EVENTS, part
    try:
        followed = dump(walk.world.runtime, view)
        for step in drawn:
            walk.step(*step)
            followed = dump(walk.world.runtime, view)
        walk.world.runtime._session.space.tables.release()
        assert dump(walk.world.runtime, view) == followed
    finally:
        view_tables.PART_EVENTS = whole
        walk.world.close()


def test_words_are_found_as_a_reader_would_write_them(world: World) -> None:
    """Full-text search knows the words of the view, endings do not matter, and parameters are bound."""
    found = world.runtime.tables.query(FOUND, bindings={"query": "questions"})
    assert len(found.rows) == 3
    assert found.columns == ["id"]
    assert world.runtime.tables.query(FOUND, bindings={"query": "nothing"}).rows == []


def test_a_statement_sees_the_log_as_it_is_now(world: World) -> None:
    """A turn that is committed, masked or brought back between two statements is so in the second one."""
    runtime = world.runtime
    assert len(runtime.tables.query(SAID).rows) == 6
    world.with_turns(1).masked(1)
    said = [row[0] for row in runtime.tables.query(SAID).rows]
    assert said == [None, None, question(2), answer(2), question(3), answer(3), question(4), answer(4)]
    runtime.lifecycle.request(key_of(TALK), Transition.UNMASK, "mistake", "desk", TurnId("turn-1"))
    assert [question(1)] in runtime.tables.query(SAID).rows


def test_what_is_said_of_the_space_changes_no_row(world: World) -> None:
    """A rule of retention, a hold and a refused erasure are events of the space, not of a conversation."""
    runtime, scope = world.runtime, Scope(conversation=key_of(TALK).conversation)
    said = runtime.tables.query(SAID).rows
    runtime.lifecycle.retain("law", "desk", keep_at_least_ms=1_000_000)
    runtime.lifecycle.hold(scope, "case", "desk")
    runtime.lifecycle.erase(scope, "wish", "desk")
    runtime.approvals.require([GuardedAct.REVEAL], "two persons", "desk")
    assert runtime.tables.query(SAID).rows == said
    runtime._session.space.tables.release()
    assert runtime.tables.query(SAID).rows == said


def test_an_erasure_removes_the_tables_before_it_returns(world: World) -> None:
    """The database that held the words is closed, not only emptied; the next statement makes another one."""
    runtime = world.runtime
    runtime.tables.query(SAID, view=View.RAW_OWNER)
    tables = runtime._session.space.tables.of(View.RAW_OWNER)
    held = tables._database
    assert held is not None
    world.erased(2)
    assert tables._database is None
    with pytest.raises(Exception, match="closed"):
        held._connection.execute("SELECT 1")
    assert [question(2)] not in runtime.tables.query(SAID, view=View.RAW_OWNER).rows


def test_an_erasure_of_another_process_is_seen_before_the_next_statement(tmp_path: Path) -> None:
    """Whoever erased: what the tables held of it is gone, the database with it."""
    world, other = sqlite_world(tmp_path), sqlite_world(tmp_path, seed="another")
    world.with_turns(2)
    world.runtime.tables.query(SAID)
    held = world.runtime._session.space.tables.of(View.HOST_UI)._database
    other.erased(1)
    assert [question(1)] not in world.runtime.tables.query(SAID).rows
    assert world.runtime._session.space.tables.of(View.HOST_UI)._database is not held
    world.close()
    other.close()


WRITES = [
    "DELETE FROM turns",
    # exactly what the tables are filled with: a prepared statement must not be found again
    "DELETE FROM turns WHERE channel = ? AND conversation = ? AND sequence BETWEEN ? AND ?",
    "INSERT INTO words(words) VALUES ('rebuild')",
    "UPDATE messages SET text = 'x'",
    "CREATE TEMP TABLE mine(a)",
    "DROP TABLE turns",
    "ATTACH ':memory:' AS other",
    "VACUUM INTO '/tmp/muniment-must-not-exist.db'",
    "VACUUM",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = WAL",
    "PRAGMA writable_schema = ON",
    "PRAGMA temp_store = FILE",
    "BEGIN",
    "SAVEPOINT mine",
    "REINDEX",
    "SELECT load_extension('x')",
]


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_can_only_read(world: World, statement: str) -> None:
    """Whatever would write, attach a file, or change a setting is refused, and changes nothing."""
    before = dump(world.runtime, View.HOST_UI)
    with pytest.raises(StatementInvalid):
        world.runtime.tables.query(statement)
    assert dump(world.runtime, View.HOST_UI) == before
    assert not Path("/tmp/muniment-must-not-exist.db").exists()


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("SELECT 1; SELECT 2", StatementInvalid),
        ("SELECT", StatementInvalid),
        ("SELECT 1\0", StatementInvalid),
        ("SELECT nothing FROM turns", StatementInvalid),
        ("SELECT :unbound", StatementInvalid),
        ("SELECT CAST(x'ff' AS TEXT)", StatementInvalid),
        ("", InvalidInput),
        ("  -- nothing", InvalidInput),
        ("SELECT zeroblob(100000000)", LimitExceeded),
        (f"SELECT '{'x' * 100_000}'", LimitExceeded),
    ],
)
def test_a_bad_statement_is_refused_without_quoting_it(
    world: World, statement: str, fault: type[MunimentError]
) -> None:
    """The error says what kind of fault it is; only `explanation` may quote the statement."""
    with pytest.raises(fault) as refused:
        world.runtime.tables.query(statement)
    assert "nothing FROM" not in str(refused.value)


def test_a_statement_ends_at_its_deadline() -> None:
    """A statement without an end is stopped, and the tables are usable afterwards."""
    world = memory_world(limits=Limits(statement_seconds_max=1)).with_turns(1)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(LimitExceeded):
        world.runtime.tables.query(endless)
    assert len(world.runtime.tables.query(SAID).rows) == 2
    world.close()


def test_a_view_that_is_too_large_to_hold_is_refused() -> None:
    """The limit of the tables is a limit in bytes; nothing is left half filled."""
    world = memory_world(limits=Limits(tables_bytes_max=200_000))
    for number in range(4):
        world.with_turns(1, f"talk {number}")
    world.with_turn(Turn(turn=TurnId("long"), subject=SUBJECT, conversation=TALK, messages=[asked("word " * 20_000)]))
    for _ in range(2):
        with pytest.raises(LimitExceeded):
            world.runtime.tables.query(SAID)
    world.close()


def test_rows_beyond_the_limit_are_said_to_be_missing(world: World) -> None:
    """A cut answer says so; an answer of exactly the limit does not."""
    cut = world.runtime.tables.query(SAID, limit=5)
    assert (len(cut.rows), cut.is_cut) == (5, True)
    whole = world.runtime.tables.query(SAID, limit=6)
    assert (len(whole.rows), whole.is_cut) == (6, False)
    small = memory_world(limits=Limits(result_bytes_max=60)).with_turns(2)
    few = small.runtime.tables.query(SAID)
    assert few.is_cut
    assert few.rows
    small.close()


def test_only_views_of_the_access_have_tables(world: World) -> None:
    """An access without a view cannot ask its tables."""
    narrow = world.runtime.restricted(Access(views=frozenset({View.EXPORT})))
    narrow.tables.query(SAID, view=View.EXPORT)
    with pytest.raises(AccessDenied):
        narrow.tables.query(SAID, view=View.RAW_OWNER)


def test_nothing_is_ever_on_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements that sort and join more than a cache holds leave no file and need none."""
    nowhere = tmp_path / "nowhere"
    for name in ("TMPDIR", "SQLITE_TMPDIR", "TEMP"):
        monkeypatch.setenv(name, str(nowhere))
    monkeypatch.chdir(tmp_path)
    world = sqlite_world(tmp_path / "store").with_turns(3)
    before = {*tmp_path.rglob("*")}
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200000) "
    rows = world.runtime.tables.query(many + "SELECT x, hex(randomblob(32)) AS noise FROM n ORDER BY noise", limit=3)  # noqa: S608 - our own names
    assert rows.is_cut
    assert {*tmp_path.rglob("*")} == before
    world.close()


def test_every_table_and_column_is_described(world: World) -> None:
    """What `describe` lists can be selected, by name."""
    described = world.runtime.tables.describe().tables
    assert {table.name for table in described} == {form.name for form in (*TABLES, *DERIVED)}
    for table in described:
        columns = ", ".join(f'"{name}"' for name in table.columns)
        assert world.runtime.tables.query(f"SELECT {columns} FROM {table.name} LIMIT 1").columns == table.columns  # noqa: S608 - our own names
