"""Disks that are full, read-only or broken, what was interrupted by them, and what others did meanwhile."""

from __future__ import annotations

import functools
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from muniment.crypto.store import open_keys
from muniment.declaration.session import Session
from muniment.errors import MunimentError, StoreFault, StoreFull, StoreReadOnly
from muniment.events.changes import LifecycleRequest, Transition
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access
from muniment.kernel.sources import seeded_sources
from muniment.log.connection import OpenMode
from muniment.log.sqlite import SqliteStore
from muniment.operations.lifecycle.erase_turns import complete_erasure, review_erasure
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.targets import target_of
from muniment.operations.lifecycle.transition import change_phases, review_transition
from muniment.runtime.runtime import Runtime
from muniment.space.open_store import Logs, OpenStore
from muniment.space.options import Options, no_progress
from muniment.space.space import Space
from tests.log.worlds import Disk
from tests.turns import TALK, plain_turn
from tests.worlds import PINS, STORE, World, key_of, root_key, sqlite_world

# --- faults of the disk -----------------------------------------------------------------------------------------------


def _store_on(disk: Disk, path: Path, is_new: bool) -> SqliteStore:
    return SqliteStore(path, mode=OpenMode.CREATE if is_new else OpenMode.WRITE, vfs=disk.name)


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[tuple[Runtime, Disk]]:
    """Return a store on a disk that breaks when told to."""
    disk = Disk(f"failing-{tmp_path.name}")
    directory = tmp_path / STORE
    options = Options(sources=seeded_sources("failing"), pin=FilePin(tmp_path / PINS))
    keys = open_keys(directory, root_key(), options.sources, create=True)
    home = OpenStore(directory, keys, Logs(functools.partial(_store_on, disk)), options)
    runtime = Runtime(Session(store=home, opened=home.space("default", create=True), access=Access()))
    yield runtime, disk
    disk.broken.clear()
    runtime.close()
    disk.unregister()


@pytest.mark.parametrize(
    ("fault", "error"),
    [(apsw.FullError, StoreFull), (apsw.ReadOnlyError, StoreReadOnly), (apsw.IOError, StoreFault)],
    ids=["full", "read only", "broken"],
)
@pytest.mark.parametrize("ending", ["-wal", "log.db-wal"])
def test_a_disk_that_takes_no_more_loses_nothing(
    failing: tuple[Runtime, Disk], fault: type[apsw.Error], error: type[MunimentError], ending: str
) -> None:
    """Typed, nothing of the write kept, nothing lost; when there is room again the same turn is committed."""
    runtime, disk = failing
    runtime.transcripts.commit(plain_turn(1))
    disk.broken["xWrite", ending] = fault
    for attempt in (
        lambda: runtime.transcripts.commit(plain_turn(2)),
        lambda: runtime.lifecycle.request(key_of(), Transition.ERASE, "why", "who"),
        runtime.spaces.rotate,
    ):
        with pytest.raises(error) as refused:
            attempt()
        assert "turn-2" not in str(refused.value)
    assert [turn.turn for turn in runtime.transcripts.replay(key_of()).turns] == ["turn-1"]
    disk.broken.clear()
    assert runtime.transcripts.commit(plain_turn(2)).sequence == 2
    assert runtime.lifecycle.request(key_of(), Transition.ERASE, "why", "who").changed
    assert runtime.system.recover().sound
    assert runtime.evidence.audit().spaces[0].turns == 2


def test_a_flush_that_fails_leaves_a_store_that_recovers(failing: tuple[Runtime, Disk]) -> None:
    """DESIGN §4: after an I/O error the connection is poisoned; what was acknowledged is there."""
    runtime, disk = failing
    runtime.transcripts.commit(plain_turn(1))
    disk.broken["xSync", "-wal"] = apsw.IOError
    with pytest.raises(StoreFault):
        runtime.transcripts.commit(plain_turn(2))
    disk.broken.clear()
    repeated = runtime.transcripts.commit(plain_turn(2))
    assert repeated.sequence == 2
    assert [turn.turn for turn in runtime.transcripts.replay(key_of()).turns] == ["turn-1", "turn-2"]


# --- what was interrupted ---------------------------------------------------------------------------------------------


def test_an_erasure_that_was_kept_from_finishing_is_finished_when_asked_again(failing: tuple[Runtime, Disk]) -> None:
    """The words are gone with the transaction; the old key goes when the disk lets it."""
    runtime, disk = failing
    runtime.transcripts.commit(plain_turn(1))
    disk.broken["xWrite", "log.db"] = apsw.IOError
    with pytest.raises(StoreFault):
        runtime.lifecycle.request(key_of(), Transition.ERASE, "why", "who")
    disk.broken.clear()
    assert runtime.system.health().key_versions == 2
    again = runtime.lifecycle.request(key_of(), Transition.ERASE, "why", "who")
    assert (again.changed, again.affected_turns) == (False, 0)
    assert runtime.system.health().key_versions == 1
    assert runtime.transcripts.replay(key_of()).turns[0].phase == "erased"


