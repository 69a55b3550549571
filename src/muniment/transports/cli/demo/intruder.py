"""What the demo tries against the evidence: forging a bundle, and editing a store on the disk."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path


def with_another_word(bundle: str, word: str, instead: str) -> str:
    """Return a bundle in which a word of one disclosed text is replaced, in the encoding of the bundle."""
    lines = bundle.splitlines(keepends=True)
    for place, line in enumerate(lines):
        for disclosure in json.loads(line).get("disclosures", []):
            forged = _decoded(disclosure).replace(word, instead)
            if forged != _decoded(disclosure):
                lines[place] = line.replace(disclosure, _encoded(forged))
                return "".join(lines)
    raise AssertionError("the conversation of the demo contains the forged word")


def discloses(bundle: str, words: str) -> bool:
    """Return whether any disclosure of a bundle contains this text."""
    lines = [json.loads(line) for line in bundle.splitlines()]
    return any(words in _decoded(one) for line in lines for one in line.get("disclosures", []))


def without_last_turn(bundle: str) -> str:
    """Return a bundle without its last turn."""
    lines = bundle.splitlines(keepends=True)
    turns = [place for place, line in enumerate(lines) if _kind(line) == "turn.committed"]
    return "".join(lines[: turns[-1]] + lines[turns[-1] + 1 :])


def _kind(line: str) -> str | None:
    kind: str | None = json.loads(line).get("header", {}).get("kind")
    return kind


def _decoded(disclosure: str) -> str:
    return base64.urlsafe_b64decode(disclosure + "=" * (-len(disclosure) % 4)).decode()


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


# --- at rest ----------------------------------------------------------------------------------------------------------


def flip_a_bit(store: Path) -> None:
    """Change one bit of one encrypted text."""

    def flip(database: sqlite3.Connection) -> None:
        place, sealed = database.execute(
            "SELECT position, content FROM events WHERE content IS NOT NULL ORDER BY position"
        ).fetchone()
        edited = sealed[:-1] + bytes([sealed[-1] ^ 1])
        database.execute("UPDATE events SET content = ? WHERE position = ?", (edited, place))

    _edited(store, flip)


def lift_the_mask(store: Path) -> None:
    """Remove the row that masked a turn, with all that belongs to it."""

    def lift(database: sqlite3.Connection) -> None:
        (place,) = database.execute(
            "SELECT position FROM events WHERE target_seq IS NOT NULL ORDER BY position"
        ).fetchone()
        database.execute("DELETE FROM events WHERE position = ?", (place,))
        database.execute("DELETE FROM envelopes WHERE position = ?", (place,))

    _edited(store, lift)


def move_a_date(store: Path) -> None:
    """Make a turn a day older than it is."""

    def move(database: sqlite3.Connection) -> None:
        database.execute("UPDATE events SET time = time - 86400000 WHERE turn_seq = 1")

    _edited(store, move)


def _edited(store: Path, edit: Callable[[sqlite3.Connection], None]) -> None:
    (log,) = store.glob("spaces/*/log.db")
    with closing(sqlite3.connect(log)) as database, database:
        edit(database)
        assert database.total_changes, "an intruder who changes nothing proves nothing"
