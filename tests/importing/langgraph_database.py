"""Databases of LangGraph as `SqliteSaver` writes them, written by hand: LangGraph need not be there."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

SCHEMA = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL,
    task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
"""
STORE = """
CREATE TABLE store (
    prefix text NOT NULL, key text NOT NULL, value text NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key)
);
"""
SECOND = 1_750_000_000_000  # 2025-06-15T15:06:40Z
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}
THREAD = "parcel-7"


class Place(NamedTuple):
    """A thread, and the namespace of a graph in it."""

    thread: Any
    space: str = ""


ROOT = Place(THREAD)

Ext = msgspec.msgpack.Ext


def packed(code: int, *parts: Any) -> Ext:
    """Return an object as the serializer writes it."""
    return Ext(code, msgspec.msgpack.encode(parts))


def said(kind: str, content: Any, id: str | None = None, **members: Any) -> Ext:  # noqa: A002 - its name
    """Return a message as the serializer writes it."""
    known = {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, "id": id}
    return packed(5, f"langchain_core.messages.{kind}", CLASSES[kind], known | members, "model_validate_json")


HI = said("human", "Where is it?", "m1")
CALL = said("ai", "", "m2", tool_calls=[{"name": "track", "args": {"n": 7}, "id": "c1", "type": "tool_call"}])
RESULT = said("tool", "Lyon", "m3", tool_call_id="c1", status="success", artifact=None)
ANSWER = said("ai", "In Lyon.", "m4", tool_calls=[], usage_metadata=None)


def put(
    connection: sqlite3.Connection,
    number: int,
    values: Mapping[str, Any],
    *,
    parent: int | None = None,
    at: Place = ROOT,
    versions: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Save a checkpoint as `SqliteSaver` does, `number` seconds after the first one."""
    checkpoint = {
        "v": 4,
        "ts": f"2025-06-15T15:06:{40 + number:02}.000000+00:00",
        "id": named(number),
        "channel_values": dict(values),
        "channel_versions": dict.fromkeys(values, f"{number}.0") | dict(versions),
        "versions_seen": {"__input__": {}},
        "updated_channels": [*values],
    }
    put_raw(connection, number, "msgpack", msgspec.msgpack.encode(checkpoint), parent=parent, at=at)


def put_raw(
    connection: sqlite3.Connection,
    number: int,
    kind: Any,
    data: Any,
    *,
    parent: int | None = None,
    at: Place = ROOT,
) -> None:
    """Save what is given as a checkpoint."""
    before = None if parent is None else named(parent)
    row = (*at, named(number), before, kind, data, b'{"source": "loop", "step": 1, "parents": {}}')
    connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def write(connection: sqlite3.Connection, number: int, channel: str, value: Any, *, idx: int = 0) -> None:
    """Save what a task wrote after a checkpoint."""
    row = (THREAD, "", named(number), "task", "", idx, channel, "msgpack", msgspec.msgpack.encode(value))
    connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def named(number: int) -> str:
    """Return the id of a checkpoint; ids of later ones are greater."""
    return f"1f049{number:03x}-0000-6000-8000-000000000000"
