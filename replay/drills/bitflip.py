"""Change one bit somewhere in the files of a closed store: the change is refused, or it changes no answer.

What is refused and what is harmless is said in `everything`; which bits are changed together, in `flips`. Three stores:

1. A small one with something of everything in it: every byte of every file, for a share of the figure some of them.
2. A large one of few conversations: bytes by chance; its conversations are read as their owner reads them.
3. Indexes at rest: every byte of each, or some of them. A search finds what it found, by an index made again from the
   log. Who looks is checked against use the index as long as nothing is changed.

Harmless are bytes that nothing is read from: what SQLite leaves free in its pages, counters that it keeps for itself,
a key that is sealed for another purpose. The file that only keeps room is left out.

The control are plain rows in `sqlite3`: there a changed bit must be read as if it had always been so.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.message import BlobPart, Message, Role
from muniment.events.turn import Turn
from muniment.governance.views import View
from replay.bench.contestants import PlainRows
from replay.drills.everything import CONVERSATIONS, Verdict
from replay.drills.exhibits import Exhibit
from replay.drills.flips import ONE, Flip, Judge, flip_at
from replay.drills.indexes import Indexes
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.stores import opened
from replay.words import Words

FLIPS = 20_000  # in the large store; then the others are changed in every byte
TURNS = 12
TALKS, TALK_BYTES = 16, 7_900  # with what is in every exhibit they make a log of a quarter of a megabyte
LARGE_BYTES, LARGE_TALK_BYTES, LARGE_TALKS_MIN = 256 << 20, 350_000, 8
RUN_BYTES, SHORT_RUN_BYTES = 64, 8  # side by side
CONTROL_FLIPS = 300
CONTROL_TURNS = 50


def bitflip(count: int | None, seed: int) -> Outcome:
    """Change so many bits of the large store, and that share of all bytes of the others."""
    chance = random.Random(seed)  # noqa: S311 - which bits a drill changes is no secret
    flips = count or FLIPS
    share = min(1.0, flips / FLIPS)
    tried, failures = [], []
    with scratch_directory("bitflip") as scratch:
        for name, judged in (
            ("a small store", lambda: _small(scratch / "small", share, chance)),
            ("a large one", lambda: _large(scratch / "large", flips, chance)),
            ("stored indexes", lambda: _indexes(scratch / "indexes", share, chance)),
        ):
            done = _told(name, judged)
            tried.append(done[0])
            failures += done[1]
        control = _control(scratch, chance)
    return Outcome(
        name="bitflip",
        tried="; ".join(tried),
        failures=failures,
        control=f"plain sqlite3 rows, {control} of {CONTROL_FLIPS} changes read as valid data",
        control_failed=control > 0,
        seed=seed,
    )


def _told(name: str, judged: Callable[[], tuple[int, Counter[Verdict], list[Flip]]]) -> tuple[str, list[str]]:
    """Judge; return what was tried, and what failed."""
    size, counts, silent = judged()
    found = ", ".join(f"{counts[one]:,} {one}" for one in Verdict if counts[one])
    failures = [f"bit {flip.bit} of byte {flip.at} of {flip.path.name} in {name} is a silent change" for flip in silent]
    return f"{name} of {size:,} bytes, {counts.total():,} changed: {found}", failures


def _small(home: Path, share: float, chance: random.Random) -> tuple[int, Counter[Verdict], list[Flip]]:
    exhibit = Exhibit(home, TURNS, ONE)
    talks = _talked(exhibit.newer, TALKS, TALK_BYTES, chance)
    judge = Judge(exhibit.newer, [*CONVERSATIONS, *talks])
    length = RUN_BYTES if share == 1 else SHORT_RUN_BYTES
    runs = [
        [(path, at) for at in range(start, min(start + length, size))]
        for path, size in judge.sizes.items()
        for start in range(0, size, length)
    ]
    for run in sorted(chance.sample(runs, max(1, round(len(runs) * share)))):
        judge.near([flip_at(path, at, chance) for path, at in run])
    judge.finish()
    return sum(judge.sizes.values()), judge.counts, judge.silent


def _large(home: Path, count: int, chance: random.Random) -> tuple[int, Counter[Verdict], list[Flip]]:
    talks = max(LARGE_TALKS_MIN, round(LARGE_BYTES * min(1.0, count / FLIPS) / LARGE_TALK_BYTES))
    home.mkdir()
    judge = Judge(home, _talked(home, talks, LARGE_TALK_BYTES, chance), [View.RAW_OWNER])
    [log] = [path for path in judge.sizes if path.name == "log.db"]
    for batch in _far_apart([chance.randrange(judge.sizes[log]) for _ in range(count)]):
        judge.apart([flip_at(log, at, chance) for at in batch])
    return judge.sizes[log], judge.counts, judge.silent


def _indexes(home: Path, share: float, chance: random.Random) -> tuple[int, Counter[Verdict], list[Flip]]:
    exhibit = Exhibit(home, TURNS, ONE)
    indexes = Indexes(exhibit.newer)
    size = max(indexes.sizes.values())
    for at in chance.sample(range(size), max(1, round(size * share))):
        indexes.changed([flip_at(path, at, chance) for path, held in indexes.sizes.items() if at < held])
    return sum(indexes.sizes.values()), indexes.counts, indexes.silent


def _talked(home: Path, talks: int, size: int, chance: random.Random) -> list[str]:
    """Commit a turn of so many bytes to each of so many conversations; return their names."""
    names = [f"talk {number}" for number in range(talks)]
    with opened(home) as runtime:
        for name in names:
            part = BlobPart(content=chance.randbytes(size))
            turn = Turn(
                turn=TurnId("turn-1"),
                subject=SubjectId("anna"),
                conversation=ConversationId(name),
                messages=[Message(role=Role.USER, content=[part])],
            )
            runtime.transcripts.commit(turn)
    return names


def _far_apart(places: list[int]) -> Iterator[list[int]]:
    """Yield places, grouped so that no two of a group are in the same conversation."""
    left = places
    while left:
        chosen: dict[int, int] = {}
        later = []
        for at in left:
            stretch = at // (LARGE_TALK_BYTES * 2)
            if chosen.keys() & {stretch - 1, stretch, stretch + 1}:
                later.append(at)
            else:
                chosen[stretch] = at
        yield list(chosen.values())
        left = later


def _control(scratch: Path, chance: random.Random) -> int:
    """Return how many bits of plain rows could be changed so that other words are read."""
    words, silent = Words(small=True), 0
    directory = scratch / "plain"
    directory.mkdir()
    rows = PlainRows(directory)
    for number in range(1, CONTROL_TURNS + 1):
        rows.append(words.turn("one", number))
    rows.close()
    held = rows.path.read_bytes()
    true = _read(rows.path)
    for _ in range(CONTROL_FLIPS):
        bad = bytearray(held)
        bad[chance.randrange(len(held))] ^= 1 << chance.randrange(8)
        rows.path.write_bytes(bad)
        read = _read(rows.path)
        silent += read is not None and read != true
    return silent


def _read(path: Path) -> list[tuple[object, ...]] | None:
    try:
        with closing(sqlite3.connect(path)) as raw:
            (table,) = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1").fetchone()
            return raw.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - as the file says
    except (sqlite3.Error, TypeError, UnicodeDecodeError):
        return None
