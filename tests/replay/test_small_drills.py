"""Every drill in a size that the suite can afford; and the parts of drills that could be blind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from replay.drills.all import NEEDS
from replay.drills.everything import CONVERSATIONS, Answers, Verdict, answers_of, verdict
from replay.drills.exhibits import Exhibit
from replay.drills.flips import Judge, flip_at
from replay.drills.history import Append, Call, Read, faults
from replay.drills.table import DRILLS
from tests.shared import need_shared

pytestmark = pytest.mark.slow

SMALL = {
    "race": 4,
    "bitflip": 15,
    "edits": 38,
    "wrongkey": 260,
    "erase": 6,
    "steps": 4,
    "isolation": 1,
    "hostile": 600,
    "clock": 1,
    "interrupt": 120,
}
ELSEWHERE = {"powercut", "iofault", "diskfull", "kill9", "canary", "writers", "governed", "search"}
IN_THE_GATE = {
    "host_kill9",
    "served_abuse",
    "served_kill9",
}  # start servers in processes of their own, which takes a minute
TOO_SHORT_TO_TELL = {"soak"}  # memory of a small run is all warming up


@pytest.mark.parametrize("name", SMALL)
def test_a_drill_finds_nothing_and_its_control_does(name: str) -> None:
    if name in NEEDS:
        need_shared(f"corpora/{NEEDS[name].name}")
    outcome = DRILLS[name].run(SMALL[name], 7)
    assert outcome.passed, outcome.line()


def test_every_drill_is_run_small_or_said_to_be_run_elsewhere() -> None:
    assert set(DRILLS) == set(SMALL) | ELSEWHERE | IN_THE_GATE | TOO_SHORT_TO_TELL


# --- histories --------------------------------------------------------------------------------------------------------


def appended(began: int, ended: int, item: str, place: int) -> Append:
    """Return an append."""
    return Append(began=began, ended=ended, item=item, place=place)


def seen(began: int, ended: int, length: int, last: str) -> Read:
    """Return a read."""
    return Read(began=began, ended=ended, length=length, last=last)


A, B = appended(0, 10, "a", 1), appended(5, 20, "b", 2)

EXPLAINED: dict[str, list[Call]] = {
    "nothing": [],
    "one after the other": [A, B],
    "the later place to the caller that began earlier": [appended(0, 10, "b", 2), appended(5, 20, "a", 1)],
    "a read of what is not yet answered": [A, B, seen(6, 8, 2, "b")],
    "a read of nothing while the first is on its way": [A, seen(1, 9, 0, "")],
    "a repeat": [A, appended(30, 31, "a", 1), B],
    "a repeat that overtakes": [appended(0, 100, "a", 1), appended(1, 2, "a", 1), seen(3, 4, 1, "a")],
}
NOT_EXPLAINED: dict[str, list[Call]] = {
    "two places": [A, appended(30, 31, "a", 2)],
    "two items": [A, appended(30, 31, "b", 1)],
    "a hole": [A, appended(30, 31, "c", 3)],
    "an earlier place for who came later": [appended(0, 1, "b", 2), appended(5, 6, "a", 1)],
    "a stale read": [A, B, seen(30, 31, 1, "a")],
    "a read from the future": [A, seen(1, 4, 2, "b"), appended(5, 20, "b", 2)],
    "reads that go backwards": [A, appended(5, 50, "b", 2), seen(21, 22, 2, "b"), seen(23, 24, 1, "a")],
    "a read of something else": [A, seen(30, 31, 1, "b")],
    "a repeat before its first": [appended(0, 1, "b", 1), appended(2, 9, "a", 2), seen(1, 1, 2, "a")],
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_a_history_that_one_caller_could_have_made_is_explained(name: str) -> None:
    assert not faults(EXPLAINED[name])


@pytest.mark.parametrize("name", NOT_EXPLAINED)
def test_a_history_that_no_single_caller_could_have_made_is_refused(name: str) -> None:
    assert faults(NOT_EXPLAINED[name])


def test_every_history_of_a_list_under_a_lock_is_explained() -> None:
    """Calls with a moment of their own, and any time around it, can always be explained."""
    chance = random.Random(7)
    for _ in range(200):
        calls: list[Call] = []
        items: list[str] = []
        for moment in range(0, 200, 10):
            began, ended = moment - chance.randrange(60), moment + chance.randrange(60)
            if chance.random() < 0.5:
                items.append(f"item {moment}")
                calls.append(appended(began, ended, items[-1], len(items)))
            else:
                calls.append(seen(began, ended, len(items), items[-1] if items else ""))
        assert not faults(calls)


# --- what counts as found ---------------------------------------------------------------------------------------------


def test_what_a_change_came_to_is_told_by_the_answers() -> None:
    before = Answers(b"shown", b"said", 7)
    assert verdict(before, "refused somehow") is Verdict.REFUSED
    assert verdict(before, before) is Verdict.HARMLESS
    assert verdict(before, before._replace(said=b"more", events=8)) is Verdict.HEALED
    assert verdict(before, before._replace(said=b"else")) is Verdict.SILENT
    assert verdict(before, before._replace(shown=b"else", events=8)) is Verdict.SILENT


def test_bits_are_judged_together_as_they_are_one_by_one(tmp_path: Path) -> None:
    """Side by side and put off, far apart, and each by itself: as many are refused, and as many harmless."""
    exhibit, chance = Exhibit(tmp_path, 6, ("default",)), random.Random(7)
    judges = [Judge(exhibit.newer, CONVERSATIONS) for _ in range(3)]
    together, apart, alone = judges
    [log] = [path for path in alone.sizes if path.name == "log.db"]
    for start in chance.sample(range(0, alone.sizes[log], 8), 5):
        flips = [flip_at(log, at, chance) for at in range(start, start + 8)]
        together.near(flips)
        apart.apart(flips[:1])
        alone.each(flips)
    together.finish()
    assert together.counts == alone.counts
    assert together.counts.total() == 40
    assert apart.counts.total() == 5
    assert not [flip for judge in judges for flip in judge.silent]


def test_reading_everything_tells_a_store_from_its_older_state(tmp_path: Path) -> None:
    exhibit = Exhibit(tmp_path, 6, ("default",))
    older = answers_of(exhibit.older, ("default",))
    assert verdict(exhibit.answers, older) is Verdict.SILENT
    assert answers_of(exhibit.newer, ("default",)) == exhibit.answers
