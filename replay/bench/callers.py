"""Callers at once: what group commit gains, on this disk and on disks that flush as slowly as most do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from muniment.events.turn import Turn
from replay.bench.contestants import Muniment
from replay.bench.figures import Figure, at_least
from replay.bench.scene import Measured, Measuring, Scene
from replay.disk import WatchedDisk, watched
from replay.measure import Rounds, Work, in_turns

CALLERS = (1, 4, 16)
GAIN_MIN = 5.0
SLOW_SYNCS_MS = (2, 10)


def callers(scene: Scene) -> Measuring:
    """Commit with 1, 4 and 16 callers on the real disk; the round of each number takes its turn."""
    count, rounds = (96, 2) if scene.quick else (960, 5)
    ours = Muniment(scene.fresh("callers"))
    done = in_turns({str(number): _work(scene, ours, number, (count, rounds)) for number in CALLERS}, rounds)
    ours.close()
    gain = done["1"].wall.median / done["16"].wall.median
    yield Measured(
        Figure(
            subject="callers",
            what="16 callers against 1, this disk: turns per second",
            target=f">= {GAIN_MIN:.0f} x",
            measured=f"{gain:.2f} x",
            met=at_least(gain, GAIN_MIN),
            note=f"{_told(done)}. One caller waits {_flush_ms(done):.2f} ms for the disk; the rest is CPU under the "
            "interpreter lock, which callers cannot share",
        )
    )
    for sync_ms in SLOW_SYNCS_MS:
        yield from _slow(scene, sync_ms)


def _flush_ms(done: dict[str, Rounds]) -> float:
    """Return what one caller waits beyond its own CPU time."""
    return max(done["1"].wall.median - done["1"].cpu.median, 0.0)


def _slow(scene: Scene, sync_ms: int) -> Measuring:
    """Commit on a disk whose flush takes so long; the group commit itself shows."""
    count, rounds = (32, 1) if scene.quick else (320, 3)
    with watched(sync_s=sync_ms / 1000) as disk:
        ours = Muniment(scene.fresh(f"callers-{sync_ms}"))
        flushed: dict[str, int] = dict.fromkeys(map(str, CALLERS), 0)
        works = {str(n): _counted(_work(scene, ours, n, (count, rounds)), disk, flushed, str(n)) for n in CALLERS}
        done = in_turns(works, rounds)
        ours.close()
    gain = done["1"].wall.median / done["16"].wall.median
    each = ", ".join(f"{number}: {total / count / (rounds + 1):.2f}" for number, total in flushed.items())
    yield Measured(
        Figure(
            subject="callers",
            what=f"the same, every flush made to take {sync_ms} ms more (simulated, not this disk)",
            measured=f"{gain:.2f} x",
            note=f"{_told(done)}; flushes a turn by callers {each}",
        )
    )


def _told(done: dict[str, Rounds]) -> str:
    return "; ".join(
        f"{number} callers {1000 / each.wall.median:,.0f} turns/s at {each.cpu.median:.2f} CPU-ms"
        for number, each in done.items()
    )


def _work(scene: Scene, ours: Muniment, number: int, plan: tuple[int, int]) -> Work:
    """Return the work of so many callers, each in a conversation of its own; every round's turns are made before."""
    count, rounds = plan
    share = count // number
    prepared = [
        [scene.words.turns(f"{number} callers, {caller}", place * share + 1, share) for caller in range(number)]
        for place in range(rounds + 1)
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
