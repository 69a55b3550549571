"""A page of fifty turns and the disk space, side by side with the floor and the peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from muniment.log.reserve import RESERVE_BYTES
from replay.bench.contestants import CONVERSATION, PAGE_TURNS, Contestant, Muniment, PlainRows, SealedRows
from replay.bench.figures import Amount, Figure, Mark, ranged
from replay.bench.peers import installed
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import Rounds, Work, timed_in_turns

KEPT_FREE = f"{RESERVE_BYTES / 2**20:.0f} MiB of it is the reserve for erasures on a full disk"
HERE: tuple[Callable[[Path], Contestant], ...] = (Muniment, PlainRows, SealedRows)


def pages(scene: Scene) -> Measuring:
    """Read the same page from every contestant, in turns; then close them and weigh what they left."""
    count, times = (100, 10) if scene.quick else (10_000, 60)
    makers = [*HERE, *([make for _, make in installed()] if scene.peers else [])]
    homes = [scene.fresh(f"side-{number}") for number in range(len(makers))]
    contestants = [make(home) for make, home in zip(makers, homes, strict=True)]
    turns = scene.words.turns(CONVERSATION, 1, count)
    for one in contestants:
        for turn in turns:
            one.append(turn)
    done = timed_in_turns({one.name: _work(one, times) for one in contestants}, 5)
    for name, other in done.items():
        yield Measured(_page(count, name, other, done[Muniment.name]))
    for one, home in zip(contestants, homes, strict=True):
        one.close()
        yield Measured(_room(count, one.name, sum(path.stat().st_size for path in home.rglob("*") if path.is_file())))


def _work(contestant: Contestant, times: int) -> Work:
    def work() -> int:
        for _ in range(times):
            found = contestant.page()
            assert found == PAGE_TURNS, "only whole pages are compared"
        return times

    return work


def _page(count: int, name: str, other: Rounds, ours: Rounds) -> Figure:
    return Figure(
        subject="page",
        what=f"side by side, page of {PAGE_TURNS} of {count:,} turns: {name}",
        measured=ranged(other.wall, "ms"),
        note=f"CPU {other.cpu.told('ms')}; muniment takes {ours.wall.median / other.wall.median:.1f} x the time",
    )


def _room(count: int, name: str, size: int) -> Figure:
    return Figure(
        subject="size",
        what=f"side by side, {count:,} turns, closed: {name}",
        measured=Amount(median=size / count, unit="bytes a turn", digits=0),
        note=f"{RESERVE_BYTES / 2**20:.0f} MiB of it is the reserve for erasures on a full disk"
        if name == Muniment.name
        else "",
        mark=Mark(chart="size", bar=name),
    )
