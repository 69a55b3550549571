"""A log that was there and is gone or empty is an error; a space whose making was cut short is completed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from muniment.errors import Corrupt, RestoreConflict, RolledBack
from muniment.evidence.pin import FilePin
from muniment.evidence.tree import Frontier
from muniment.log.connection import OpenMode
from muniment.log.sqlite import SqliteStore
from muniment.runtime.runtime import Runtime
from muniment.space.space import Space
from tests.turns import plain_turn
from tests.worlds import FileWorld, key_of, root_key


def opened(home: Path, pins: str = "pins") -> Runtime:
    options = muniment.Options(pin=FilePin(str(home / pins)))
    return muniment.open(home / "store", keys=root_key(), options=options)


def emptied(log: Path) -> None:
    log.write_bytes(b"")


def never_written(log: Path) -> None:
    """Leave a log of the right form without a single event."""
    log.unlink()
    SqliteStore(log, mode=OpenMode.CREATE).close()


LOSSES: list[Callable[[Path], None]] = [Path.unlink, emptied, never_written]


def log_of(home: Path) -> Path:
    [log] = (home / "store").glob("spaces/*/log.db")
    return log


@pytest.mark.parametrize("pins", ["pins", "other-pins"])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_lost_log_is_an_error_and_no_new_log(lose: Callable[[Path], None], pins: str, tmp_path: Path) -> None:
    """With its pin and without it: nothing is committed to a log that forgot everything, and nothing is made."""
    with opened(tmp_path) as runtime:
        runtime.transcripts.commit(plain_turn(1))
    log = log_of(tmp_path)
    lose(log)
    left = log.read_bytes() if log.exists() else None
    with pytest.raises((Corrupt, RolledBack)), opened(tmp_path, pins) as runtime:
        runtime.transcripts.commit(plain_turn(2))
    if lose is not never_written:
        assert (log.read_bytes() if log.exists() else None) == left


def test_a_log_that_lost_all_events_is_open_for_inspection_only(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        runtime.transcripts.commit(plain_turn(1))
    never_written(log_of(tmp_path))
    with opened(tmp_path, "other-pins") as runtime:
        health = runtime.system.health()
    assert (health.sound, health.fault) == (False, "store.corrupt")


@pytest.mark.parametrize("lose", LOSSES)
def test_a_space_whose_making_was_cut_short_is_completed(
    lose: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first event was durable there is nothing to lose."""

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Space, "begin", cut)
        with pytest.raises(KeyboardInterrupt):
            opened(tmp_path)
    lose(log_of(tmp_path))
    with opened(tmp_path) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        assert len(runtime.transcripts.replay(key_of()).turns) == 1


def test_a_space_of_before_is_marked_when_it_is_opened(tmp_path: Path) -> None:
    """Rotating its key and its root key keeps the mark."""
    opened(tmp_path).close()
    with opened(tmp_path) as runtime:
        runtime.spaces.rotate()
        runtime.spaces.rotate(root=f"file:{tmp_path / 'new.key'}")
    assert b'"begun":true' in log_of(tmp_path).with_name("keys.json").read_bytes()
    log_of(tmp_path).unlink()
    options = muniment.Options(pin=FilePin(tmp_path / "others"))
    with pytest.raises(Corrupt):
        muniment.open(tmp_path / "store", keys=tmp_path / "new.key", options=options)


def test_a_lost_log_is_restored_from_a_backup_when_that_is_confirmed(tmp_path: Path) -> None:
    """The keys that are left are no reason to refuse; without a confirmation nothing changes."""
    with opened(tmp_path) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        runtime.spaces.backup(str(tmp_path / "backup"))
    log_of(tmp_path).unlink()
    options = muniment.Options(pin=FilePin(tmp_path / "pins"))
    with muniment.open_store(tmp_path / "store", keys=root_key(), options=options) as store:
        assert store.spaces.restore(str(tmp_path / "backup"), dry_run=True).replaced
        with pytest.raises(RestoreConflict):
            store.spaces.restore(str(tmp_path / "backup"))
        assert store.spaces.restore(str(tmp_path / "backup"), replace=True).restored
    with opened(tmp_path) as runtime:
        assert len(runtime.transcripts.replay(key_of()).turns) == 1
    assert not list((tmp_path / "store").rglob("*.lost"))


def test_a_log_that_was_taken_away_does_not_begin_anew(lasting: FileWorld) -> None:
    """Keys and a pin without a log are no new space: somebody took the log, or it must be restored."""
    lasting.with_turns(1).close()
    for path in lasting.database.parent.glob("log.db*"):
        path.unlink()
    with pytest.raises(Corrupt):
        lasting.reopened()
    assert not list(lasting.store.glob("spaces/*/log.db"))


def test_a_log_that_was_emptied_does_not_begin_anew(lasting: FileWorld) -> None:
    """An empty database beside a pin is a rollback to nothing."""
    lasting.with_turns(1)
    with lasting.edited() as raw:
        for table in ("envelopes", "nodes", "names", "checkpoints", "streams", "meta", "events"):
            raw.execute(f"DELETE FROM {table}")  # noqa: S608 - words of this file
        raw.execute("UPDATE frontier SET range = ?, seal = x''", (Frontier().to_bytes(),))
    health = lasting.runtime.system.health()
    assert (health.fault, health.events) == ("store.rolled_back", 0)
    with pytest.raises(RolledBack):
        lasting.with_turns(1)
