"""Whatever is done to the chunks of a file at rest is noticed before a byte of it is believed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.errors import Corrupt
from muniment.events.identity import TurnId
from muniment.operations.attachments import AttachmentPlace
from muniment.projections.inspection.findings import FindingKind
from tests.attachments.files import attached, bytes_of, saved
from tests.worlds import FileWorld, key_of, sqlite_world

FIRST = TurnId("turn-1")
FILE = AttachmentPlace(turn=FIRST, message=0, part=1)
DATA = bytes_of(3 * CHUNK_BYTES + 5)

Edit = Callable[[sqlite3.Connection], object]


def flip(raw: sqlite3.Connection) -> None:
    """Change a byte of the second chunk."""
    ((at, sealed),) = raw.execute("SELECT id, sealed FROM chunks ORDER BY id LIMIT 1 OFFSET 1").fetchall()
    raw.execute("UPDATE chunks SET sealed = ? WHERE id = ?", (sealed[:-1] + bytes([sealed[-1] ^ 1]), at))


def swap(raw: sqlite3.Connection) -> None:
    """Exchange the first two chunks."""
    (one, first), (other, second) = raw.execute("SELECT id, sealed FROM chunks ORDER BY id LIMIT 2").fetchall()
    raw.execute("UPDATE chunks SET sealed = ? WHERE id = ?", (second, one))
    raw.execute("UPDATE chunks SET sealed = ? WHERE id = ?", (first, other))


def exchange(raw: sqlite3.Connection) -> None:
    """Let two turns have each other's files."""
    (one, first), (other, second) = raw.execute("SELECT part, position FROM parts ORDER BY part").fetchall()
    raw.execute("UPDATE parts SET position = ? WHERE part = ?", (second, one))
    raw.execute("UPDATE parts SET position = ? WHERE part = ?", (first, other))


EDITS: dict[str, Edit] = {
    "a byte": flip,
    "two chunks": swap,
    "two files": exchange,
    "the last chunk": lambda raw: raw.execute("DELETE FROM chunks WHERE id = (SELECT max(id) FROM chunks)"),
    "a chunk in the middle": lambda raw: raw.execute(
        "DELETE FROM chunks WHERE id = (SELECT id FROM chunks ORDER BY id LIMIT 1 OFFSET 2)"
    ),
    "all chunks": lambda raw: raw.execute("DELETE FROM chunks"),
    "whose it is": lambda raw: raw.execute("DELETE FROM parts"),
    "which field it is": lambda raw: raw.execute("UPDATE parts SET field = 'message/0/content/0'"),
    "that it is let go": lambda raw: raw.execute("UPDATE parts SET position = NULL, field = NULL, time = 0"),
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    made = sqlite_world(tmp_path)
    attached(made.runtime, DATA)
    attached(made.runtime, DATA[::-1], number=2)
    yield made
    made.close()


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_of_a_file_is_noticed(world: FileWorld, tmp_path: Path, edit: Edit) -> None:
    with world.edited() as raw:
        edit(raw)
    noticed = 0
    for number, data in ((1, DATA), (2, DATA[::-1])):
        try:
            assert saved(world.runtime, tmp_path, number) == data
        except Corrupt:
            noticed += 1
        assert not (tmp_path / "saved.new").exists()
    assert noticed
    kinds = [finding.kind for finding in world.runtime.evidence.inspect().findings]
    assert kinds == [FindingKind.CONTENT_DAMAGED] * noticed
    assert world.turns_of() == 2


@pytest.mark.parametrize("edit", [swap, exchange])
def test_bytes_of_another_place_are_never_returned(world: FileWorld, edit: Edit) -> None:
    """Also where only a range is read, of which the turn says nothing by itself."""
    with world.edited() as raw:
        edit(raw)
    with pytest.raises(Corrupt):
        world.runtime.attachments.read(key_of(), FILE, start=0, length=5)


def test_a_range_behind_a_changed_chunk_is_still_read(world: FileWorld) -> None:
    with world.edited() as raw:
        raw.execute("UPDATE chunks SET sealed = zeroblob(length(sealed)) WHERE id % 65536 = 0")
    with pytest.raises(Corrupt):
        world.runtime.attachments.read(key_of(), FILE, start=0, length=1)
    shown = world.runtime.attachments.read(key_of(), FILE, start=CHUNK_BYTES, length=9)
    assert shown.data == DATA[CHUNK_BYTES : CHUNK_BYTES + 9]


def test_a_sound_store_with_files_has_no_findings(world: FileWorld) -> None:
    assert not world.runtime.evidence.inspect().findings
