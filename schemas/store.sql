-- The tables of a log. One file per space.

PRAGMA application_id = 1836412521;

PRAGMA user_version = 1;

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
