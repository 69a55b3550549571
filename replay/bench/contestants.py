"""Contestants: stores of turns that are measured side by side, each through its own front door.

`Muniment` is ours. The floor is what a careful programmer writes with the standard library: one JSON row a turn, and
the same sealed with AES-256-GCM. All of them keep a turn durably before `append` returns: SQLite in WAL mode with
synchronous=FULL. Other people's stores are in `peers`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.events.turn import Turn
from muniment.governance.views import View
from replay.stores import opened
from replay.words import key_of, plain

CONVERSATION = "conversation"
PAGE_TURNS = 50


class Contestant(Protocol):
    """A store of the turns of one conversation."""

    name: str

    def append(self, turn: Turn) -> None:
        """Keep a turn; it is durable when this returns."""
        ...

    def page(self) -> int:
        """Read `PAGE_TURNS` turns; return how many came."""
        ...

    def close(self) -> None:
        """Leave nothing open."""
        ...


class Muniment:
    """Ours, as a host uses it."""

    name = "muniment"

    def __init__(self, directory: Path) -> None:
        self.runtime = opened(directory)

    def append(self, turn: Turn) -> None:
        """Commit the turn."""
        self.runtime.transcripts.commit(turn)

    def page(self) -> int:
        """Replay the first page for the host's screen."""
        return len(self.runtime.transcripts.replay(key_of(CONVERSATION), View.HOST_UI, PAGE_TURNS).turns)

    def close(self) -> None:
        """Close the store."""
        self.runtime.close()


def database(path: Path) -> sqlite3.Connection:
    """Open a database of the standard library, as durable as ours."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


class PlainRows:
    """The floor in clear: one JSON row a turn."""

    name = "floor: plain JSON row"

    def __init__(self, directory: Path) -> None:
        self.path = directory / "plain.db"
        self._database = database(self.path)
        self._database.execute("CREATE TABLE IF NOT EXISTS turns (id INTEGER PRIMARY KEY, turn TEXT NOT NULL)")

    def append(self, turn: Turn) -> None:
        """Insert a row; a host has its turns as JSON data."""
        self._database.execute("INSERT INTO turns (turn) VALUES (?)", (json.dumps(plain(turn)),))

    @contextmanager
    def all_at_once(self) -> Iterator[None]:
        """Append many rows in one transaction, where only their size is of interest."""
        self._database.execute("BEGIN")
        yield
        self._database.execute("COMMIT")

    def page(self) -> int:
        """Read and parse rows."""
        rows = self._database.execute("SELECT turn FROM turns WHERE id > 0 ORDER BY id LIMIT ?", (PAGE_TURNS,))
        return len([json.loads(row[0]) for row in rows])

    def close(self) -> None:
        """Close the database."""
        self._database.close()


class SealedRows:
    """The floor sealed: one AES-256-GCM row a turn, one key for all."""

    name = "floor: AES-GCM row"

    def __init__(self, directory: Path) -> None:
        self.path = directory / "sealed.db"
        self._database = database(self.path)
        self._database.execute("CREATE TABLE IF NOT EXISTS turns (id INTEGER PRIMARY KEY, turn BLOB NOT NULL)")
        self._cipher = AESGCM(os.urandom(32))

    def append(self, turn: Turn) -> None:
        """Seal and insert a row."""
        nonce = os.urandom(12)
        sealed = nonce + self._cipher.encrypt(nonce, json.dumps(plain(turn)).encode(), None)
        self._database.execute("INSERT INTO turns (turn) VALUES (?)", (sealed,))

    def page(self) -> int:
        """Read, open and parse rows."""
        rows = self._database.execute("SELECT turn FROM turns WHERE id > 0 ORDER BY id LIMIT ?", (PAGE_TURNS,))
        return len([self._opened(row[0]) for row in rows])

    def whole(self) -> int:
        """Read, open and parse all rows."""
        return len([self._opened(row[0]) for row in self._database.execute("SELECT turn FROM turns ORDER BY id")])

    def _opened(self, sealed: bytes) -> Any:
        return json.loads(self._cipher.decrypt(sealed[:12], sealed[12:], None))

    def close(self) -> None:
        """Close the database."""
        self._database.close()
