"""Checkpoints of LangGraph: every message of a thread once, whatever repeats, forks or removes it; nothing is run."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import muniment
from muniment import Runtime, View
from muniment.errors import FileUnavailable, InvalidInput
from muniment.events.message import Role, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.formats.reading.import_format import Format
from muniment.operations.importing.import_report import ImportReport
from tests.importing.langgraph_database import (
    ANSWER,
    CALL,
    HI,
    RESULT,
    SCHEMA,
    SECOND,
    STORE,
    THREAD,
    Ext,
    Place,
    named,
    packed,
    put,
    put_raw,
    said,
    write,
)
from tests.turns import SUBJECT
from tests.worlds import key_of


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the database is."""
    return tmp_path / "checkpoints.db"


@pytest.fixture
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """Make a database of checkpoints."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=wal")
        connection.executescript(SCHEMA)
        yield connection


def a_run(connection: sqlite3.Connection) -> None:
    """Save what a run of an agent with a tool leaves behind."""
    put(connection, 0, {"__start__": {"messages": [["user", "Where is it?"]]}})
    put(connection, 1, {"messages": [HI], "branch:to:agent": None}, parent=0)
    put(connection, 2, {"messages": [HI, CALL], "count": 1}, parent=1)
    before = {"count": "2.0"}
    put(connection, 3, {"messages": [HI, CALL, RESULT], "count": 1}, parent=2, versions=before)
    put(connection, 4, {"messages": [HI, CALL, RESULT, ANSWER], "count": 2}, parent=3)


def imported(runtime: Runtime, path: Path, format: Format = Format.AUTO) -> ImportReport:  # noqa: A002 - its name
    """Import a database; return the report."""
    return runtime.spaces.import_([path], format=format, channel="import", subject=SUBJECT)


def turns_of(runtime: Runtime, conversation: str = THREAD) -> list[Any]:
    """Return the turns of a conversation."""
    return runtime.transcripts.replay(key_of(conversation, "import"), View.RAW_OWNER).turns


def texts_of(runtime: Runtime, conversation: str = THREAD) -> list[list[str]]:
    """Return the texts of each turn of a conversation."""
    return [
        [part.content for message in turn.messages for part in message.parts if isinstance(part, TextPart)]
        for turn in turns_of(runtime, conversation)
    ]


def test_every_message_of_a_thread_is_there_once(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    """Though each checkpoint repeats what came before, with its role, its calls and the time of its checkpoint."""
    a_run(database)
    report = imported(runtime, path)
    assert report.complete
    assert report.format is Format.LANGGRAPH
    assert report.left_out == {"state": 2}
    turns = turns_of(runtime)
    assert [turn.turn for turn in turns] == [named(number) for number in range(1, 5)]
    messages = [message for turn in turns for message in turn.messages]
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert messages[0].parts == [TextPart(content="Where is it?")]
    assert messages[1].parts[-1] == ToolCallPart(id="c1", name="track", arguments={"n": 7})
    assert messages[2].parts == [ToolCallResponsePart(id="c1", response="Lyon")]
    assert [message.observed_ms for message in messages] == [SECOND + number * 1000 for number in range(1, 5)]


def test_a_repeat_adds_what_is_new(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    a_run(database)
    first = imported(runtime, path)
    again = imported(runtime, path)
    assert (again.turns_committed, again.turns_already_there) == (0, first.turns_committed)
    put(database, 5, {"messages": [HI, CALL, RESULT, ANSWER, said("human", "Thanks", "m5")]}, parent=4)
    more = imported(runtime, path)
    assert more.complete
    assert more.turns_committed == 1
    assert texts_of(runtime)[-1] == ["Thanks"]


def test_what_was_removed_changed_or_said_in_a_fork_was_said(
    runtime: Runtime, database: sqlite3.Connection, path: Path
) -> None:
    put(database, 1, {"messages": [HI]})
    put(database, 2, {"messages": [HI, ANSWER]}, parent=1)
    put(database, 3, {"messages": [ANSWER]}, parent=2)  # trimmed
    put(database, 4, {"messages": [HI, said("ai", "In Paris.", "m4")]}, parent=1)  # a fork, with another answer
    put(database, 5, {"messages": [HI, ANSWER]}, parent=3)  # back again
    assert imported(runtime, path).complete
    assert texts_of(runtime) == [["Where is it?"], ["In Lyon."], ["In Paris."]]


def test_messages_without_an_id_are_new_where_there_are_more_of_them(
    runtime: Runtime, database: sqlite3.Connection, path: Path
) -> None:
    yes, no = said("human", "yes"), said("human", "no")
    put(database, 1, {"messages": [yes]})
    put(database, 2, {"messages": [yes, no, yes], "copy": [yes, no]}, parent=1)
    put(database, 3, {"messages": [yes, yes]}, parent=1)  # a fork
    put(database, 4, {"messages": [yes, no, yes, no]}, parent=2)
    assert imported(runtime, path).complete
    assert texts_of(runtime) == [["yes"], ["no", "yes"], ["yes"], ["no"]]


def test_a_subgraph_has_the_messages_that_the_graph_above_does_not_have(
    runtime: Runtime, database: sqlite3.Connection, path: Path
) -> None:
    inner = said("ai", "Ask the depot.", "m9")
    put(database, 1, {"messages": [HI]}, at=Place("a/b"))
    put(database, 2, {"messages": [HI]}, at=Place("a/b", "agent:1"))
    put(database, 3, {"messages": [HI, inner]}, parent=2, at=Place("a/b", "agent:1"))
    put(database, 4, {"messages": [HI, inner, ANSWER]}, parent=3, at=Place("a/b", "agent:1"))
    put(database, 5, {"messages": [HI, ANSWER]}, parent=1, at=Place("a/b"))
    put(database, 6, {"messages": [HI]}, at=Place("other"))
    assert imported(runtime, path).complete
    assert texts_of(runtime, "a/b") == [["Where is it?"], ["In Lyon."]]
    assert texts_of(runtime, "a%2Fb/agent:1") == [["Ask the depot."]]
    assert texts_of(runtime, "other") == [["Where is it?"]]


def test_a_channel_of_differences_is_read_from_what_was_written(
    runtime: Runtime, database: sqlite3.Connection, path: Path
) -> None:
    put(database, 1, {"__start__": {}})
    write(database, 1, "messages", [HI])
    put(database, 2, {}, parent=1, versions={"messages": "1.0"})
    write(database, 2, "messages", CALL)
    put(database, 3, {"messages": packed(7, HI, CALL)}, parent=2)
    write(database, 3, "messages", packed(2, "langgraph.types", "Overwrite", {"value": [ANSWER], "type": "x"}))
    put(database, 4, {}, parent=3, versions={"messages": "1.0"})
    report = imported(runtime, path)
    assert report.complete
    assert report.left_out == {}
    assert [turn.turn for turn in turns_of(runtime)] == [named(number) for number in (2, 3, 4)]
    assert texts_of(runtime) == [["Where is it?"], [""], ["In Lyon."]]


def test_what_is_left_out_is_counted(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    """State counts once for each value that it had, however many checkpoints repeat it."""
    a_run(database)
    document = packed(5, "langchain_core.documents.base", "Document", {"page_content": "x", "type": "Document"})
    values = {"messages": [HI, CALL, RESULT, ANSWER], "found": [document], "empty": [], "none": None}
    put(database, 5, values, parent=4)
    write(database, 5, "messages", [said("ai", "lost", "m5")])
    write(database, 5, "branch:to:agent", None, idx=1)
    write(database, 4, "found", [document])
    database.executescript(STORE)
    database.execute("INSERT INTO store (prefix, key, value) VALUES ('memories.ada', 'tea', '{}')")
    report = imported(runtime, path)
    assert report.complete
    assert report.left_out == {"state": 3, "pending_write": 1, "store_value": 1}


def test_checkpoints_in_json_are_read(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    """As releases before MessagePack wrote them."""
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "Where is it?", "type": "human", "id": "m1"},
    }
    state = {"ts": "2025-06-15T15:06:40+00:00", "channel_values": {"messages": [message]}, "channel_versions": {}}
    put_raw(database, 1, "json", json.dumps(state).encode())
    put_raw(database, 2, "json", json.dumps(state), parent=1)
    assert imported(runtime, path).complete
    assert texts_of(runtime) == [["Where is it?"]]


def test_many_messages_at_once_are_turns(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    """A history that a program brings along is one turn from each question on, and no turn is too large."""
    history = [HI, ANSWER, said("human", "And now?", "m5"), said("human", "Well?", "m6"), said("ai", "In Nice.", "m7")]
    put(database, 1, {"messages": history})
    results = [said("tool", f"{number}" + "x" * 3_000, f"t{number}", tool_call_id="c") for number in range(250)]
    put(database, 2, {"messages": [*history, *results]}, parent=1)
    assert imported(runtime, path).complete
    turns = turns_of(runtime)
    assert texts_of(runtime)[:2] == [["Where is it?", "In Lyon."], ["And now?", "Well?", "In Nice."]]
    assert [turn.turn for turn in turns][:3] == [named(1), f"{named(1)}.2", named(2)]
    assert sum(len(turn.messages) for turn in turns[2:]) == 250
    assert imported(runtime, path).turns_committed == 0


# --- what must not be trusted -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        ("msgpack", b"\x81\xa5", "not_msgpack"),
        ("msgpack", b"", "not_msgpack"),
        ("msgpack", b"\xc6\x7f\xff\xff\xff", "not_msgpack"),  # claims 2 GiB
        ("msgpack", b"\xdd\xff\xff\xff\xff", "not_msgpack"),
        ("msgpack", b"\xa2\xff\xff", "not_msgpack"),
        ("msgpack", b"\x91" * 200_000, "too_deep"),
        ("msgpack", b"\x91\x01", "wrong_type"),
        ("msgpack", msgspec.msgpack.encode({"channel_values": [1]}), "wrong_type"),
        ("msgpack", None, "wrong_type"),
        ("msgpack", 7, "wrong_type"),
        ("json", b"{", "not_json"),
        ("json", b"[" * 200_000, "too_deep"),
        ("null", b"", "wrong_type"),
        ("pickle", b"cos\nsystem\n(S'exit 1'\ntR.", "pickle"),
        ("msgpack+aes", b"\x00" * 32, "encrypted"),
        ("new", b"", "unknown_type"),
        (None, b"", "unknown_type"),
        (3, b"", "unknown_type"),
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_named(
    runtime: Runtime, database: sqlite3.Connection, path: Path, kind: Any, data: Any, problem: str
) -> None:
    put_raw(database, 1, kind, data)
    put(database, 2, {"messages": [HI]}, parent=1)
    report = imported(runtime, path)
    assert not report.complete
    assert [(line.line, line.at, line.problem) for line in report.refused_lines] == [(1, "checkpoint", problem)]
    assert texts_of(runtime) == [["Where is it?"]]


def nested(depth: int) -> Any:
    """Return objects in each other."""
    value: Any = "x"
    for _ in range(depth):
        value = packed(0, "builtins", "set", [value])
    return value


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (Ext(5, b"\x94\xa1"), "not_msgpack"),
        (Ext(5, b"\x91\x01"), "malformed"),
        (Ext(5, b"\x91" * 200_000), "too_deep"),
        (said("human", Ext(99, b"x"), "m"), "unknown_extension"),
        (said("human", ["x"], "m", additional_kwargs={"x": Ext(99, b"x")}), "unknown_extension"),
        (said("human", Ext(0, b"\xc1"), "m"), "not_msgpack"),
        (said("human", nested(80), "m"), "too_deep"),
    ],
)
def test_a_message_that_cannot_be_read_is_told_once(
    runtime: Runtime, database: sqlite3.Connection, path: Path, message: Ext, problem: str
) -> None:
    """The others are imported, and checkpoints that repeat it say nothing new."""
    put(database, 1, {"messages": [HI, message]})
    put(database, 2, {"messages": [HI, message, ANSWER]}, parent=1)
    report = imported(runtime, path)
    assert not report.complete
    assert [(line.line, line.at, line.problem) for line in report.refused_lines] == [(1, "channel_values", problem)]
    assert texts_of(runtime) == [["Where is it?"], ["In Lyon."]]


def test_a_message_of_another_shape_is_refused_and_others_are_kept(
    runtime: Runtime, database: sqlite3.Connection, path: Path
) -> None:
    put(database, 1, {"messages": [HI, said("human", 7, "m"), said("human", {"a": 1}, "n", type="chat", role=[1])]})
    report = imported(runtime, path)
    assert report.messages_refused == 1
    assert texts_of(runtime) == [["Where is it?"]]


def test_what_a_value_names_is_never_called(
    runtime: Runtime, database: sqlite3.Connection, path: Path, tmp_path: Path
) -> None:
    """Neither in state, nor in a message: it is what the object was made of."""
    evil = tmp_path / "evil"
    call = packed(0, "os", "mkdir", str(evil))
    put(database, 1, {"messages": [said("human", call, "m1"), call], "other": call})
    write(database, 1, "other", packed(3, "pathlib", "Path", str(evil), "mkdir"))
    put(database, 2, {}, parent=1, versions={"other": "1.0"})
    assert imported(runtime, path).complete
    assert texts_of(runtime) == [[str(evil)]]
    assert not evil.exists()


def test_values_of_all_kinds_are_data(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    """What JSON does not have comes as text or base64."""
    args = {
        "at": packed(3, "datetime", "datetime", "2025-01-01T00:00:00", "fromisoformat"),
        "set": packed(0, "builtins", "set", [1]),
        "bytes": b"abc",
        "array": packed(6, 1, b"a"),
        "endless": float("inf"),
        7: "number",
    }
    put(database, 1, {"messages": [said("ai", "", "m1", tool_calls=[{"name": "f", "args": args, "id": "c"}])]})
    assert imported(runtime, path).complete
    [turn] = turns_of(runtime)
    assert turn.messages[0].parts[-1] == ToolCallPart(
        id="c",
        name="f",
        arguments={
            "7": "number",
            "array": [1, "YQ=="],
            "at": "2025-01-01T00:00:00",
            "bytes": "YWJj",
            "endless": "inf",
            "set": [1],
        },
    )


def test_a_checkpoint_above_the_limit_is_named(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    put(database, 1, {"messages": [HI]})
    row = (THREAD, "", named(2), named(1), "msgpack", 64 * 2**20 + 1)
    database.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, zeroblob(?), NULL)", row)
    report = imported(runtime, path)
    assert [(line.line, line.problem) for line in report.refused_lines] == [(2, "too_large")]
    assert texts_of(runtime) == [["Where is it?"]]


def test_names_that_are_none_are_refused(runtime: Runtime, database: sqlite3.Connection, path: Path) -> None:
    put_raw(database, 1, "msgpack", b"\x80", at=Place(b"\x00"))
    put(database, 2, {"messages": [HI]}, at=Place("a\nb"))
    put(database, 3, {"messages": [HI]})
    report = imported(runtime, path)
    assert sorted((line.line, line.problem) for line in report.refused_lines) == [
        (1, "wrong_type"),
        (2, "control_character"),
    ]
    assert texts_of(runtime) == [["Where is it?"]]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE checkpoints (checkpoint_id); CREATE TABLE writes (y);",
        SCHEMA.replace(" type TEXT,", "").replace("thread_id TEXT NOT NULL,", "thread_id TEXT,"),
        SCHEMA.replace("thread_id TEXT NOT NULL,", "thread_id TEXT DEFAULT (CAST(x'ff' AS TEXT)),"),
    ],
)
def test_a_database_with_other_columns_or_text_is_unreadable(runtime: Runtime, path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.execute("INSERT INTO checkpoints (checkpoint_id) VALUES ('c')")
        connection.commit()
    with pytest.raises(FileUnavailable) as refused:
        imported(runtime, path)
    assert refused.value.problem == "database_unreadable"


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE checkpoints (x)",
        STORE,
        (
            "CREATE VIEW checkpoints AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n;"
            "CREATE VIEW writes AS SELECT 1;"
        ),
    ],
)
def test_a_database_of_other_tables_is_refused(runtime: Runtime, path: Path, script: str) -> None:
    """A view is no table: it would be a program."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    for format in (Format.AUTO, Format.LANGGRAPH):  # noqa: A001 - its name
        with pytest.raises(InvalidInput) as refused:
            imported(runtime, path, format)
        assert refused.value.problem == "unknown_tables"


