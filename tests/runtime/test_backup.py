"""Backups: two sealed files out of which a space comes back as it was, and nothing that was erased."""

from __future__ import annotations

import hashlib
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from muniment.errors import (
    AccessDenied,
    Corrupt,
    CursorInvalid,
    FileTaken,
    FileUnavailable,
    KeyInvalid,
    KeyMissing,
    KeyUnavailable,
    KeyWrong,
    MunimentError,
    RestoreConflict,
    StoreMissing,
    StoreReadOnly,
)
from muniment.events.changes import Transition
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.runtime.backup.restoring import Restored
from muniment.runtime.backup.taking import Backup
from muniment.runtime.options import Options
from muniment.runtime.runtime import Runtime
from tests.turns import TALK, answer, question, rich_turn
from tests.worlds import PINS, FileWorld, key_of, memory_world, root_key, sqlite_world

FAULTS_OF_FILES = (Corrupt, KeyWrong, FileUnavailable)


def backed_up(world: FileWorld, name: str = "backup") -> Path:
    """Back the space of a world up and return where."""
    world.runtime.spaces.backup(str(world.home / name))
    return world.home / name


def elsewhere(home: Path, seed: str = "elsewhere", root: str = "root") -> Runtime:
    """Open another store, on another machine as it were, without a space."""
    options = Options(sources=seeded_sources(seed), pin=FilePin(home / f"{seed} pins"))
    return muniment.open_store(home / seed, keys=root_key(root), options=options)


def entered(home: Path, seed: str = "elsewhere", root: str = "root") -> Runtime:
    """Open the default space of another store."""
    options = Options(sources=seeded_sources(f"{seed} again"), pin=FilePin(home / f"{seed} pins"))
    return muniment.open(home / seed, keys=root_key(root), options=options)


def words(runtime: Runtime, conversation: str = TALK) -> list[object]:
    """Return what every view shows of a conversation."""
    return [runtime.transcripts.replay(key_of(conversation), view, 500) for view in View]


def root_of(runtime: Runtime) -> tuple[int, bytes]:
    """Return size and root of the log of a runtime."""
    with runtime._desk.inspected.ledger.reader() as reader:
        head = reader.frontier()
    return head.size, head.root()


@pytest.fixture
def world(tmp_path: Path) -> FileWorld:
    return sqlite_world(tmp_path).with_turn(rich_turn()).with_turns(4).masked(2).erased(3).archived(4)


# --- there and back ---------------------------------------------------------------------------------------------------


def test_a_backup_comes_back_in_another_store_as_it_was(world: FileWorld, tmp_path: Path) -> None:
    """What every view shows, the log under the same root, and its evidence."""
    shown, (size, root) = words(world.runtime), root_of(world.runtime)
    made = world.runtime.spaces.backup(str(tmp_path / "backup"))
    assert (made.events, made.root, made.cells_damaged) == (size, root.hex(), 0)
    world.close()
    with elsewhere(tmp_path) as other:
        report = other.spaces.restore(str(tmp_path / "backup"))
    assert report == Restored(
        space="default", log=made.log, restored=True, events=size, turns=5, cells_damaged=0, sound=True
    )
    with entered(tmp_path) as back:
        assert words(back) == shown
        assert back.evidence.audit().spaces
        with back._desk.space.ledger.reader() as reader:
            assert [row.kind for row in reader.events(size, size + 1)] == ["space.restored", "key.rotated"]


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
        other._desk.home.put_back(world.runtime._desk.space.keys.ring, lambda _: None)
    world.close()


def test_what_is_written_while_a_backup_is_taken_may_be_in_it_or_not(tmp_path: Path) -> None:
    """Others write, and even rotate keys, while a backup is taken; it is consistent all the same."""
    world = sqlite_world(tmp_path).with_turns(3)
    told: list[str] = []

    def busy(stage: str, _done: int, _total: int) -> None:
        told.append(stage)
        if stage == "backup" and told.count(stage) == 1:
            world.with_turns(2).erased(1)

    desk = world.runtime._desk
    loud = Runtime(type(desk)(home=desk.home, opened=desk.opened, access=Access(), progress=busy))
    made = loud.spaces.backup(str(tmp_path / "backup"))
    assert made.turns == 5
    assert set(told) == {"backup", "verify"}
    with elsewhere(tmp_path) as other:
        other.spaces.restore(str(tmp_path / "backup"))
    with entered(tmp_path) as back:
        assert words(back) == words(world.runtime)


def test_a_restored_space_goes_on(world: FileWorld, tmp_path: Path) -> None:
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


