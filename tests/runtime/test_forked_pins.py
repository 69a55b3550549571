"""The pin and the log, when they part: a fork is told, and the pin never knows more than the disk."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import muniment
from muniment.crypto.store import open_keys
from muniment.declaration.session import Session
from muniment.errors import Corrupt, StoreFault
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access
from muniment.kernel.sources import seeded_sources
from muniment.ledger import ledger
from muniment.log.connection import OpenMode
from muniment.log.sqlite import SqliteStore
from muniment.runtime.runtime import Runtime
from muniment.space.open_store import OpenStore
from muniment.space.options import Options
from tests.log.worlds import Disk
from tests.turns import plain_turn
from tests.worlds import PINS, STORE, root_key, sqlite_world


def test_a_fork_of_the_log_is_told_by_whoever_pins_second(tmp_path: Path) -> None:
    """Two copies of one log grow apart to the same size: the pin knows one of them, and the other says so."""
    world = sqlite_world(tmp_path).with_turns(1)
    world.close()
    shutil.copytree(tmp_path / STORE, tmp_path / "fork")
    options = Options(sources=seeded_sources("another"), pin=FilePin(tmp_path / PINS))
    world = sqlite_world(tmp_path)
    with muniment.open(tmp_path / "fork", keys=root_key(), options=options) as fork:
        fork.transcripts.commit(plain_turn(2))
        fork.evidence.checkpoint()
        world.with_turns(1)
        with pytest.raises(Corrupt) as refused:
            world.runtime.evidence.checkpoint()
        assert (refused.value.at, refused.value.problem) == ("checkpoint", "inconsistent")


def _store_on(disk: Disk, path: Path, is_new: bool) -> SqliteStore:
    return SqliteStore(path, mode=OpenMode.CREATE if is_new else OpenMode.WRITE, vfs=disk.name)


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[tuple[Runtime, Disk]]:
    """Return a store on a disk that breaks when told to."""
    disk = Disk(f"pinned-{tmp_path.name}")
    directory = tmp_path / STORE
    options = Options(sources=seeded_sources("failing"), pin=FilePin(tmp_path / PINS))
    keys = open_keys(directory, root_key(), options.sources, create=True)
    home = OpenStore(directory, keys, functools.partial(_store_on, disk), options)
    runtime = Runtime(Session(store=home, opened=home.space("default", create=True), access=Access()))
    yield runtime, disk
    disk.broken.clear()
    runtime.close()
    disk.unregister()


def test_a_pin_never_knows_what_was_not_durable(
    failing: tuple[Runtime, Disk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that signs the head is not flushed: its checkpoint is not pinned, so the log is not behind its pin."""
    runtime, disk = failing
    monkeypatch.setattr(ledger, "CHECKPOINT_EVENTS", 1)
    runtime.transcripts.commit(plain_turn(1))
    [pin] = (tmp_path / PINS).glob("*.checkpoint")
    before = pin.read_bytes()
    disk.broken["xSync", "-wal"] = apsw.IOError
    with pytest.raises(StoreFault):
        runtime.transcripts.commit(plain_turn(2))
    assert pin.read_bytes() == before
