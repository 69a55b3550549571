"""An erased file is gone with its message, and with nothing else; what comes back is removed again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.errors import Corrupt, InvalidInput, MunimentError, SpaceErased, StoreFull, WordsErased
from muniment.events.identity import TurnId
from muniment.events.records import EventKind
from muniment.governance.views import Reason, View
from muniment.ledger.ledger import Ledger
from muniment.log.port import Store
from muniment.operations.attachments import AttachmentPlace, ShownAttachment
from muniment.operations.lifecycle.scope import Scope
from muniment.space import rotation
from tests.attachments.files import added, attached, bytes_of, saved, turn_with
from tests.runtime.custody import EVERYTHING, erase
from tests.turns import TALK
from tests.worlds import OPERATOR, FileWorld, key_of, open_store, sqlite_world

KEY = key_of()
FILE = AttachmentPlace(turn=TurnId("turn-1"), message=0, part=1)
ONE, OTHER, THIRD = bytes_of(2 * CHUNK_BYTES + 1, 1), bytes_of(CHUNK_BYTES + 9, 2), bytes_of(40, 3)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    """Return a store with a turn of two files, and a turn of one."""
    made = sqlite_world(tmp_path)
    attached(made.runtime, ONE, OTHER)
    attached(made.runtime, THIRD, number=2)
    yield made
    made.close()


def kept(world: FileWorld) -> tuple[int, int]:
    """Return how many attachments and chunks there are at rest."""
    with closing(sqlite3.connect(f"file:{world.database}?mode=ro", uri=True)) as raw:
        counts = (raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("parts", "chunks"))  # noqa: S608 - names of our own tables
        return next(counts), next(counts)


def test_a_file_goes_with_its_turn_and_the_others_stay(world: FileWorld, tmp_path: Path) -> None:
    assert kept(world) == (3, 6)
    report = world.request("erase", 1)  # type: ignore[arg-type]  # the word of the transition
    assert report.receipt is not None
    places = {place.place: place.done for place in report.receipt.places}
    assert places["chunks of attachments"].startswith("5 removed")
    assert kept(world) == (1, 1)
    with pytest.raises(WordsErased):
        world.runtime.attachments.read(KEY, FILE)
    assert saved(world.runtime, tmp_path, 2) == THIRD
    assert saved(world.reopened().runtime, tmp_path, 2) == THIRD


def test_a_file_goes_with_its_message_and_the_other_message_keeps_its_own(world: FileWorld, tmp_path: Path) -> None:
    message = world.replay().turns[0].messages[0].id
    world.runtime.lifecycle.erase(Scope(conversation=TALK, message=message), "asked", OPERATOR)
    assert kept(world) == (2, 3)
    with pytest.raises(WordsErased):
        world.runtime.attachments.read(KEY, FILE)
    assert saved(world.runtime, tmp_path, 1, 1, 0) == OTHER
    message = world.replay().turns[0].messages[1].id
    world.runtime.lifecycle.erase(Scope(conversation=TALK, message=message), "asked", OPERATOR)
    assert kept(world) == (1, 1)
    assert not world.runtime.evidence.inspect().findings


def test_the_key_of_an_erased_file_is_nowhere_at_rest(world: FileWorld) -> None:
    """The key is in the content of the turn; a part of the content that stays is sealed again without it."""
    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        row = next(row for row in reader.turns(1, 1, 1))
        salts, _ = space.ledger.words(space.ledger.open(row))
    assert isinstance(salts, dict)
    message = world.replay().turns[0].messages[0].id
    world.runtime.lifecycle.erase(Scope(conversation=TALK, message=message), "asked", OPERATOR)
    with space.ledger.reader() as reader:
        row = next(row for row in reader.turns(1, 1, 1))
        left, _ = space.ledger.words(space.ledger.open(row))
    assert isinstance(left, dict)
    assert not {"message/0/content/1", "message/0/content/1/chunks"} & left.keys()
    assert left["message/1/content/0/chunks"] == salts["message/1/content/0/chunks"]


def test_an_erasure_ends_the_uploads_that_no_turn_has_taken(world: FileWorld, tmp_path: Path) -> None:
    """What stands for an upload has its key, and nothing that anybody kept opens a file after an erasure."""
    waiting, taken = added(world.runtime, ONE), added(world.runtime, OTHER)
    world.commit(turn_with(taken, number=3))
    world.erased(3)
    with pytest.raises(InvalidInput):
        world.commit(turn_with(waiting, number=4))
    world.commit(turn_with(added(world.runtime, ONE), number=4))
    assert saved(world.runtime, tmp_path, 4) == ONE


class Crashed(Exception):
    """The process ended here."""


def test_what_a_crash_left_of_an_erased_file_is_removed_at_the_next_opening(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_ledger: Ledger, _before_ms: int) -> int:
        raise Crashed

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "drop_loose", crash)
        with pytest.raises(Crashed):
            world.erased(1)
        world.crashed()
    assert kept(world) == (3, 6)
    world.reopened()
    assert kept(world) == (1, 1)


def test_with_a_whole_space_go_all_of_its_files(world: FileWorld) -> None:
    """Those of turns, and those that no turn has taken."""
    added(world.runtime, bytes_of(20 * CHUNK_BYTES))
    report = erase(world, EVERYTHING)
    assert kept(world) == (0, 0)
    assert report.receipt is not None
    places = {place.place: place.done for place in report.receipt.places}
    assert places["chunks of attachments"].startswith("26 removed")
    world.runtime = open_store(world.home, "another", space="another")


def test_the_files_of_a_space_whose_erasure_was_cut_short_are_removed_at_the_next_opening(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_store: Store) -> int:
        raise Crashed

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "drop_all", crash)
        with pytest.raises(Crashed):
            erase(world, EVERYTHING)
    assert kept(world) == (3, 6)
    with pytest.raises(SpaceErased):
        world.replay()
    world.crashed()
    with pytest.raises(SpaceErased):
        open_store(world.home, "again")
    assert kept(world) == (0, 0)
    world.runtime = open_store(world.home, "another", space="another")


@pytest.mark.parametrize("fault", [Corrupt(at="chunks", problem="damaged"), StoreFull()])
def test_the_keys_of_a_space_do_not_wait_for_files_that_cannot_be_removed(
    fault: MunimentError, world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_store: Store) -> int:
        raise fault

    keys = next(path for path in world.store.glob("spaces/*/keys.json"))
    with monkeypatch.context() as patched:
        patched.setattr(rotation, "drop_all", refuse)
        assert erase(world, EVERYTHING).receipt is not None
    assert b"erased" in keys.read_bytes()
    world.runtime = open_store(world.home, "another", space="another")


def test_a_file_that_is_put_back_is_removed_again(world: FileWorld) -> None:
    with world.broken_into() as raw:
        rows = {table: raw.execute(f"SELECT * FROM {table}").fetchall() for table in ("parts", "chunks")}  # noqa: S608 - names of our own tables
        content = raw.execute("SELECT content, position FROM events WHERE content IS NOT NULL").fetchall()
    world.reopened().erased(1)
    with world.edited() as raw:
        raw.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?)", rows["parts"])
        raw.executemany("INSERT OR REPLACE INTO chunks VALUES (?, ?)", rows["chunks"])
        raw.executemany("UPDATE events SET content = ? WHERE position = ?", content)
    assert kept(world) == (1, 1)
    with pytest.raises(WordsErased):
        world.runtime.attachments.read(KEY, FILE, View.RAW_OWNER)


def meanwhile(world: FileWorld, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen while the next file is read, between its first chunks and the next ones."""
    ledger = world.runtime._session.space.ledger
    reader, snapshots = ledger.reader, iter(range(1000))

    def counting() -> object:
        if next(snapshots) == 2:  # the place, the first chunks
            act()
        return reader()

    monkeypatch.setattr(ledger, "reader", counting)