def test_no_clear_text_and_no_header_is_in_a_backup(world: FileWorld, tmp_path: Path) -> None:
    """EX-10: no word, no name, no header and no unwrapped key."""
    backup = backed_up(world)
    stored = b"".join(path.read_bytes() for path in backup.iterdir())
    ring = world.runtime._desk.space.keys.ring
    secret = [ring.signing_seed, ring.index_key, *(key.secret for key in ring.space.values())]
    for clear in [question(1), answer(1), "the user words", TALK, "ada", "default", "turn.committed", "commitment"]:
        assert clear.encode() not in stored
    for key in secret:
        assert key not in stored
    with world.runtime._desk.space.ledger.reader() as reader:
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


def test_a_backup_appends_nothing(world: FileWorld) -> None:
    before = root_of(world.runtime)
    backed_up(world)
    assert root_of(world.runtime) == before


def test_a_cell_that_does_not_open_is_counted_and_keeps_nothing_else_back(world: FileWorld, tmp_path: Path) -> None:
    with world.edited() as raw:
        raw.execute("UPDATE cells SET ciphertext = zeroblob(80) WHERE id = (SELECT min(id) FROM cells WHERE id % 2)")
    made = world.runtime.spaces.backup(str(tmp_path / "backup"))
    assert made.cells_damaged == 1
    with elsewhere(tmp_path) as other:
        assert other.spaces.restore(str(tmp_path / "backup")).cells_damaged == 1
    with entered(tmp_path) as back, pytest.raises(Corrupt):
        words(back)


# --- what was erased stays erased -------------------------------------------------------------------------------------


def test_an_older_backup_does_not_bring_back_what_was_erased(tmp_path: Path) -> None:
    """DESIGN §4: what the present log calls erased is erased again in what takes its place."""
    world = sqlite_world(tmp_path).with_turns(4).with_turns(3, "second")
    backup = backed_up(world)
    world.erased(2).erased(None, "second").with_turns(2)
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.erased_again, report.fences_unreadable) == (4, 0)
    for conversation, gone in [(TALK, {2}), ("second", {1, 2, 3})]:
        turns = world.replay(View.RAW_OWNER, conversation).turns
        assert [turn.phase == "raw_deleted" for turn in turns] == [n in gone for n in range(1, len(turns) + 1)]
    receipts = world.runtime.lifecycle.receipts(key_of("second")).entries
    assert [(one.transition, one.first, one.last, one.content_left) for one in receipts] == [
        (Transition.DELETE_RAW, 1, 3, 0)
    ]
    assert receipts[0].requester == "operator"
    assert world.reopened().runtime.system.health().sound
    assert question(2) not in str(words(world.runtime))
    assert question(4) in str(words(world.runtime))


def test_a_second_restore_of_the_same_backup_erases_again_too(tmp_path: Path) -> None:
    """The list of what was erased is part of the log that a restore writes."""
    world = sqlite_world(tmp_path).with_turns(3)
    backup = backed_up(world)
    world.erased(2)
    for _ in range(3):
        assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 1
        assert question(2) not in str(words(world.runtime))


