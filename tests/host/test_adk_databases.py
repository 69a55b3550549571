"""Databases of Google's Agent Development Kit: a session goes on in a store as if it had always been there."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService

import muniment
from muniment import Runtime
from muniment.errors import FileUnavailable
from muniment.formats.reading.import_format import Format
from muniment.host.adk_sessions import MunimentSessions
from muniment.operations.importing.import_report import ImportReport
from tests.host.adk import APP, USER, run, said


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


def of_sqlite(path: Path) -> BaseSessionService:
    """Return the service that writes a database with sqlite3."""
    return SqliteSessionService(str(path))


def of_sqlalchemy(path: Path) -> BaseSessionService:
    """Return the service that writes a database with SQLAlchemy."""
    pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed")
    from google.adk.sessions.database_session_service import DatabaseSessionService

    return DatabaseSessionService(f"sqlite+aiosqlite:///{path}")


SECOND_S = 1.0  # SQLAlchemy notes no more of when the state of an app or a user changed
WRITERS = pytest.mark.parametrize("writer", [of_sqlite, of_sqlalchemy])
Writer = Callable[[Path], BaseSessionService]


@asynccontextmanager
async def writing(writer: Writer, path: Path) -> AsyncIterator[BaseSessionService]:
    """Open a database for a while."""
    service = writer(path)
    try:
        yield service
    finally:
        await service.close()


async def fill(service: BaseSessionService, first: int) -> None:
    """Go on in two sessions of two users."""
    for user in (USER, "bob/x"):
        place = {"app_name": APP, "user_id": user, "session_id": "s"}
        session = await service.get_session(**place)
        if session is None:
            session = await service.create_session(**place, state={"begun": 1, "n": -1, "user:name": user, "app:x": 1})
        for number in range(first, first + 3):
            author = "clerk" if number % 2 else "user"
            delta: dict[str, Any] = {"n": number, "app__last": number} if number % 2 else {}
            await service.append_event(session, said(f"{user} says {number}", author, **delta))


async def all_of(service: BaseSessionService) -> list[Session]:
    """Read every session with its events."""
    listed = (await service.list_sessions(app_name=APP)).sessions
    read = [
        await service.get_session(app_name=APP, user_id=each.user_id, session_id=each.id)
        for each in sorted(listed, key=lambda each: each.user_id)
    ]
    return [session for session in read if session is not None]


def imported(runtime: Runtime, path: Path) -> ImportReport:
    """Import a database; return the report."""
    return runtime.spaces.import_([path], channel="adk")


@WRITERS
def test_a_session_goes_on_where_it_was(runtime: Runtime, tmp_path: Path, writer: Writer) -> None:
    """Events, state and times are the same; a repeat adds nothing; of a longer database, only what is new."""
    path = tmp_path / "adk.db"

    async def play() -> None:
        ours, after = MunimentSessions(runtime), list[Session]()
        for first in (0, 3):
            await asyncio.sleep(SECOND_S if first else 0)
            async with writing(writer, path) as theirs:
                await fill(theirs, first)
            report = imported(runtime, path)
            assert report.complete
            assert report.format is Format.ADK
            async with writing(writer, path) as theirs:
                before, after = await all_of(theirs), await all_of(ours)
            assert len(after) == 2
            for one, other in zip(before, after, strict=True):
                assert other.events == one.events
                assert other.state == one.state
                assert other.last_update_time == pytest.approx(one.last_update_time, abs=1e-3)
            again = imported(runtime, path)
            assert again.turns_committed == 0
            assert again.turns_already_there == again.lines_read
        session = after[0]
        await ours.append_event(session, said("on", n=99))
        stored = (await all_of(ours))[0]
        assert stored.state == {**session.state, "n": 99}
        assert [event.id for event in stored.events] == [event.id for event in session.events]

    run(play())


def test_a_row_that_is_no_event_is_named(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    run(fill(of_sqlite(path), 0))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET event_data = '{' WHERE rowid = 2")
    report = imported(runtime, path)
    assert [(line.line, line.problem) for line in report.refused_lines] == [(2, "not_json")]
    sessions = run(all_of(MunimentSessions(runtime)))
    assert sorted(len(session.events) for session in sessions) == [2, 3]


def test_events_as_pickles_are_not_read(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = "app_name, user_id, id, state, create_time, update_time"
        connection.execute(f"CREATE TABLE sessions ({columns})")
        connection.execute("CREATE TABLE events (app_name, user_id, session_id, timestamp, actions BLOB)")
        connection.execute("CREATE TABLE app_states (app_name, state, update_time)")
        connection.execute("CREATE TABLE user_states (app_name, user_id, state, update_time)")
        connection.execute("INSERT INTO sessions VALUES ('shop', 'ada', 's', '{}', 0, 0)")
    with pytest.raises(FileUnavailable, match="database"):
        imported(runtime, path)