# --- the framework itself ---------------------------------------------------------------------------------------------


def test_a_database_of_the_framework_is_read(runtime: Runtime, path: Path) -> None:
    """Every message that any of its checkpoints has is there, in the conversation of its thread or of a subgraph."""
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed")
    from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
    from langgraph.graph import START, MessagesState, StateGraph

    calls = [{"name": "track", "args": {"n": 7}, "id": "c1"}]
    inner = StateGraph(MessagesState).add_node("think", lambda _: {"messages": [AIMessage("Let me see.")]})
    inner.add_edge(START, "think")
    thinking = inner.compile()
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda _: {"messages": [AIMessage("", tool_calls=calls)]})
    builder.add_node("track", lambda _: {"messages": [ToolMessage("Lyon", tool_call_id="c1")]})
    builder.add_node("inside", lambda state: {"messages": thinking.invoke(state)["messages"][-1:]})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "track")
    builder.add_edge("track", "inside")
    place: Any = {"configurable": {"thread_id": THREAD}}
    with sqlite.SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        first = graph.invoke({"messages": [("user", "Where is it?")]}, place)
        graph.update_state(place, {"messages": [RemoveMessage(first["messages"][0].id)]})
        graph.invoke({"messages": [("user", "And now?")]}, place)
        report = imported(runtime, path)
        known = {
            message.id: message
            for saved in saver.list(None)
            for message in saved.checkpoint["channel_values"].get("messages", ())
        }
    assert report.complete
    assert report.messages.committed == len(known) == 8
    said = [text for turn in texts_of(runtime) for text in turn]
    assert said == ["Where is it?", "", "Let me see.", "And now?", "", "Let me see."]
    assert imported(runtime, path).turns_committed == 0
