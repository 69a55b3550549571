"""A page of fifty turns, side by side with the floor and the peers."""

from __future__ import annotations

from replay.bench.contestants import CONVERSATION, PAGE_TURNS, Contestant, Muniment, PlainRows, SealedRows
from replay.bench.figures import Figure
from replay.bench.peers import installed
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import Work, in_turns


def pages(scene: Scene) -> Measuring:
    """Read the same page from every contestant, in turns."""
    count, times = (100, 10) if scene.quick else (1000, 60)
    directory = scene.fresh("side")
    contestants: list[Contestant] = [Muniment(directory), PlainRows(directory), SealedRows(directory)]
    if scene.peers:
        contestants += [make(directory) for _, make in installed()]
    turns = scene.words.turns(CONVERSATION, 1, count)
    for one in contestants:
        for turn in turns:
            one.append(turn)
    done = in_turns({one.name: _work(one, times) for one in contestants}, 5)
    ours = done[Muniment.name]
    for name, other in done.items():
        yield Measured(
            Figure(
                subject="page",
                what=f"side by side, page of {PAGE_TURNS} of {count:,} turns: {name}",
                measured=other.wall.told("ms"),
                note=f"CPU {other.cpu.told('ms')}; ours takes {ours.wall.median / other.wall.median:.1f} x the time",
            )
        )
    for one in contestants:
        one.close()


def _work(contestant: Contestant, times: int) -> Work:
    def work() -> int:
        for _ in range(times):
            found = contestant.page()
            assert found == PAGE_TURNS, "only whole pages are compared"
        return times

    return work
