"""Databases of other programs: read as they are, also while they are written, and never changed."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment import Runtime, View
from muniment.errors import InvalidInput
from muniment.events.message import Role
from muniment.formats.reading.import_format import Format
from muniment.host.histories.item_history import ItemHistory
from tests.turns import SUBJECT
from tests.worlds import key_of

SCHEMA = """
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE agent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
"""
ASKED = {"role": "user", "content": "And in Paris?"}
CALL = {"type": "function_call", "call_id": "1", "name": "weather", "arguments": '{"city": "Paris"}', "id": "fc"}
RETURNED = {"type": "function_call_output", "call_id": "1", "output": "It rains."}
ANSWER = {
    "type": "message",
    "role": "assistant",
    "id": "m",
    "content": [{"type": "output_text", "text": "Take an umbrella.", "annotations": []}],
}
RUN = [ASKED, CALL, RETURNED, ANSWER]


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


def made(path: Path, *, mode: str = "wal") -> sqlite3.Connection:
    """Make a database of sessions, open."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.executescript(SCHEMA)
    return connection


def save(connection: sqlite3.Connection, items: list[Any], session: str = "s") -> None:
    """Save items as the SDK does."""
    texts = [item if isinstance(item, str) else json.dumps(item) for item in items]
    for text in texts:
        connection.execute("INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", (session, text))


def items_of(runtime: Runtime, session: str = "s") -> list[Any]:
    """Return the items that a session on the imported conversation has."""
    like = muniment.Turn(turn="x", subject=SUBJECT, conversation=session, channel="import", messages=[])
    return ItemHistory(runtime, like).newest()


def brought(runtime: Runtime, path: Path, format: Format = Format.AUTO) -> Any:  # noqa: A002 - its name
    """Import a file."""
    return runtime.spaces.import_([path], format=format, channel="import", subject=SUBJECT)


def state_of(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder with its bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_sessions_go_on_with_the_items_that_they_had(runtime: Runtime, tmp_path: Path, mode: str) -> None:
    with closing(made(tmp_path / "sessions.db", mode=mode)) as connection:
        save(connection, [*RUN, *RUN])
        save(connection, [ASKED], "other")
    before = state_of(tmp_path)
    report = brought(runtime, tmp_path / "sessions.db")
    assert report.complete
    assert items_of(runtime) == [*RUN, *RUN]
    assert items_of(runtime, "other") == [ASKED]
    assert state_of(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"sessions.db"}
    turns = runtime.transcripts.replay(key_of("s", "import"), View.RAW_OWNER).turns
    roles = [[message.role for message in turn.messages[:-1]] for turn in turns]
    assert roles == [[Role.USER], [Role.ASSISTANT, Role.TOOL], [Role.ASSISTANT]] * 2


def test_what_is_being_written_is_read_as_it_is(runtime: Runtime, tmp_path: Path) -> None:
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, RUN)  # in the write-ahead log
        connection.execute("BEGIN IMMEDIATE")
        save(connection, [ASKED])  # and not committed
        assert brought(runtime, tmp_path / "sessions.db").complete
        assert items_of(runtime) == RUN
        connection.execute("COMMIT")  # nobody has kept the writer waiting
        assert connection.execute("SELECT count(*) FROM agent_messages").fetchone() == (5,)


def test_a_log_that_was_left_behind_is_read_with_its_database(runtime: Runtime, tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, RUN)
        for ending in ("", "-wal"):
            shutil.copy(f"{tmp_path / 'sessions.db'}{ending}", f"{left / 'sessions.db'}{ending}")
    before = state_of(left)
    assert brought(runtime, left / "sessions.db").complete
    assert items_of(runtime) == RUN
    assert state_of(left) == before


def test_a_repeat_adds_what_is_new(runtime: Runtime, tmp_path: Path) -> None:
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, RUN)
        brought(runtime, tmp_path / "sessions.db")
        again = brought(runtime, tmp_path / "sessions.db")
        assert again.complete
        save(connection, [ASKED])
        save(connection, [ASKED])
        save(connection, RUN[1:])
        assert brought(runtime, tmp_path / "sessions.db").complete
    assert items_of(runtime) == [*RUN, ASKED, ASKED, *RUN[1:]]


def test_a_row_that_is_no_item_is_named(runtime: Runtime, tmp_path: Path) -> None:
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, [ASKED, "{broken", "[1]", *RUN[1:]])
    report = brought(runtime, tmp_path / "sessions.db")
    assert not report.complete
    assert [(line.line, line.problem) for line in report.refused_lines] == [(2, "not_json"), (3, "wrong_type")]
    assert items_of(runtime) == RUN


def test_numbers_come_back_exactly_as_written(runtime: Runtime, tmp_path: Path) -> None:
    item = {"type": "new", "big": 2**70, "float": 1.0, "text": "é"}
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, [item])
    brought(runtime, tmp_path / "sessions.db")
    assert repr(items_of(runtime)) == repr([item])


def test_a_stream_is_read_as_a_copy(runtime: Runtime, tmp_path: Path) -> None:
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, RUN)
    data = io.BytesIO((tmp_path / "sessions.db").read_bytes())
    runtime.spaces.import_([data], format=Format.AGENTS, channel="import", subject=SUBJECT)
    assert items_of(runtime) == RUN


def test_a_folder_is_read_without_the_logs_beside_its_databases(runtime: Runtime, tmp_path: Path) -> None:
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, RUN)
        report = brought(runtime, tmp_path)
    assert report.complete
    assert items_of(runtime) == RUN


def test_other_databases_are_refused(runtime: Runtime, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE agent_messages (id)")
    for format in (Format.AUTO, Format.AGENTS, Format.OPENAI):  # noqa: A001 - its name
        with pytest.raises(InvalidInput) as refused:
            brought(runtime, tmp_path / "other.db", format)
        assert refused.value.problem == "unknown_tables"


def test_a_damaged_database_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    with closing(made(tmp_path / "sessions.db")) as connection:
        save(connection, [*RUN] * 50)
    whole = (tmp_path / "sessions.db").read_bytes()
    (tmp_path / "sessions.db").write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(muniment.MunimentError) as refused:
        brought(runtime, tmp_path / "sessions.db")
    assert refused.value.problem == "database_unreadable"
