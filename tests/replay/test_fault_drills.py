"""Small drills of disks that fail; the large ones run by name (`python -m replay drill`)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from muniment.errors import StoreFault
from replay.drills.diskfull import diskfull
from replay.drills.iofault import iofault
from replay.drills.outcome import Outcome
from replay.drills.platter import Platter
from replay.drills.powercut import powercut
from replay.drills.tape import Did, Step, taped
from replay.stores import opened
from replay.words import Words

pytestmark = pytest.mark.slow


def check(outcome: Outcome) -> None:
    """Hold a drill to have passed."""
    assert outcome.passed, outcome.line()


def test_no_answer_is_lost_when_the_power_is_cut() -> None:
    """Three hundred cuts at any step of a store's life and of its recovery: what was answered is there, and sound."""
    check(powercut(300, 7))


def test_no_answer_is_lost_when_the_disk_fails() -> None:
    """Forty calls of all kinds fail, once or permanently: errors of ours, nothing lost, nothing half there."""
    check(iofault(40, 7))


def test_what_is_asked_for_is_erased_on_a_full_disk() -> None:
    """A turn, a message and a conversation, each in the reserve; without it the control is refused."""
    check(diskfull(1, 7))


def test_what_a_failed_flush_let_go_of_is_written_again_before_the_database_is_touched(tmp_path: Path) -> None:
    """All of the write-ahead log, and flushed: else a cut leaves half of it in the database and nothing to mend it."""
    words = Words(small=True)
    with taped(tmp_path) as tape, opened(tmp_path) as runtime:
        runtime.transcripts.commit(words.turn("one", 1))
        began, tape.fail_sync = len(tape.steps), 1
        with pytest.raises(StoreFault):
            runtime.transcripts.commit(words.turn("one", 2))
        runtime.transcripts.commit(words.turn("one", 3))
        log = {name.removeprefix(f"{Path(name).parent}/"): number for name, number in tape.inodes.items()}
        steps = [step for step in tape.steps[began:] if step.inode]
    lost = next(number for number, step in enumerate(steps) if step.did is Did.LOSE)
    behind = steps[lost + 1 :]
    taken = next(number for number, step in enumerate(behind) if step.inode == log["log.db"])
    again, flushed = behind[0], behind[1]
    assert (again.did, again.inode, again.offset) == (Did.WRITE, log["log.db-wal"], 0)
    assert len(again.data) >= max(step.offset + len(step.data) for step in steps[:lost])
    assert (flushed.did, flushed.inode) == (Did.SYNC, log["log.db-wal"])
    assert taken > 1


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