def test_a_file_that_is_read_while_it_is_erased_ends_as_erased(
    world: FileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(world.runtime, bytes_of(20 * CHUNK_BYTES), number=3)
    meanwhile(world, monkeypatch, lambda: world.erased(3))
    with pytest.raises(WordsErased):
        saved(world.runtime, tmp_path, 3)
    assert not (tmp_path / "saved").exists()


def test_a_file_that_is_masked_while_it_is_written_does_not_leave(
    world: FileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(world.runtime, bytes_of(20 * CHUNK_BYTES), number=3)
    meanwhile(world, monkeypatch, lambda: world.masked(3))
    place = AttachmentPlace(turn=TurnId("turn-3"), message=0, part=1)
    report = world.runtime.attachments.save(KEY, place, str(tmp_path / "out"))
    assert (report.withheld, report.position, report.file) == (Reason.LIFECYCLE_MASKED, None, None)
    assert not list(tmp_path.glob("out*"))
    with world.runtime._session.space.store.reader() as log:
        assert not list(log.of_kind(EventKind.CONTENT_EXPORTED))


def test_a_file_whose_last_bytes_are_read_when_it_is_erased_does_not_leave(
    world: FileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its bytes are written, but it has no name yet."""
    recorded = ShownAttachment.recorded

    def erased_before(shown: ShownAttachment) -> int | None:
        world.erased(2)
        return recorded(shown)

    monkeypatch.setattr(ShownAttachment, "recorded", erased_before)
    with pytest.raises(WordsErased):
        saved(world.runtime, tmp_path, 2)
    assert not list(tmp_path.glob("saved*"))
