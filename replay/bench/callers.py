"""Callers at once: what group commit gains, on this disk and on slower ones, and for turns of other sizes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from muniment.events.turn import Turn
from replay.bench.contestants import Muniment
from replay.bench.figures import Amount, Figure, Mark, at_least, ranged
from replay.bench.scene import Measured, Measuring, Scene
from replay.disk import WatchedDisk, watched
from replay.measure import Rounds, Work, timed_in_turns
from replay.words import MESSAGE_CHARACTERS

CALLERS = (1, 4, 16)
GAIN_MIN = 6.0
GAIN_SYNC_MS = 2  # of the disk that this holds for
SLOW_SYNCS_MS = (2, 10)
CHARACTERS = (100, MESSAGE_CHARACTERS, 4_000, 32_000)  # of each message: turns of 0.2, 0.8, 8 and 64 KB
DISK, SLOW_DISK = "this disk", "every flush {} ms slower (simulated)"


class Plan(NamedTuple):
    """How many turns of which size a round commits, and how many rounds there are."""

    turns: int
    rounds: int
    characters: int = MESSAGE_CHARACTERS


def callers(scene: Scene) -> Measuring:
    """Commit with 1, 4 and 16 callers on the real disk; the round of each number takes its turn."""
    plan = Plan(96, 2) if scene.quick else Plan(960, 5)
    ours = Muniment(scene.fresh("callers"))
    done = timed_in_turns({str(number): _work(scene, ours, number, plan) for number in CALLERS}, plan.rounds)
    ours.close()
    waits_ms = max(done["1"].wall.median - done["1"].cpu.median, 0.0)
    yield Measured(
        _gain(
            done,
            DISK,
            f"one caller waits {waits_ms:.2f} ms for the disk; the rest is CPU time under the interpreter lock, "
            "which callers cannot share",
        )
    )
    for number, each in done.items():
        yield Measured(_rate(number, each, DISK, ""))
    for sync_ms in SLOW_SYNCS_MS:
        yield from _slow(scene, sync_ms)


def _slow(scene: Scene, sync_ms: int) -> Measuring:
    """Commit on a disk whose flush takes so long; the group commit itself shows."""
    plan = Plan(32, 1) if scene.quick else Plan(320, 3)
    with watched(sync_s=sync_ms / 1000) as disk:
        ours = Muniment(scene.fresh(f"callers-{sync_ms}"))
        flushed: dict[str, int] = dict.fromkeys(map(str, CALLERS), 0)
        works = {str(n): _counted(_work(scene, ours, n, plan), disk, flushed, str(n)) for n in CALLERS}
        done = timed_in_turns(works, plan.rounds)
        ours.close()
    target = GAIN_MIN if sync_ms == GAIN_SYNC_MS else None
    yield Measured(_gain(done, SLOW_DISK.format(sync_ms), "shows group commit alone", target))
    for number, each in done.items():
        flushes = flushed[number] / plan.turns / (plan.rounds + 1)
        yield Measured(_rate(number, each, SLOW_DISK.format(sync_ms), f"{flushes:.2f} flushes a turn"))


def sizes(scene: Scene) -> Measuring:
    """Commit smaller and larger turns."""
    ours = Muniment(scene.fresh("sizes"))
    for characters in CHARACTERS:
        plan = Plan(16, 1, characters) if scene.quick else Plan(160, 3, characters)
        works = {str(number): _work(scene, ours, number, plan) for number in CALLERS}
        for number, each in timed_in_turns(works, plan.rounds).items():
            yield Measured(
                Figure(
                    subject="append",
                    what=f"append, turns of {2 * characters / 1000:g} KB (2 x {characters:,} characters), "
                    f"{_named(number)}: CPU",
                    measured=ranged(each.cpu, "ms"),
                    note=f"{_turns_per_second(each).told()}; wall of a turn {each.wall.told('ms')}",
                )
            )
    ours.close()


def _gain(done: dict[str, Rounds], disk: str, why: str, target: float | None = None) -> Figure:
    gain = done["1"].wall.median / done["16"].wall.median
    return Figure(
        subject="callers",
        what=f"16 callers compared with 1, {disk}: turns per second",
        target=None if target is None else f">= {target:.0f} x",
        measured=Amount(median=gain, unit="x", digits=2),
        met=None if target is None else at_least(gain, target),
        note=why,
    )


def _rate(number: str, each: Rounds, disk: str, note: str) -> Figure:
    return Figure(
        subject="callers",
        what=f"{_named(number)}, {disk}",
        measured=_turns_per_second(each),
        note=f"CPU of a turn {each.cpu.told('ms')}" + (f"; {note}" if note else ""),
        mark=Mark(chart="callers", bar=_named(number), group=disk),
    )


def _turns_per_second(each: Rounds) -> Amount:
    wall = each.wall
    return Amount(median=1000 / wall.median, low=1000 / wall.high, high=1000 / wall.low, unit="turns/s", digits=0)


def _named(number: str) -> str:
    return "1 caller" if number == "1" else f"{number} callers"


def _work(scene: Scene, ours: Muniment, number: int, plan: Plan) -> Work:
    """Return the work of so many callers, each in a conversation of its own; every round's turns are made before."""
    share = plan.turns // number
    prepared = [
        [
            [
                scene.words.turn(
                    f"{number} callers, {caller}", f"{plan.characters}-{place}-{turn}", characters=plan.characters
                )
                for turn in range(share)
            ]
            for caller in range(number)
        ]
        for place in range(plan.rounds + 1)
    ]

    def work() -> int:
        shares = prepared.pop()
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(partial(_commit, ours), shares))
        return number * share

    return work


def _commit(ours: Muniment, turns: list[Turn]) -> None:
    for turn in turns:
        ours.append(turn)


def _counted(work: Work, disk: WatchedDisk, flushed: dict[str, int], name: str) -> Work:
    def counted() -> int:
        before = disk.wal_syncs
        pieces = work()
        flushed[name] += disk.wal_syncs - before
        return pieces

    return counted
