"""Backups: two sealed files out of which a space comes back as it was."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from muniment.errors import Corrupt, FileTaken, FileUnavailable, KeyInvalid, KeyWrong, StoreReadOnly
from muniment.evidence.notes import origin_of
from muniment.governance.access import Access
from muniment.operations.spaces.backup.restore import RestoreReport
from muniment.operations.spaces.backup.take import Backup
from muniment.runtime.runtime import Runtime
from tests.backups import backed_up, elsewhere, entered, root_of, words
from tests.turns import TALK, answer, question, rich_turn
from tests.worlds import FileWorld, memory_world, sqlite_world


@pytest.fixture
def world(tmp_path: Path) -> FileWorld:
    return sqlite_world(tmp_path).with_turn(rich_turn()).with_turns(4).masked(2).erased(3).archived(4)


# --- there and back ---------------------------------------------------------------------------------------------------


def test_a_backup_comes_back_in_another_store_as_it_was(world: FileWorld, tmp_path: Path) -> None:
    """What every view shows, the log under the same root, and its evidence."""
    shown = words(world.runtime)
    made = world.runtime.spaces.backup(str(tmp_path / "backup"))
    size, root = root_of(world.runtime)
    assert (made.events, made.root, made.cells_damaged) == (size, root.hex(), 0)
    world.close()
    with elsewhere(tmp_path) as other:
        report = other.spaces.restore(str(tmp_path / "backup"))
    assert report == RestoreReport(
        space="default",
        log=made.log,
        restored=True,
        events=size,
        turns=5,
        cells_damaged=0,
        sound=True,
        origin=report.origin,
        former=origin_of(made.log),
    )
    with entered(tmp_path) as back:
        assert words(back) == shown
        assert back.evidence.audit().spaces
        with back._session.space.ledger.reader() as reader:
            kinds = [row.kind for row in reader.events(size, size + 2)]
        assert kinds == ["signer.announced", "space.restored", "key.rotated"]


def test_a_store_with_another_root_key_takes_a_backup_that_a_passphrase_sealed(
    world: FileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAL", "correct horse battery staple")
    shown = words(world.runtime)
    world.runtime.spaces.backup(str(tmp_path / "backup"), sealed_by="passphrase:env:SEAL")
    with elsewhere(tmp_path, root="another") as other:
        with pytest.raises(KeyWrong):
            other.spaces.restore(str(tmp_path / "backup"))
        monkeypatch.setenv("SEAL", "something else")
        with pytest.raises(KeyWrong):
            other.spaces.restore(str(tmp_path / "backup"), sealed_by="passphrase:env:SEAL")
        monkeypatch.setenv("SEAL", "correct horse battery staple")
        assert other.spaces.restore(str(tmp_path / "backup"), sealed_by="passphrase:env:SEAL").sound
    with entered(tmp_path, root="another") as back:
        assert words(back) == shown


def test_the_keyring_may_lie_elsewhere(world: FileWorld, tmp_path: Path) -> None:
    made = world.runtime.spaces.backup(str(tmp_path / "disk"), keyring=str(tmp_path / "safe"))
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["log.sealed"]
    assert [path.name for path in (tmp_path / "safe").iterdir()] == ["keys.sealed"]
    assert (made.log_file, made.keys_file) == (
        str(tmp_path / "disk" / "log.sealed"),
        str(tmp_path / "safe" / "keys.sealed"),
    )
    with elsewhere(tmp_path) as other:
        with pytest.raises(FileUnavailable):
            other.spaces.restore(str(tmp_path / "disk"))
        assert other.spaces.restore(str(tmp_path / "disk"), keyring=str(tmp_path / "safe")).restored


def test_a_space_in_memory_can_be_backed_up_and_put_back_over_itself(tmp_path: Path) -> None:
    world = memory_world().with_turns(2)
    shown = words(world.runtime)
    world.runtime.spaces.backup(str(tmp_path / "backup"))
    world.with_turns(1)
    report = world.runtime.spaces.restore(str(tmp_path / "backup"), replace=True)
    assert report.lost_first is not None
    assert words(world.runtime) == shown
    with memory_world("other").runtime as other, pytest.raises(StoreReadOnly):
        other._session.store.put_back(world.runtime._session.space.keys.unwrapped, lambda _: None)
    world.close()


def test_what_is_written_while_a_backup_is_taken_may_be_in_it_or_not(tmp_path: Path) -> None:
    """Others write, and even rotate keys, while a backup is taken; it is consistent all the same."""
    world = sqlite_world(tmp_path).with_turns(3)
    told: list[str] = []

    def busy(stage: str, _done: int, _total: int) -> None:
        told.append(stage)
        if stage == "backup" and told.count(stage) == 1:
            world.with_turns(2).erased(1)

    session = world.runtime._session
    loud = Runtime(type(session)(store=session.store, opened=session.opened, access=Access(), progress=busy))
    made = loud.spaces.backup(str(tmp_path / "backup"))
    assert made.turns == 5
    assert set(told) == {"backup", "verify"}
    with elsewhere(tmp_path) as other:
        other.spaces.restore(str(tmp_path / "backup"))
    with entered(tmp_path) as back:
        assert words(back) == words(world.runtime)


def test_a_restored_space_goes_on(world: FileWorld) -> None:
    """It takes turns, repeats are found, erasures work, and it opens soundly again and again."""
    backup = backed_up(world)
    world.with_turns(3)
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert report.sound
    for _ in range(2):
        world.with_turns(1)
        assert not world.commit(rich_turn()).committed
        world.erased(world.turns_of() - 1)
        world.reopened()
        assert world.runtime.system.health().sound
        assert world.runtime.evidence.audit().spaces


# --- what is on the disk ----------------------------------------------------------------------------------------------


def test_no_clear_text_and_no_header_is_in_a_backup(world: FileWorld) -> None:
    """EX-10: no word, no name, no header and no unwrapped key."""
    backup = backed_up(world)
    stored = b"".join(path.read_bytes() for path in backup.iterdir())
    ring = world.runtime._session.space.keys.unwrapped
    secret = [ring.signing_seed, ring.index_key, *(key.secret for key in ring.space.values())]
    for clear in [question(1), answer(1), "the user words", TALK, "ada", "default", "turn.committed", "commitment"]:
        assert clear.encode() not in stored
    for key in secret:
        assert key not in stored
    with world.runtime._session.space.ledger.reader() as reader:
        for row in reader.sealed_events(0, 5):
            assert row.leaf not in stored
            assert row.header not in stored


def test_the_files_of_a_backup_are_for_their_owner_alone(world: FileWorld) -> None:
    backup = backed_up(world)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in backup.iterdir()} == {0o600}
    assert sorted(path.name for path in backup.iterdir()) == ["keys.sealed", "log.sealed"]


def test_a_backup_writes_over_nothing(world: FileWorld, tmp_path: Path) -> None:
    backup = backed_up(world)
    before = {path.name: path.read_bytes() for path in backup.iterdir()}
    with pytest.raises(FileTaken):
        world.runtime.spaces.backup(str(backup))
    (backup / "log.sealed").rename(tmp_path / "elsewhere")
    with pytest.raises(FileTaken):
        world.runtime.spaces.backup(str(backup))
    assert {path.name: path.read_bytes() for path in backup.iterdir()} == {"keys.sealed": before["keys.sealed"]}


@pytest.mark.parametrize("target", ["file/below", "nul\0byte"])
def test_a_place_where_nothing_can_be_written_is_said_to_be_so(world: FileWorld, tmp_path: Path, target: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileUnavailable):
        world.runtime.spaces.backup(str(tmp_path / target))


def test_a_backup_appends_its_record_and_nothing_else(world: FileWorld) -> None:
    """The record is in the backup, so that a restore over an unchanged space loses nothing."""
    before, _ = root_of(world.runtime)
    made = world.runtime.spaces.backup(str(world.home / "backup"))
    size, root = root_of(world.runtime)
    assert (size, root.hex()) == (before + 1, made.root)
    (entry,) = world.runtime.evidence.disclosures().disclosures
    assert (entry.kind, entry.way, entry.through) == ("content.exported", "backup", before - 1)


def test_a_cell_that_does_not_open_is_counted_and_keeps_nothing_else_back(world: FileWorld, tmp_path: Path) -> None:
    with world.edited() as raw:
        raw.execute(
            "UPDATE events SET content = zeroblob(80)"
            " WHERE position = (SELECT min(position) FROM events WHERE content IS NOT NULL)"
        )
    made = world.runtime.spaces.backup(str(tmp_path / "backup"))
    assert made.cells_damaged == 1
    with elsewhere(tmp_path) as other:
        assert other.spaces.restore(str(tmp_path / "backup")).cells_damaged == 1
    with entered(tmp_path) as back, pytest.raises(Corrupt):
        words(back)


def test_a_key_file_that_seals_backups_is_made_when_there_is_none(world: FileWorld, tmp_path: Path) -> None:
    uri = f"file:{tmp_path / 'backup.key'}"
    world.runtime.spaces.backup(str(tmp_path / "backup"), sealed_by=uri)
    with elsewhere(tmp_path, root="another") as other:
        assert other.spaces.restore(str(tmp_path / "backup"), sealed_by=uri).restored
    with pytest.raises(KeyInvalid):
        world.runtime.spaces.backup(str(tmp_path / "second"), sealed_by="nonsense")


def test_a_backup_says_what_it_is(world: FileWorld, tmp_path: Path) -> None:
    made = world.runtime.spaces.backup(str(tmp_path / "backup"))
    stored = (tmp_path / "backup" / "log.sealed").read_bytes()
    assert isinstance(made, Backup)
    assert (made.space, made.turns, made.bytes) == ("default", 5, len(stored))
    assert hashlib.sha256(stored).hexdigest() not in str(made)
