"""An older copy of a store is noticed although nobody closed it: whatever protects or takes away is pinned at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import muniment
from muniment.errors import Corrupt, RolledBack
from muniment.events.approving import GuardedAct
from muniment.events.changes import Action
from muniment.events.records import EventKind
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.kernel.sources import FixedClock, seeded_sources
from muniment.ledger.pin_times import PIN_INTERVAL_S, SECOND_MS, PinTimes
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import plain_turn
from tests.worlds import OPERATOR, PINS, STORE, FileWorld, key_of, root_key, sqlite_world

START_MS = 1_800_000_000_000
WHOLE_TALK = Scope(conversation=key_of().conversation)


def released(world: FileWorld) -> None:
    """Release the hold of the third turn."""
    held = world.runtime.lifecycle.review(Action.HOLD, WHOLE_TALK)
    world.runtime.lifecycle.release(held.holds[0].position, "settled", OPERATOR)


ACTS: dict[str, Callable[[FileWorld], object]] = {
    "mask": lambda world: world.masked(1),
    "redaction": lambda world: world.redact(Passage(turn=plain_turn(2).turn, message=0), View.EXPORT),
    "hold": lambda world: world.runtime.lifecycle.hold(WHOLE_TALK, "another dispute", OPERATOR),
    "release": released,
    "erasure": lambda world: world.erased(1, "other"),
    "policy": lambda world: world.runtime.lifecycle.retain("law", OPERATOR, erase_after_ms=1000),
    "second person": lambda world: world.runtime.approvals.require([GuardedAct.ERASE], "law", OPERATOR),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_store_that_is_put_back_to_before_an_act_is_found(act: str, tmp_path: Path) -> None:
    """Nobody closes the store after the act, so that only the act itself can have been pinned."""
    world = sqlite_world(tmp_path).with_turns(3).with_turns(1, "other")
    world.runtime.lifecycle.hold(WHOLE_TALK, "a dispute", OPERATOR)
    older = world.copy("older")
    ACTS[act](world)
    shutil.copytree(tmp_path / PINS, tmp_path / "pins-then")
    world.close()
    shutil.rmtree(tmp_path / PINS)
    (tmp_path / "pins-then").rename(tmp_path / PINS)
    world.put_back(older)
    with pytest.raises(RolledBack):
        world.replay()
    health = world.runtime.system.health()
    assert (health.sound, health.fault) == (False, "store.rolled_back")
    world.close()


def ticking(home: Path, *, interval_s: int = PIN_INTERVAL_S, step_ms: int) -> Runtime:
    """Open a store whose clock moves on with every reading."""
    sources = replace(seeded_sources("ticking"), clock=FixedClock(START_MS, step_ms=step_ms))
    options = Options(sources=sources, pin=FilePin(home / PINS), pin_interval_s=interval_s)
    return muniment.open(home / STORE, keys=root_key(), options=options)


def test_a_log_that_grows_is_pinned_now_and_then(tmp_path: Path) -> None:
    """Turns alone are pinned when the interval has passed; the pin is behind by less than that."""
    with ticking(tmp_path, interval_s=3600, step_ms=600 * SECOND_MS) as runtime:
        pinned = set()
        for number in range(1, 25):
            runtime.transcripts.commit(plain_turn(number))
            health = runtime.system.health()
            pinned.add(health.pinned_size)
            assert health.pinned_size is not None
            assert health.events - health.pinned_size <= 6 + 1
        assert len(pinned) >= 4


def test_turns_within_the_interval_are_not_pinned_one_by_one(tmp_path: Path) -> None:
    with ticking(tmp_path, step_ms=1) as runtime:
        before = runtime.system.health().pinned_size
        for number in range(1, 5):
            runtime.transcripts.commit(plain_turn(number))
        assert runtime.system.health().pinned_size == before
        assert runtime.evidence.checkpoint().size == runtime.system.health().pinned_size


def test_a_clock_that_jumps_back_does_not_put_the_pin_off() -> None:
    times = PinTimes(10)
    turn = [EventKind.TURN_COMMITTED]
    assert [times.is_due(turn, now_ms) for now_ms in (50_000, 59_999, 60_000, 69_999, 1_000, 10_999, 11_000)] == [
        False,
        False,
        True,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("extra", [0, 1])
def test_a_fork_that_is_shorter_or_longer_than_the_pin_is_told(extra: int, tmp_path: Path) -> None:
    """Two copies of one log grow apart; the second one to pin says so, whatever its size."""
    world = sqlite_world(tmp_path).with_turns(1)
    world.close()
    shutil.copytree(tmp_path / STORE, tmp_path / "fork")
    options = Options(sources=seeded_sources("another"), pin=FilePin(tmp_path / PINS))
    world = sqlite_world(tmp_path)
    with muniment.open(tmp_path / "fork", keys=root_key(), options=options) as fork:
        for number in (2, 3):
            fork.transcripts.commit(plain_turn(number))
        fork.evidence.checkpoint()
        world.with_turns(1 + 2 * extra)
        with pytest.raises((Corrupt, RolledBack)) as refused:
            world.runtime.evidence.checkpoint()
        assert refused.value.at == "checkpoint"
        with pytest.raises((Corrupt, RolledBack)):
            world.masked(1)
    world.close()