def test_what_was_erased_before_the_backup_is_not_erased_twice(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(3).erased(1)
    backup = backed_up(world)
    assert world.runtime.spaces.restore(str(backup), replace=True).erased_again == 0


def test_a_fence_holds_in_a_log_that_went_another_way(tmp_path: Path) -> None:
    """After a restore the same turn stands at another position; it is known by its names."""
    world = sqlite_world(tmp_path).with_turns(1)
    early = backed_up(world, "early")
    world.with_turns(2)
    late = backed_up(world, "late")
    world.runtime.spaces.restore(str(early), replace=True)
    world.with_turns(1, "second").with_turns(2).erased(3)
    report = world.runtime.spaces.restore(str(late), replace=True)
    assert (report.erased_again, report.diverged) == (1, True)
    assert question(3) not in str(words(world.runtime))
    assert question(2) in str(words(world.runtime))


def test_the_words_of_a_backup_are_erased_under_keys_that_the_backup_does_not_have(tmp_path: Path) -> None:
    """Every bundle is wrapped anew, so that the keys of the backup open nothing of the store."""
    world = sqlite_world(tmp_path).with_turns(3)
    old = world.runtime._desk.space.keys.ring
    backup = backed_up(world)
    world.runtime.spaces.restore(str(backup), replace=True)
    new = world.runtime._desk.space.keys
    assert new.ring.space.keys().isdisjoint(old.space.keys())
    assert len(new.versions) == 1


def test_keys_of_before_an_erasure_open_nothing_of_the_log_behind_it(tmp_path: Path) -> None:
    """An older keyring under a newer log, put there by hand: closed, and no word comes back."""
    world = sqlite_world(tmp_path).with_turns(3)
    (keys,) = world.store.glob("spaces/*/keys.json")
    older = keys.read_bytes()
    world.erased(2).close()
    keys.write_bytes(older)
    with pytest.raises(MunimentError) as refused:
        words(world.reopened().runtime)
    assert isinstance(refused.value, KeyMissing | Corrupt)


def test_a_log_of_before_an_erasure_is_closed_under_the_keys_behind_it(tmp_path: Path) -> None:
    """An older log under a newer keyring, put there by hand: closed, and no word comes back."""
    world = sqlite_world(tmp_path).with_turns(3)
    world.close()
    older = world.database.read_bytes()
    world.reopened().erased(2).close()
    world.database.write_bytes(older)
    shutil.rmtree(tmp_path / PINS)  # which would refuse it sooner
    with pytest.raises(MunimentError) as refused:
        words(world.reopened().runtime)
    assert isinstance(refused.value, KeyMissing | Corrupt)


# --- a restore takes nothing away unasked -----------------------------------------------------------------------------


def test_a_restore_over_a_space_has_to_be_meant(world: FileWorld) -> None:
    backup = backed_up(world)
    world.with_turns(2)
    before = root_of(world.runtime)
    with pytest.raises(RestoreConflict) as refused:
        world.runtime.spaces.restore(str(backup))
    assert refused.value.problem == "exists"
    assert refused.value.found == before[0]
    assert root_of(world.runtime) == before


def test_a_dry_run_says_what_would_be_lost_and_changes_nothing(world: FileWorld) -> None:
    size, _ = root_of(world.runtime)
    backup = backed_up(world)
    world.with_turns(2)
    before = root_of(world.runtime)
    report = world.runtime.spaces.restore(str(backup), dry_run=True)
    assert (report.restored, report.replaced, report.diverged) == (False, True, False)
    assert (report.events, report.lost_first, report.lost_last) == (size, size, size + 1)
    assert root_of(world.runtime) == before


def test_a_pin_that_is_ahead_keeps_an_older_backup_out_until_it_is_meant(tmp_path: Path) -> None:
    """The store is lost, the pin remembers: a rollback is never silent, and once it is meant the pin follows."""
    world = sqlite_world(tmp_path).with_turns(2)
    size, _ = root_of(world.runtime)
    backup = backed_up(world)
    world.with_turns(2).close()
    last = size + 2
    shutil.rmtree(world.store)
    options = Options(sources=seeded_sources("lost"), pin=FilePin(tmp_path / PINS))
    with muniment.open_store(world.store, keys=root_key(), options=options) as bare:
        with pytest.raises(RestoreConflict) as refused:
            bare.spaces.restore(str(backup))
        assert (refused.value.problem, refused.value.limit, refused.value.found) == ("behind_pin", size, last)
        report = bare.spaces.restore(str(backup), replace=True)
        assert (report.lost_first, report.lost_last, report.sound) == (size, last - 1, True)
    with world.reopened().runtime._desk.space.ledger.reader() as reader:
        header, _ = world.runtime._desk.space.ledger.header(list(reader.events(size, size))[0])
    assert (header.kind, header.refs) == ("space.restored", {"first": size, "last": last - 1})
    assert world.runtime.system.health().sound
    assert list((tmp_path / PINS).glob("*.abandoned"))


def test_a_pin_that_a_backup_grows_from_is_no_obstacle(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    world.runtime.evidence.checkpoint()
    world.with_turns(1)
    backup = backed_up(world)
    world.crashed()
    shutil.rmtree(world.store)
    shutil.rmtree(tmp_path / PINS)
    options = Options(sources=seeded_sources("lost"), pin=FilePin(tmp_path / PINS))
    with muniment.open_store(world.store, keys=root_key(), options=options) as bare:
        report = bare.spaces.restore(str(backup))
    assert (report.diverged, report.lost_last) == (False, None)


def test_a_space_of_this_name_with_another_log_is_left_alone(world: FileWorld, tmp_path: Path) -> None:
    backup = backed_up(world)
    with entered(tmp_path) as other:
        other.transcripts.commit(rich_turn())
        before = root_of(other)
        with pytest.raises(RestoreConflict) as refused:
            other.spaces.restore(str(backup), replace=True)
        assert refused.value.problem == "another_log"
        assert root_of(other) == before


def test_a_damaged_log_is_replaced_by_its_backup(tmp_path: Path) -> None:
    """A space that is open for inspection only is sound after a restore; what it still tells of erasures is kept."""
    world = sqlite_world(tmp_path).with_turns(4)
    backup = backed_up(world)
    world.erased(2)
    with world.edited() as raw:
        raw.execute("DELETE FROM events WHERE position = 4")
    assert not world.runtime.system.health().sound
    report = world.runtime.spaces.restore(str(backup), replace=True)
    assert (report.sound, report.erased_again) == (True, 1)
    assert world.turns_of() == 4
    assert world.reopened().runtime.system.health().sound


def test_cursors_from_before_a_restore_fail(tmp_path: Path) -> None:
    """PG-08: whatever was issued before the restore ends with it."""
    world = sqlite_world(tmp_path).with_turns(4)
    cursor = world.runtime.transcripts.replay(key_of(), limit=2).next_cursor
    backup = backed_up(world)
    world.runtime.spaces.restore(str(backup), replace=True)
    with pytest.raises(CursorInvalid):
        world.runtime.transcripts.replay(key_of(), limit=2, cursor=cursor)


def test_another_process_sees_the_restored_log_at_once(tmp_path: Path) -> None:
    """What it had kept of the log of before is forgotten: phases, names, the list of conversations."""
    world = sqlite_world(tmp_path).with_turns(2).with_turns(1, "kept")
    backup = backed_up(world)
    world.masked(1).with_turns(1, "lost")
    options = Options(sources=seeded_sources("other"), pin=FilePin(tmp_path / PINS))
    with muniment.open(world.store, keys=root_key(), options=options) as other:
        assert len(other.transcripts.conversations().conversations) == 3
        assert other.transcripts.replay(key_of(), View.RAW_OWNER).turns[0].phase == "masked"
        world.runtime.spaces.restore(str(backup), replace=True)
        world.masked(2)
        phases = [turn.phase for turn in other.transcripts.replay(key_of(), View.RAW_OWNER).turns]
        assert phases == ["active", "masked"]
        assert len(other.transcripts.conversations().conversations) == 2
        assert other.transcripts.replay(key_of("lost")).turns == []
        assert other.transcripts.commit(rich_turn()).committed


# --- refusals ---------------------------------------------------------------------------------------------------------


def spoiled(path: Path, place: int = -20) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


SPOILING: dict[str, Callable[[Path, Path], object]] = {
    "a byte of the log": lambda one, _: spoiled(one / "log.sealed"),
    "the log cut off": lambda one, _: (one / "log.sealed").write_bytes((one / "log.sealed").read_bytes()[:-30]),
    "the log of another backup": lambda one, two: shutil.copy(two / "log.sealed", one),
    "the keys of another backup": lambda one, two: shutil.copy(two / "keys.sealed", one),
    "a byte of the keys": lambda one, _: spoiled(one / "keys.sealed"),
    "keys that are no JSON": lambda one, _: (one / "keys.sealed").write_bytes(b"{"),
    "keys written otherwise": lambda one, _: (one / "keys.sealed").write_bytes(
        (one / "keys.sealed").read_bytes() + b"\n"
    ),
    "no log": lambda one, _: (one / "log.sealed").unlink(),
    "no keys": lambda one, _: (one / "keys.sealed").unlink(),
}


@pytest.mark.parametrize("fault", SPOILING)
def test_a_backup_with_a_fault_is_refused_and_nothing_is_changed(world: FileWorld, fault: str) -> None:
    """An older keyring with a newer log and the reverse are among them."""
    one = backed_up(world, "one")
    world.erased(1)
    two = backed_up(world, "two")
    SPOILING[fault](one, two)
    before, files = root_of(world.runtime), sorted(world.store.rglob("*"))
    with pytest.raises(FAULTS_OF_FILES):
        world.runtime.spaces.restore(str(one), replace=True)
    assert root_of(world.runtime) == before
    assert sorted(world.store.rglob("*")) == files
    with elsewhere(world.home) as other, pytest.raises(FAULTS_OF_FILES):
        other.spaces.restore(str(one))
    with pytest.raises(StoreMissing), elsewhere(world.home) as other:
        other.spaces.usage()


def test_backup_and_restore_take_their_rights(world: FileWorld) -> None:
    backup = backed_up(world)
    for missing in (Effect.ADMIN, Effect.ERASE):
        reader = world.runtime.restricted(Access(effects=frozenset(Effect) - {missing}))
        with pytest.raises(AccessDenied):
            reader.spaces.restore(str(backup), replace=True)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(effects=frozenset({Effect.READ}))).spaces.backup("anywhere")


def test_a_store_without_its_key_restores_nothing(world: FileWorld) -> None:
    from muniment.runtime.open import inspect

    backup = backed_up(world)
    with inspect(world.store) as keyless, pytest.raises(KeyUnavailable):
        keyless.spaces.restore(str(backup))


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
