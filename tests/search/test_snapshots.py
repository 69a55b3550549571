"""Snapshots of indexes: opened when they are what they must be, else dropped; never a wrong hit, never an error."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import muniment
from muniment.crypto.keyring import SpaceKeys
from muniment.evidence.pin import FilePin
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import DetectedType
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.ledger.snapshots import FORMAT, SnapshotRefusal
from muniment.operations.transcripts.hits import SearchPage, SearchRanking
from muniment.search import view_index
from muniment.space.options import Options
from tests.search.asking import digest, found, opened, rebuilt, said, snapshot, standing
from tests.worlds import PINS, FileWorld, memory_world, open_store, root_key

TEXT = "harbour lights"


def filled(world: FileWorld, turns: int = 12) -> FileWorld:
    """Commit turns, search once, and come back."""
    for number in range(1, turns + 1):
        world.commit(said(number, TEXT if number == 3 else f"word{number} 青川天氣", answer="we saw"))
    assert found(world.runtime, "harbour") == [TEXT]
    return world.reopened()


def test_an_index_comes_back_from_its_snapshot_and_is_the_same(kept: FileWorld) -> None:
    """Same digest, same hits and scores as made again; what was committed since is there as well."""
    filled(kept)
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).from_snapshot
    assert digest(kept.runtime) == rebuilt(kept.runtime)
    kept.commit(said(13, "harbour again"))
    assert found(kept.runtime, "harbour") == ["harbour again", TEXT]
    assert digest(kept.runtime) == rebuilt(kept.runtime)

    def asked() -> SearchPage:
        return kept.runtime.transcripts.search("harbour saw word5", ranking=SearchRanking(asked_ms=1), limit=50)

    kept.reopened()
    sealed = asked()
    assert standing(kept.runtime).from_snapshot
    kept.reopened()
    snapshot(kept).unlink()
    assert asked() == sealed
    assert not standing(kept.runtime).from_snapshot


def test_a_snapshot_is_for_the_owner_alone(kept: FileWorld) -> None:
    filled(kept)
    assert snapshot(kept).stat().st_mode & 0o777 == 0o600
    assert snapshot(kept).parent.stat().st_mode & 0o777 == 0o700


def test_small_indexes_and_stores_in_memory_have_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = memory_world()
    with_files = FileWorld(tmp_path, lambda times: open_store(tmp_path, f"seed-{times}"))
    for each in (world, with_files):
        each.commit(said(1, TEXT))
        assert found(each.runtime, "harbour") == [TEXT]
    with_files.reopened()
    assert not snapshot(with_files).exists()
    monkeypatch.setattr(view_index, "SAVED_DOCUMENTS_MIN", 1)
    world.runtime._session.space.indexes.save()
    assert standing(world.runtime).snapshot_events == 0
    assert world.runtime._session.space.indexes.before_rotation() == {}
    world.close()
    with_files.close()


# --- what does not fit is dropped -------------------------------------------------------------------------------------


def cut(data: bytes) -> bytes:
    return data[:-1]


def cut_short(data: bytes) -> bytes:
    return data[: len(data) // 2]


def cut_in_the_line(data: bytes) -> bytes:
    return data[:40]


def emptied(_data: bytes) -> bytes:
    return b""


def lengthened(data: bytes) -> bytes:
    return data + b"\0"


def edited(place: float) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        at = int(place * (len(data) - 1))
        return data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]

    return edit


def smaller(data: bytes) -> bytes:
    return data.replace(b'"size":', b'"size":1', 1)


def newer(data: bytes) -> bytes:
    return data.replace(b'"format":%d' % FORMAT, b'"format":%d' % (FORMAT + 1), 1)


def not_hexadecimal(data: bytes) -> bytes:
    at = data.index(b'"root":"') + 8
    return data[:at] + b"zz" + data[at + 2 :]


FAULTS = {
    "cut": cut,
    "cut short": cut_short,
    "cut in the line": cut_in_the_line,
    "emptied": emptied,
    "lengthened": lengthened,
    "another size": smaller,
    "newer": newer,
    "a root that is none": not_hexadecimal,
    **{f"edited at {place:.0%}": edited(place) for place in (0, 0.02, 0.1, 0.25, 0.5, 0.9, 1)},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_snapshot_that_was_damaged_is_dropped_and_the_index_made_anew(kept: FileWorld, name: str) -> None:
    filled(kept)
    path = snapshot(kept)
    path.write_bytes(FAULTS[name](path.read_bytes()))
    assert found(kept.runtime, "harbour") == [TEXT]
    told = standing(kept.runtime)
    assert not told.from_snapshot
    assert told.refused in {SnapshotRefusal.DAMAGED, SnapshotRefusal.KEY_RETIRED}
    assert not path.exists()
    assert digest(kept.runtime) == rebuilt(kept.runtime)
    kept.reopened()
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).from_snapshot


def test_a_snapshot_of_another_view_is_dropped(kept: FileWorld) -> None:
    """What the raw owner sees is no answer for anybody else."""
    filled(kept)
    assert found(kept.runtime, "harbour", View.RAW_OWNER) == [TEXT]
    kept.reopened()
    shutil.copy(snapshot(kept, View.RAW_OWNER), snapshot(kept))
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).refused is SnapshotRefusal.OTHER


def test_a_snapshot_of_another_space_is_dropped(kept: FileWorld) -> None:
    filled(kept)
    theirs = snapshot(kept)
    with open_store(kept.home, "other", space="other") as other:
        other.transcripts.commit(said(1, "lantern"))
        shutil.copy(theirs, other._session.space.keys._directory)
        assert found(other, "harbour") == []
        assert standing(other).refused is SnapshotRefusal.KEY_RETIRED
        assert found(other, "lantern") == ["lantern"]


def test_a_snapshot_of_another_release_is_dropped(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release may decide otherwise about what is shown."""
    filled(kept)
    monkeypatch.setattr(view_index, "__version__", "99")
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).refused is SnapshotRefusal.OTHER


