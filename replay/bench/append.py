"""Appending: what a durable turn costs, beside the floor and the peers; how often the disk is flushed for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muniment.events.turn import Turn
from replay.bench.contestants import CONVERSATION, Contestant, Muniment, PlainRows, SealedRows
from replay.bench.figures import Amount, Figure, Mark, at_most, ranged
from replay.bench.peers import installed
from replay.bench.scene import Measured, Measuring, Scene
from replay.disk import watched
from replay.measure import Rounds, Work, timed_in_turns

CPU_MS_MAX = 0.33
# contestant -> how many times its CPU time an append may take
RATIOS_MAX = {
    "openai-agents EncryptedSession": 0.8,
    "openai-agents SQLiteSession": 1.1,
    "eventsourcing, SQLite + AES": 2.0,
}


def append(scene: Scene) -> Measuring:
    """Append turns of 2 x 400 characters, all contestants in turns."""
    count, rounds = (50, 3) if scene.quick else (400, 9)
    directory = scene.fresh("append")
    contestants: dict[str, Contestant] = {one.name: one for one in (
        Muniment(directory), PlainRows(directory), SealedRows(directory)
    )}  # fmt: skip
    if scene.peers:
        contestants |= {name: make(directory) for name, make in installed()}
    turns = scene.words.turns(CONVERSATION, 1, count * (rounds + 1))
    done = timed_in_turns({name: _work(one, iter(turns), count) for name, one in contestants.items()}, rounds)
    ours, floor = done[Muniment.name], done[PlainRows.name]
    more = iter(scene.words.turns(CONVERSATION, len(turns) + 1, 4 * count))
    path = _work(contestants[Muniment.name], more, 4 * count)
    yield Measured(_cpu(ours), path)
    yield Measured(_wall(ours, floor), None)
    for name, other in done.items():
        if name != Muniment.name:
            yield Measured(_beside(name, other, ours))
    for one in contestants.values():
        one.close()


def _work(contestant: Contestant, turns: Iterator[Turn], count: int) -> Work:
    def work() -> int:
        done = 0
        for _, turn in zip(range(count), turns, strict=False):
            contestant.append(turn)
            done += 1
        return done

    return work


def _cpu(ours: Rounds) -> Figure:
    return Figure(
        subject="append",
        what="durable append, 2 x 400 characters, encrypted and in the tree: CPU",
        target=f"<= {CPU_MS_MAX} ms",
        measured=ranged(ours.cpu, "ms"),
        met=at_most(ours.cpu.median, CPU_MS_MAX),
        mark=Mark(chart="append", bar=Muniment.name),
    )


def _wall(ours: Rounds, floor: Rounds) -> Figure:
    ratio = ours.wall.median / floor.wall.median
    return Figure(
        subject="append",
        what="the same: wall time compared with a plain stdlib sqlite3 row",
        measured=Amount(median=ratio, unit="x", digits=2),
        note=f"{ours.wall.told('ms')} against {floor.wall.told('ms')}; on a fast disk, CPU time dominates",
    )


def _beside(name: str, other: Rounds, ours: Rounds) -> Figure:
    ratio, most = ours.cpu.median / other.cpu.median, RATIOS_MAX.get(name)
    return Figure(
        subject="append",
        what=f"the same turns: {name}: CPU",
        measured=ranged(other.cpu, "ms"),
        target=None if most is None else f"muniment <= {most} x",
        met=None if most is None else at_most(ratio, most),
        note=f"wall {other.wall.told('ms')}; muniment takes {ratio:.2f} x the CPU, "
        f"{ours.wall.median / other.wall.median:.1f} x the time",
        mark=Mark(chart="append", bar=name),
    )


def flushes(scene: Scene) -> Measuring:
    """Count how often the disk is flushed for one append."""
    count = 60 if scene.quick else 600
    with watched() as disk:
        ours = Muniment(scene.fresh("flushes"))
        turns = iter(scene.words.turns(CONVERSATION, 1, count + 1))
        ours.append(next(turns))
        seen: Counter[int] = Counter()
        other = disk.other_syncs
        for turn in turns:
            before = disk.wal_syncs + disk.other_syncs
            ours.append(turn)
            seen[disk.wal_syncs + disk.other_syncs - before] += 1
        passes = disk.other_syncs - other
        ours.close()
    usual = seen.most_common(1)[0][0]
    rest = sum(number for flushed, number in seen.items() if flushed != 1)
    # Taking the log into the database costs two flushes of its own, and one for the first write to the log afterwards.
    yield Measured(
        Figure(
            subject="append",
            what="disk flushes for one append (counted below SQLite)",
            target="exactly 1",
            measured=Amount(median=usual, unit="flushes", digits=0),
            met=usual == 1 and min(seen) == 1 and rest <= 2 * passes,
            note=f"in {seen[usual]} of {count} appends; {passes} checkpoints of the write-ahead log, after the "
            "callers had their result: "
            + ", ".join(f"{flushed} flushes in {number}" for flushed, number in sorted(seen.items()) if flushed != 1),
        )
    )
