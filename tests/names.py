"""Edits of the names of a log at rest, as somebody without a key can make them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import cast

import apsw

ENTRY_BYTES, END_BYTES = 22, 24

Raw = sqlite3.Connection | apsw.Connection
Entry = tuple[bytes, int]
Change = Callable[[list[Entry]], list[Entry]]


def rewritten(raw: Raw, change: Change) -> None:
    """Rewrite the entries of every bucket; stamps and tags stay as they are."""
    changed = 0
    for number, body in cast("list[tuple[int, bytes]]", raw.execute("SELECT bucket, body FROM names").fetchall()):
        entries, end = body[:-END_BYTES], body[-END_BYTES:]
        parts = [entries[at : at + ENTRY_BYTES] for at in range(0, len(entries), ENTRY_BYTES)]
        after = change([(part[:16], int.from_bytes(part[16:])) for part in parts])
        made = b"".join(digest + position.to_bytes(6) for digest, position in after) + end
        changed += made != body
        raw.execute("UPDATE names SET body = ? WHERE bucket = ?", (made, number))
    assert changed, "an edit that changes nothing shows nothing"


def without(position: int) -> Change:
    """Return an edit that removes what leads to a position."""
    return lambda entries: [entry for entry in entries if entry[1] != position]


def called(position: int, digest: bytes = bytes(16)) -> Change:
    """Return an edit that gives what leads to a position another name."""
    return lambda entries: [(digest if to == position else name, to) for name, to in entries]


def swapped(one: int, other: int) -> Change:
    """Return an edit that lets what leads to each of two positions lead to the other one."""
    turned = {one: other, other: one}
    return lambda entries: [(name, turned.get(to, to)) for name, to in entries]