@pytest.mark.parametrize(
    "detect",
    [
        Detect(views={View.HOST_UI: frozenset({DetectedType.KNOWN_NAME})}, names=frozenset({"harbour"})),
        Detect(views={View.RAW_OWNER: frozenset({DetectedType.EMAIL})}),
    ],
)
def test_a_snapshot_is_dropped_when_something_else_is_looked_for(kept: FileWorld, detect: Detect) -> None:
    """A name that is withheld now is found no more, though a snapshot has it."""
    filled(kept).runtime.close()
    options = Options(sources=seeded_sources("looking"), pin=FilePin(kept.home / PINS), detect=detect)
    with muniment.open(kept.store, keys=root_key(), options=options) as runtime:
        assert found(runtime, "harbour") == ([] if detect.names else [TEXT])
        assert standing(runtime).refused is SnapshotRefusal.OTHER
        assert digest(runtime) == rebuilt(runtime)
    with muniment.open(kept.store, keys=root_key(), options=replace(options, detect=Detect())) as runtime:
        assert found(runtime, "harbour") == [TEXT]
        assert standing(runtime).refused is SnapshotRefusal.OTHER


def test_a_snapshot_from_before_a_rotation_opens_no_more(kept: FileWorld) -> None:
    """It is sealed again with the rotation; a copy of the former one is noise."""
    filled(kept)
    former = snapshot(kept).read_bytes()
    kept.runtime.spaces.rotate()
    assert snapshot(kept).read_bytes() != former
    kept.reopened()
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).from_snapshot
    kept.reopened()
    snapshot(kept).write_bytes(former)
    assert opened(kept.runtime, snapshot(kept).parent) is None
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).refused is SnapshotRefusal.KEY_RETIRED


def test_a_snapshot_from_before_a_restore_is_dropped(kept: FileWorld) -> None:
    """What came after the backup is lost, and is found nowhere."""
    filled(kept)
    kept.runtime.spaces.backup(str(kept.home / "backup"))
    kept.commit(said(13, "lantern"))
    assert found(kept.runtime, "lantern") == ["lantern"]
    kept.reopened()
    assert found(kept.runtime, "lantern") == ["lantern"]
    assert kept.runtime.spaces.restore(str(kept.home / "backup"), replace=True).sound
    assert found(kept.runtime, "lantern") == []
    assert digest(kept.runtime) == rebuilt(kept.runtime)
    kept.reopened()
    assert found(kept.runtime, "lantern") == []


def test_a_root_that_differs_is_of_another_log(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that somebody with the key made of a log that never was is not believed."""
    filled(kept)
    monkeypatch.setattr(view_index, "root_at", lambda _hashes, _size: bytes(32))
    assert found(kept.runtime, "harbour") == [TEXT]
    assert standing(kept.runtime).refused is SnapshotRefusal.OTHER


# --- writing ----------------------------------------------------------------------------------------------------------


def test_nothing_is_written_while_the_key_is_being_turned_over(kept: FileWorld) -> None:
    """A snapshot under a key that others will keep might hold what they are erasing."""
    filled(kept)
    before = snapshot(kept).read_bytes()
    assert found(kept.runtime, "harbour") == [TEXT]
    kept.commit(said(13, "more"))
    assert found(kept.runtime, "more") == ["more"]
    other = SpaceKeys(snapshot(kept).parent, root_key(), kept.runtime._session.space.sources.entropy)
    new = other.begin_rotation()
    kept.runtime._session.space.indexes.save()
    assert snapshot(kept).read_bytes() == before
    assert kept.runtime.system.recover().rotation_completed
    assert new.version not in kept.runtime._session.space.keys.versions
    assert not snapshot(kept).exists()  # a recovery rebuilds all projections
    assert found(kept.runtime, "more") == ["more"]


def test_a_disk_that_takes_no_snapshot_harms_nothing(kept: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(kept)
    snapshot(kept).unlink()
    assert found(kept.runtime, "harbour") == [TEXT]

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("muniment.ledger.snapshots.os.fsync", full)
        kept.runtime._session.space.indexes.save()
    assert [path.name for path in snapshot(kept).parent.glob("index-*")] == []
    assert found(kept.runtime, "harbour") == [TEXT]


def test_a_snapshot_is_written_now_and_then_while_an_index_grows(
    kept: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_index, "SAVED_EVENTS", 6)
    sizes = set()
    for number in range(1, 15):
        kept.commit(said(number, f"word{number}"))
        found(kept.runtime, "word1")
        sizes.add(standing(kept.runtime).snapshot_events)
    assert len(sizes) == 3
    assert snapshot(kept).exists()


def test_an_index_that_is_far_behind_is_not_caught_up_to_be_kept(
    kept: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_index, "BEHIND_EVENTS_MAX", 2)
    filled(kept)
    assert found(kept.runtime, "harbour") == [TEXT]
    kept.with_turns(20, "other")
    before = snapshot(kept).read_bytes()
    kept.runtime._session.space.indexes.save()
    assert snapshot(kept).read_bytes() == before
    kept.runtime.spaces.rotate()
    assert not snapshot(kept).exists()
    assert found(kept.runtime, "harbour") == [TEXT]