def test_a_rotation_that_was_interrupted_is_completed_by_recovery(failing: tuple[Runtime, Disk]) -> None:
    runtime, disk = failing
    runtime.transcripts.commit(plain_turn(1))
    disk.broken["xWrite", "log.db"] = apsw.IOError
    with pytest.raises(StoreFault):
        runtime.spaces.rotate()
    disk.broken.clear()
    report = runtime.system.recover()
    assert (report.sound, report.rotation_completed) == (True, True)
    assert runtime.system.health().key_versions == 1
    assert not runtime.system.recover().rotation_completed


# --- what others did meanwhile ----------------------------------------------------------------------------------------


def test_a_request_that_somebody_else_fulfilled_meanwhile_changes_nothing(world: World) -> None:
    """The plan decides inside the transaction (decision 0005): what was decided before is only a proposal."""
    world.with_turns(1)
    for transition in (Transition.MASK, Transition.ERASE):
        session = world.runtime._session
        request = LifecycleRequest(reason="why", requester="who", requested_ms=1)
        scope = Scope(conversation=TALK)
        target = target_of(session.space, scope, no_progress)
        if transition is Transition.MASK:
            report = review_transition(session, scope, transition, request)
        else:
            report = review_erasure(session, scope, target, request)
        assert report.affected_turns == 1
        world.request(transition)
        if transition is Transition.MASK:
            late = change_phases(session.space, scope, request, report)
        else:
            late = complete_erasure(session.space, target, request, report)
        assert (late.changed, late.position, late.receipt) == (False, None, None)


def test_a_store_is_closed_even_when_its_head_can_not_be_pinned(failing: tuple[Runtime, Disk], tmp_path: Path) -> None:
    """The fault is told, and nothing stays open: no connection, no file. A fault of the log itself would close it."""
    runtime, _ = failing
    runtime.transcripts.commit(plain_turn(1))
    shutil.rmtree(tmp_path / PINS)
    (tmp_path / PINS).touch()
    assert log_files(tmp_path)
    with pytest.raises(MunimentError):
        runtime.close()
    assert not log_files(tmp_path)


def log_files(under: Path) -> list[str]:
    """Return the files of logs that this process holds open."""
    return [path for path in open_files(under) if "log.db" in path]


def open_files(under: Path) -> list[str]:
    """Return the names of the files in a directory that this process holds open."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("this system does not say which files are open")
    names = [str(one.readlink()) for one in descriptors.iterdir() if one.is_symlink()]
    return [name for name in names if name.startswith(str(under))]


@pytest.mark.parametrize("has_page", [False, True])
def test_a_space_whose_making_was_cut_short_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_page: bool
) -> None:
    """Keys and a log without tables, before anything was durable: the power went while the space was made."""

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Space, "begin", cut)
        with pytest.raises(KeyboardInterrupt):
            sqlite_world(tmp_path)
    [space] = (tmp_path / STORE).glob("spaces/*")
    for path in space.glob("log.db*"):
        path.unlink()
    (space / "log.db").touch()
    if has_page:
        with closing(sqlite3.connect(space / "log.db")) as raw:
            raw.execute("PRAGMA journal_mode = WAL")
    lasting = sqlite_world(tmp_path).with_turns(1)
    assert lasting.runtime.system.health().sound
    lasting.close()


def test_an_erasure_on_a_full_disk_replaces_the_keys_in_parts(
    failing: tuple[Runtime, Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt finds the disk full; with the reserve it is done, one segment at a time."""
    runtime, disk = failing
    for number in range(1, 6):
        runtime.transcripts.commit(plain_turn(number))
    disk.broken["xWrite", "-wal"] = apsw.FullError
    release = SqliteStore.release_reserve

    def released(store: SqliteStore) -> bool:
        disk.broken.clear()
        return release(store)

    monkeypatch.setattr(SqliteStore, "release_reserve", released)
    done = runtime.lifecycle.erase(Scope(conversation=key_of().conversation, turn=plain_turn(2).turn), "why", "who")
    assert done.changed
    assert done.receipt is not None
    assert done.receipt.turns_erased == 1
    assert runtime.system.health().key_versions == 1
    phases = [turn.phase for turn in runtime.transcripts.replay(key_of()).turns]
    assert phases == ["active", "erased", "active", "active", "active"]
    disk.broken["xWrite", "-wal"] = apsw.FullError
    with pytest.raises(StoreFull):  # a rotation that erases nothing has no claim on the room
        runtime.spaces.rotate()
