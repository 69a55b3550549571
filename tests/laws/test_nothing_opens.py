"""What was erased stays erased: no key that is left opens what it was sealed as, and what comes back is destroyed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from muniment.crypto.cell import LEAF_BYTES
from muniment.events.identity import TurnId
from muniment.operations.lifecycle.scope import Scope
from tests.laws.every_key import Keys, derived_by, opened_by, sealed_values
from tests.turns import answer, question
from tests.worlds import FileWorld, key_of, sqlite_world

ERASED = question(2).encode()
KEPT = answer(2).encode()


def _world_with_an_erased_message(tmp_path: Path) -> tuple[FileWorld, dict[bytes, str]]:
    """Erase a message of a turn; return the world, and what its log had before."""
    world = sqlite_world(tmp_path).with_turns(2)
    world.close()
    before = sealed_values(world.store)
    world = sqlite_world(tmp_path)
    scope = Scope(conversation=key_of().conversation, message="turn-2#0")
    assert world.runtime.lifecycle.erase(scope, "why", "who").changed
    world.close()
    return world, before


@pytest.mark.slow
def test_no_key_that_is_left_opens_what_an_erased_message_was_sealed_as(tmp_path: Path) -> None:
    """Every value that the log ever held, every key that the store still has: the words are in none of them.

    The control is what was not erased: with the same keys it opens.
    """
    world, before = _world_with_an_erased_message(tmp_path)
    keys = Keys()
    with keys.heard():
        world = sqlite_world(tmp_path)
        world.replay()
        world.runtime.evidence.inspect()
        world.runtime.evidence.audit()
        world.close()
    left, known = sealed_values(world.store), keys.all()
    assert opened_by(left, known, KEPT)
    assert not opened_by(left, known, ERASED)
    gone = {value: where for value, where in before.items() if value not in left}
    assert not opened_by(gone, known, ERASED)
    secrets, leaves = keys.secrets(left), {value for value in before if len(value) == LEAF_BYTES}
    assert derived_by(left, secrets, leaves, KEPT)
    assert not derived_by(left, secrets, leaves, ERASED)
    assert not derived_by(gone, secrets, leaves, ERASED)


def test_whatever_comes_back_of_what_was_erased_is_destroyed_by_the_next_opening(tmp_path: Path) -> None:
    """Every row that an older copy of the log has and this one lacks is put back; none is there after one opening."""
    world = sqlite_world(tmp_path).with_turns(4)
    world.close()
    [log] = world.store.rglob("log.db")
    older = Path(shutil.copy2(log, tmp_path / "older.db"))
    before = sealed_values(world.store)
    world = sqlite_world(tmp_path)
    for turn in ("turn-1", "turn-3", "turn-4"):
        scope = Scope(conversation=key_of().conversation, turn=TurnId(turn))
        assert world.runtime.lifecycle.erase(scope, "why", "who").changed
    world.close()
    gone = before.keys() - sealed_values(world.store).keys()
    assert _put_back(log, older) >= 3
    assert gone & sealed_values(world.store).keys()
    sqlite_world(tmp_path).close()
    assert not gone & sealed_values(world.store).keys()


def _put_back(log: Path, older: Path) -> int:
    """Put back every row and every content of an older log that is missing in another one; return how many."""
    with closing(sqlite3.connect(log)) as raw:
        raw.execute("ATTACH ? AS older", (str(older),))
        tables = [name for (name,) in raw.execute("SELECT name FROM older.sqlite_master WHERE type = 'table'")]
        for table in tables:
            raw.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM older.{table}")  # noqa: S608 - its name
        raw.execute(
            "UPDATE main.events SET content = was.content FROM older.events AS was"
            " WHERE was.position = events.position AND events.content IS NULL AND was.content IS NOT NULL"
        )
        raw.commit()
        return raw.total_changes
