"""Stores that a newer release wrote: what is known is read, and nothing is written.

The newer release is a copy of this one with one more kind of event, or one more field in a body.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from muniment import ConversationKey, Message, Role, Turn
from muniment.errors import StoreNewer
from muniment.events.changes import Transition
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime

OLD, NEW = ConversationKey(conversation="old"), ConversationKey(conversation="new")
KIND = """

class NoteTaken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    text: str


META_BODIES[EventKind.NOTE_TAKEN] = NoteTaken
VERSIONS[NoteTaken] = 1
"""
FORMER = """

def _former(data):
    from muniment.events.labels import meta_fields
    from muniment.events.records import TurnMeta
    return meta_fields(msgspec.convert(data, TurnMeta))


UPCASTS[META_BODIES["turn.committed"], 1] = lambda data: data
FIELDS[META_BODIES["turn.committed"], 1] = _former
"""
TAKE_NOTE = """
from muniment.events.records import EventKind, NoteTaken
from muniment.ledger.drafts import Change
space.ledger.transact(lambda writer: writer.change(Change(EventKind.NOTE_TAKEN, 1, NoteTaken(text="a"))))
"""
COMMIT = """
words = [Message(role="user", content="hello")]
runtime.transcripts.commit(Turn(turn="t", subject="ada", conversation="new", messages=words))
"""
SCRIPT = """
import sys
import muniment
from muniment import Message, Turn
with muniment.open(sys.argv[1], keys=sys.argv[2]) as runtime:
    space = runtime._session.space
    {work}
"""


def with_kind(package: Path) -> None:
    """Add a kind of event to a copy of the package."""
    records = package / "events" / "records.py"
    text = records.read_text()
    known = '    CONTENT_EXPORTED = "content.exported"\n'
    assert known in text
    records.write_text(text.replace(known, known + '    NOTE_TAKEN = "note.taken"\n') + KIND)


def with_field(package: Path) -> None:
    """Add a field to the meta body of a turn in a copy of the package."""
    records = package / "events" / "records.py"
    text = records.read_text()
    known = "    candidates: list[str] = []\n"
    assert text.count(known) == 1
    records.write_text(text.replace(known, f"{known}    mood: str | None = None\n") + "\nVERSIONS[TurnMeta] = 2\n")
    cells = package / "events" / "cells.py"
    cells.write_text(cells.read_text() + FORMER)


def turn(conversation: str, number: int = 1) -> Turn:
    words = [Message(role=Role.USER, content="hello"), Message(role=Role.ASSISTANT, content="goodbye")]
    return Turn(turn=f"t-{number}", subject="ada", conversation=conversation, messages=words)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Callable[[Path], None], str], Path]:
    """Return what makes a store that this release began and a newer one wrote to."""

    def write(change: Callable[[Path], None], work: str) -> Path:
        store, newer = tmp_path / "store", tmp_path / "newer"
        with muniment.open(store, keys=f"file:{tmp_path}/root.key") as runtime:
            runtime.transcripts.commit(turn("old"))
        assert muniment.__file__ is not None
        shutil.copytree(
            Path(muniment.__file__).parent, newer / "muniment", ignore=shutil.ignore_patterns("__pycache__")
        )
        change(newer / "muniment")
        script = SCRIPT.format(work=work.strip().replace("\n", "\n    "))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        environment = {**inherited, "PYTHONPATH": str(newer)}
        command = [sys.executable, "-c", script, str(store), f"file:{tmp_path}/root.key"]
        subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        return store

    return write


def opened(store: Path) -> Runtime:
    return muniment.open(store, keys=f"file:{store.parent}/root.key")


WRITES: dict[str, Callable[[Runtime], object]] = {
    "commit": lambda runtime: runtime.transcripts.commit(turn("old", 2)),
    "erase": lambda runtime: runtime.lifecycle.erase(Scope(conversation="old"), "asked", "ada"),
    "request": lambda runtime: runtime.lifecycle.request(OLD, Transition.MASK, "asked", "ada"),
    "hold": lambda runtime: runtime.lifecycle.hold(Scope(conversation="old"), "asked", "ada"),
    "rotate": lambda runtime: runtime.spaces.rotate(),
    "replace_signer": lambda runtime: runtime.spaces.replace_signer(),
}


@pytest.mark.parametrize(
    ("change", "work", "kind"),
    [(with_kind, TAKE_NOTE, "note.taken"), (with_field, COMMIT, "turn.committed")],
    ids=["kind", "field"],
)
def test_an_older_release_reads_what_it_knows_and_writes_nothing(
    written: Callable[[Callable[[Path], None], str], Path],
    change: Callable[[Path], None],
    work: str,
    kind: str,
) -> None:
    store = written(change, work)
    (log,) = store.glob("spaces/*/log.db")
    before = log.read_bytes()
    with opened(store) as runtime:
        assert [each.turn for each in runtime.transcripts.replay(OLD).turns] == ["t-1"]
        health = runtime.system.health()
        assert (health.sound, health.unknown_kinds) == (True, [kind])
        assert "store.newer" in {finding.kind for finding in runtime.system.doctor().findings}
        for write in WRITES.values():
            with pytest.raises(StoreNewer) as refused:
                write(runtime)
            assert refused.value.at == kind
    assert log.read_bytes() == before


def test_a_turn_of_a_newer_release_is_refused_and_not_guessed_at(
    written: Callable[[Callable[[Path], None], str], Path],
) -> None:
    with opened(written(with_field, COMMIT)) as runtime, pytest.raises(StoreNewer):
        runtime.transcripts.replay(NEW)


def test_a_store_that_a_newer_release_only_read_stays_writable(
    written: Callable[[Callable[[Path], None], str], Path],
) -> None:
    store = written(with_kind, "assert len(runtime.conversations.list_().conversations) == 1")
    with opened(store) as runtime:
        assert runtime.transcripts.commit(turn("old", 2)).committed
        assert runtime.system.health().unknown_kinds == []
