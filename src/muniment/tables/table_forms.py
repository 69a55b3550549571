"""The tables that a view of a space is shown in: their columns, their order, and what each holds.

`STATEMENTS` makes an empty database. A row of `turns` is found by the position of its commit, and every other table
names that position; what is said of a turn goes when its row goes. `items` are found by the positions of their records.
Times are UTC milliseconds, and beside each stands the same time as text. guide/sql.md is generated from `TABLES`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Row = tuple[str, dict[str, Any]]  # a table, and the values of a row by column

TURN = "position INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE"


class TableForm(NamedTuple):
    """A table: its name, what a row is, and its columns as SQL declares them."""

    name: str
    summary: str
    columns: tuple[str, ...]
    made_by: str = ""  # the statement, where the rows come from other tables

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        words = [column.partition(" ")[0] for column in self.columns]
        return [word for word in words if word not in {"UNIQUE", "PRIMARY"}]

    @property
    def statement(self) -> str:
        """The statement that makes the table."""
        return self.made_by or f"CREATE TABLE {self.name} ({', '.join(self.columns)})"


def _time(name: str) -> str:
    """Return the column that shows a time in milliseconds as text."""
    return f"{name} TEXT AS (strftime('%Y-%m-%dT%H:%M:%fZ', {name}_ms / 1000.0, 'unixepoch')) VIRTUAL"


TABLES: tuple[TableForm, ...] = (
    TableForm(
        "turns",
        "a turn of a conversation, by the position of its commit in the log",
        (
            "position INTEGER PRIMARY KEY", "channel TEXT NOT NULL", "conversation TEXT NOT NULL",
            "sequence INTEGER NOT NULL", "turn TEXT NOT NULL", "phase TEXT NOT NULL", "delivery TEXT NOT NULL",
            "committed_ms INTEGER NOT NULL", _time("committed"), "subject TEXT", "speaker_id TEXT",
            "speaker_kind TEXT", "acting_subject TEXT", "mounted_subject TEXT", "agent_id TEXT", "trigger TEXT",
            "source TEXT", "external INTEGER", "UNIQUE (channel, conversation, sequence)",
        ),
    ),
    TableForm(
        "messages",
        "a message of a turn; `text` joins its text parts, and is NULL when all of it is withheld",
        (
            "number INTEGER PRIMARY KEY", TURN, "place INTEGER NOT NULL", "id TEXT NOT NULL", "role TEXT NOT NULL",
            "authority TEXT NOT NULL", "speaker_id TEXT", "speaker_kind TEXT", "observed_ms INTEGER NOT NULL",
            _time("observed"), "redacted INTEGER NOT NULL", "text TEXT", "UNIQUE (position, place)",
        ),
    ),
    TableForm(
        "parts",
        "a part of a message; `body` is the whole part as JSON",
        (
            TURN, "message INTEGER NOT NULL", "place INTEGER NOT NULL", "type TEXT NOT NULL", "text TEXT",
            "name TEXT", "call TEXT", "body TEXT NOT NULL", "PRIMARY KEY (position, message, place)",
        ),
    ),
    TableForm(
        "tools",
        "what the host noted about the use of a tool",
        (
            TURN, "place INTEGER NOT NULL", "id TEXT NOT NULL", "tool TEXT NOT NULL", "external INTEGER NOT NULL",
            "summary TEXT NOT NULL", "PRIMARY KEY (position, place)",
        ),
    ),
    TableForm(
        "host_refs",
        "a reference into the data of the host",
        (
            TURN, "host TEXT NOT NULL", "type TEXT NOT NULL", "id TEXT NOT NULL", "relation TEXT NOT NULL",
            "label TEXT",
        ),
    ),
    TableForm(
        "attributes",
        "an attribute of a turn or of a message (by its id); `value` is JSON when it is an object or a list",
        (
            TURN, "message TEXT", "id TEXT NOT NULL", "key TEXT NOT NULL", "kind TEXT NOT NULL", "value",
            "redacted INTEGER NOT NULL", "created_ms INTEGER NOT NULL", _time("created"),
            "updated_ms INTEGER NOT NULL", _time("updated"),
        ),
    ),
    TableForm(
        "withheld",
        "something that the view does not show: where it is, and why",
        (
            TURN, "message TEXT", "part INTEGER", "reason TEXT NOT NULL", "attribute TEXT", "host_ref INTEGER",
            "tool INTEGER", "start INTEGER", "stop INTEGER",
        ),
    ),
    TableForm(
        "links",
        "an item of memory that was derived from turns; only in the views raw_owner and operator_audit",
        (
            "link INTEGER PRIMARY KEY", "plane TEXT NOT NULL", "key TEXT NOT NULL", "subject TEXT NOT NULL",
            "channel TEXT NOT NULL", "conversation TEXT NOT NULL", "first INTEGER NOT NULL", "last INTEGER",
            "message INTEGER", "created_ms INTEGER NOT NULL", _time("created"),
        ),
    ),
    TableForm(
        "items",
        "a memory item by its position; `retired` says why it is out of use, `withheld` why its words are NULL",
        (
            "position INTEGER PRIMARY KEY", "id TEXT NOT NULL", "subject TEXT NOT NULL", "plane TEXT NOT NULL",
            "kind TEXT NOT NULL", "name TEXT", "topic TEXT", "text TEXT", "title TEXT", "summary TEXT", "note TEXT",
            "keywords TEXT", "tags TEXT", "entities TEXT", "confidence REAL NOT NULL", "band TEXT NOT NULL",
            "importance REAL NOT NULL", "privacy TEXT NOT NULL", "scope TEXT NOT NULL", "source_type TEXT NOT NULL",
            "freshness TEXT NOT NULL", "stale TEXT NOT NULL", "pinned INTEGER NOT NULL", "disabled INTEGER NOT NULL",
            "revision INTEGER NOT NULL", "evidence_count INTEGER NOT NULL", "observed_ms INTEGER NOT NULL",
            _time("observed"), "recorded_ms INTEGER NOT NULL", _time("recorded"), "confirmed_ms INTEGER",
            _time("confirmed"), "expires_ms INTEGER", _time("expires"), "retired TEXT", "successor TEXT",
            "writer TEXT", "origin TEXT", "audience TEXT", "withheld TEXT",
        ),
    ),
    TableForm(
        "item_evidence",
        "a turn, or a message of it, that a memory item rests on; only in views that show where something came from",
        (
            "position INTEGER NOT NULL REFERENCES items ON DELETE CASCADE", "place INTEGER NOT NULL",
            "channel TEXT NOT NULL", "conversation TEXT NOT NULL", "turn TEXT NOT NULL", "message TEXT",
            "phase TEXT NOT NULL", "PRIMARY KEY (position, place)",
        ),
    ),
)  # fmt: skip

DERIVED: tuple[TableForm, ...] = (
    TableForm(
        "conversations",
        "a conversation, counted",
        ("channel", "conversation", "turns", "first_ms", "first", "last_ms", "last"),
        """CREATE VIEW conversations AS SELECT channel, conversation, count(*) AS turns,
           min(committed_ms) AS first_ms, min(committed) AS first, max(committed_ms) AS last_ms,
           max(committed) AS last FROM turns GROUP BY channel, conversation""",
    ),
    TableForm(
        "words",
        "the text of messages, for full-text search with FTS5; its `rowid` is the number of the message",
        ("text",),
        """CREATE VIRTUAL TABLE words USING fts5(text, content = 'messages', content_rowid = 'number',
           tokenize = 'porter unicode61 remove_diacritics 2')""",
    ),
)

# The full-text index follows the messages.
TRIGGERS = (
    """CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
         INSERT INTO words(rowid, text) VALUES (new.number, new.text); END""",
    """CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
         INSERT INTO words(words, rowid, text) VALUES ('delete', old.number, old.text); END""",
)

BY_TURN = ("tools", "host_refs", "attributes", "withheld")

STATEMENTS: tuple[str, ...] = (
    *(form.statement for form in (*TABLES, *DERIVED)),
    *TRIGGERS,
    *(f"CREATE INDEX {name}_of_turn ON {name}(position)" for name in BY_TURN),
    "CREATE INDEX messages_by_time ON messages(observed_ms)",
)
