"""Asking indexes: what is found, what they are, and what their snapshots hold."""

from __future__ import annotations

import os
from pathlib import Path

from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.ledger.snapshots import Snapshots
from muniment.runtime.runtime import Runtime
from muniment.search.index_status import IndexStatus
from tests.turns import plain_turn
from tests.worlds import FileWorld


def said(number: int, text: str, conversation: str = "talk", answer: str = "an answer") -> Turn:
    """Return a plain turn in which a user says something."""
    turn = plain_turn(number, conversation)
    messages = [Message(role=Role.USER, content=text), Message(role=Role.ASSISTANT, content=answer)]
    return type(turn)(turn=turn.turn, subject=turn.subject, conversation=turn.conversation, messages=messages)


def found(runtime: Runtime, word: str, view: View = View.HOST_UI) -> list[str]:
    """Return the texts with a word that are found for it, sorted; what is beside them is found as well."""
    hits = runtime.transcripts.search(word, view, limit=50).hits
    return sorted(hit.excerpt.text for hit in hits if word in hit.excerpt.text)


def digest(runtime: Runtime, view: View = View.HOST_UI) -> bytes:
    """Return the digest of the index of a view."""
    [one] = runtime._session.space.indexes.digests([view]).of.values()
    return one


def rebuilt(runtime: Runtime, view: View = View.HOST_UI) -> bytes:
    """Return the digest of an index that is made from the log alone, and forget it again."""
    from muniment.search.index_memory import IndexMemory
    from muniment.search.indexes import Indexes

    space = runtime._session.space
    [one] = (
        Indexes(space.ledger, space.notebooks, space.detection, IndexMemory(2**30), None).digests([view]).of.values()
    )
    return one


def standing(runtime: Runtime, view: View = View.HOST_UI) -> IndexStatus:
    """Return what is said of the index of a view."""
    [one] = [each for each in runtime.system.health().indexes if each.view is view]
    return one


def snapshot(world: FileWorld, view: View = View.HOST_UI) -> Path:
    """Return where the snapshot of a view is, or would be."""
    return world.database.with_name(f"index-{view}.sealed")


def opened(runtime: Runtime, directory: Path, view: View = View.HOST_UI) -> dict[str, bytes] | None:
    """Return the sections of a snapshot, as whoever has the key of the space reads it."""
    space = runtime._session.space
    snapshots = Snapshots(directory, space.keys, space.sources.entropy)
    lock = snapshots.unlock(view)
    return None if lock is None else snapshots.read(view, lock)


def readable(world: FileWorld, words: str) -> list[str]:
    """Return the files of a store in which words can be read, in any usual encoding."""
    spellings = [words.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")]
    paths = [Path(folder) / name for folder, _, names in os.walk(world.store) for name in names]
    return [path.name for path in paths if any(each in path.read_bytes() for each in spellings)]
