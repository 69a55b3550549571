"""Small drills of disks that fail; the large ones run by name (`python -m replay drill`)."""

from __future__ import annotations

import random

import pytest

from replay.drills.diskfull import diskfull
from replay.drills.iofault import iofault
from replay.drills.outcome import Outcome
from replay.drills.platter import Platter
from replay.drills.powercut import powercut
from replay.drills.tape import Did, Step


def check(outcome: Outcome) -> None:
    """Hold a drill to have passed."""
    assert outcome.passed, outcome.line()


def test_no_answer_is_lost_when_the_power_is_cut() -> None:
    """Three hundred cuts at any step of a store's life and of its recovery: what was answered is there, and sound."""
    check(powercut(300, 7))


def test_no_answer_is_lost_when_the_disk_fails() -> None:
    """Forty calls of all kinds fail, once or for ever: errors of ours, nothing lost, nothing half there."""
    check(iofault(40, 7))


def test_what_is_asked_for_is_erased_on_a_full_disk() -> None:
    """A turn, a message and a conversation, each in the room that was kept back; without it the control is refused."""
    check(diskfull(1, 7))


@pytest.mark.parametrize("seed", range(20))
def test_a_platter_keeps_what_was_flushed_and_anything_of_the_rest(seed: int) -> None:
    """A flushed page survives every cut; of one that was not, sectors are there or not; a name needs its directory."""
    chance = random.Random(seed)
    platter = Platter({"log.db": b""}, {})
    for step in (
        Step(Did.WRITE, 1, 0, b"a" * 1024),
        Step(Did.SYNC, 1),
        Step(Did.WRITE, 1, 0, b"b" * 1024),
        Step(Did.CREATE, 2, name="log.db-wal"),
        Step(Did.WRITE, 2, 0, b"c"),
    ):
        platter.play(step, chance)
    left = platter.cut(chance)
    assert {left["log.db"][:512], left["log.db"][512:]} <= {b"a" * 512, b"b" * 512}
    assert left.get("log.db-wal", b"") in {b"", b"c"}
    platter.play(Step(Did.SYNC, 2), chance)
    assert platter.cut(chance)["log.db-wal"] == b"c"
    platter.play(Step(Did.DELETE, name="log.db-wal"), chance)
    platter.play(Step(Did.SETTLE), chance)
    platter.play(Step(Did.LOSE, 1), chance)
    platter.play(Step(Did.SYNC, 1), chance)
    assert set(platter.cut(chance)) == {"log.db"}
