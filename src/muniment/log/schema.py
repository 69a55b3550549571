"""The tables of a log in SQLite, version 1. `schemas/store.sql` is printed from here (see `migrations`).

An event has its content in its row, behind everything else: an append and a page touch one table less, and who reads
only the columns before it does not fetch the pages that a long content goes on in. Envelopes lie apart, because an
erasure replaces those of a whole segment. Nodes are numbered by level and index in one integer, so that it is a plain
row id and neighbours lie together.

An attachment is a row of parts and its chunks. It belongs to an event, or to none (`position` is NULL): then it is on
its way in, and grew last at `time`, or was erased (`time` is 0) and is on its way out.

A `turn_seq` of NULL says that the event is no turn; those events are few enough for an index by kind. Within a stream
they come first in the index, by seq, and the turns follow: seq is dense, so the number of such events before a seq
tells which turn is the next one there.
"""

from __future__ import annotations

APPLICATION_ID = 0x6D756E69  # "muni"
NODE_LEVEL_BITS = 48  # a node's id is level << 48 | index
CHUNK_BITS = 16  # a chunk's id is part << 16 | number

VERSION_1 = """
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    turn_seq INTEGER,
    target_seq INTEGER,
    time INTEGER NOT NULL,
    leaf BLOB NOT NULL,
    header BLOB NOT NULL,
    content BLOB
) STRICT;

CREATE INDEX events_by_stream ON events (stream, turn_seq, seq);

CREATE INDEX events_by_kind ON events (kind) WHERE turn_seq IS NULL;

CREATE TABLE streams (
    stream INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    names INTEGER NOT NULL,
    leaf BLOB NOT NULL,
    tag BLOB NOT NULL,
    type TEXT NOT NULL
) STRICT;

CREATE TABLE envelopes (
    position INTEGER PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE parts (
    part INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    position INTEGER,
    field TEXT
) STRICT;

CREATE INDEX parts_by_event ON parts (position, field) WHERE position IS NOT NULL;

CREATE INDEX parts_loose ON parts (time) WHERE position IS NULL;

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, -- part << 16 | number
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE segments (
    id INTEGER PRIMARY KEY, -- position / 65536
    keys BLOB NOT NULL
) STRICT;

CREATE TABLE nodes (
    id INTEGER PRIMARY KEY, -- level << 48 | index
    hash BLOB NOT NULL
) STRICT;

CREATE TABLE frontier (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    range BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT;

CREATE TABLE names (
    bucket INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    note TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

CREATE VIEW sealed AS
SELECT e.position, e.stream, e.seq, e.kind, e.turn_seq, e.target_seq, e.time, e.leaf, e.header,
    k.sealed AS envelope, e.content
FROM events AS e
LEFT JOIN envelopes AS k ON k.position = e.position;
"""
