"""Reading: pages by view, the whole history, the room it takes, opening; at each size of one growing conversation."""

from __future__ import annotations

import json
import time
from functools import partial
from math import ceil

from muniment.governance.views import View
from muniment.space.space import Space
from replay.bench.contestants import CONVERSATION, PAGE_TURNS, PlainRows
from replay.bench.figures import Amount, Figure, Mark, at_least, at_most, ranged
from replay.bench.scene import Grown, Measured, Measuring
from replay.measure import percentile, spread, timed
from replay.stores import inside, opened
from replay.words import Words, key_of, plain

PAGE_MS_MAX = 0.8
PAGES_MIN, PAGES_MIN_QUICK = 200, 20  # measured of each view
REPLAY_EVENTS_MIN = 70_000
STEP_TURNS = 500
PROFILED_TURNS_MAX = 200_000  # a profile shows the same in less time
SIZE_RATIO_MAX = 1.3
OPENINGS = 5


def pages(grown: Grown) -> Measuring:
    """Time pages from all over the history under each view."""
    for view in View:
        cursors = _cursors(grown, view)
        cpu = time.process_time()
        walls = _timed_pages(grown, view, cursors)
        cpu = (time.process_time() - cpu) * 1000 / len(walls)
        median = percentile(walls, 0.5)
        yield Measured(
            Figure(
                subject="page",
                what=f"page of {PAGE_TURNS} turns, {view}, at {grown.turns:,} turns: p50",
                target=f"<= {PAGE_MS_MAX} ms",
                measured=Amount(
                    median=median, low=percentile(walls, 0.05), high=percentile(walls, 0.95), unit="ms", digits=2
                ),
                met=at_most(median, PAGE_MS_MAX),
                note=f"p5 and p95 in parentheses; CPU {cpu:.2f} ms",
                mark=Mark(chart="pages", bar=f"{grown.turns:,} turns", group=view),
            ),
            partial(_timed_pages, grown, view, cursors),
        )


def _timed_pages(grown: Grown, view: View, cursors: list[str | None]) -> list[float]:
    """Return the milliseconds that each page took."""
    walls = []
    least = PAGES_MIN_QUICK if grown.scene.quick else PAGES_MIN
    for cursor in cursors * ceil(least / len(cursors)):
        start = time.perf_counter()
        page = grown.runtime.transcripts.replay(key_of(CONVERSATION), view, PAGE_TURNS, cursor)
        walls.append((time.perf_counter() - start) * 1000)
        assert len(page.turns) == PAGE_TURNS, "only whole pages are compared"
    return walls


def _cursors(grown: Grown, view: View) -> list[str | None]:
    """Return the cursors of a walk through the whole history in the largest steps."""
    found: list[str | None] = []
    more, cursor = True, None
    while more:
        found.append(cursor)
        page = grown.runtime.transcripts.replay(key_of(CONVERSATION), view, STEP_TURNS, cursor)
        more, cursor = page.has_more, page.next_cursor
    return found


def whole(grown: Grown) -> Measuring:
    """Replay everything: through the front door, and the fold alone."""
    cpu = time.process_time()
    _cursors(grown, View.RAW_OWNER)
    cpu = time.process_time() - cpu
    rate = grown.turns / cpu
    yield Measured(
        Figure(
            subject="replay",
            what=f"full replay of {grown.turns:,} turns, decrypted, as raw_owner",
            target=f">= {REPLAY_EVENTS_MIN:,} events per CPU-second",
            measured=Amount(median=rate, unit="events per CPU-second", digits=0),
            met=at_least(rate, REPLAY_EVENTS_MIN),
            note=f"in pages of {STEP_TURNS} turns",
        ),
        partial(_cursors, grown, View.RAW_OWNER) if grown.turns <= PROFILED_TURNS_MAX else None,
    )
    engine = inside(grown.directory)
    cpu = time.process_time()
    folded = _folded(grown, engine)
    rate = folded / (time.process_time() - cpu)
    engine.store.close()
    yield Measured(
        Figure(
            subject="replay",
            what="the same without applying a view",
            measured=Amount(median=rate, unit="events per CPU-second", digits=0),
        )
    )


def _folded(grown: Grown, engine: Space) -> int:
    folded = 0
    with engine.store.reader() as reader:
        stream = engine.transcript.stream_of(reader, key_of(CONVERSATION))
        assert stream is not None, "the conversation was grown"
        head = engine.transcript.head(reader, stream)
        for first in range(1, grown.turns + 1, STEP_TURNS):
            last = min(grown.turns, first + STEP_TURNS - 1)
            folded += len(engine.transcript.page(reader, head, first, last, lambda _phase, _meta: True))
    return folded


def room(grown: Grown) -> Measuring:
    """Compare the disk space, closed, with the same turns as plain JSON."""
    grown.runtime.close()
    ours = sum(path.stat().st_size for path in (grown.directory / "store").rglob("*") if path.is_file())
    grown.runtime = opened(grown.directory)
    rows, lines = _plain_room(grown)
    ratio = ours / rows
    yield Measured(
        Figure(
            subject="size",
            what=f"disk usage of {grown.turns:,} turns compared with plain JSON rows in sqlite3",
            target=f"<= {SIZE_RATIO_MAX} x",
            measured=Amount(median=ratio, unit="x", digits=2),
            met=at_most(ratio, SIZE_RATIO_MAX),
            note=f"{ours / grown.turns:,.0f} bytes a turn; as JSON row {rows / grown.turns:,.0f}, "
            f"as JSON line {lines / grown.turns:,.0f} ({ours / lines:.2f} x)",
        )
    )


def _plain_room(grown: Grown) -> tuple[int, int]:
    """Return the bytes of the same turns as plain rows of sqlite3, and as JSON lines."""
    directory = grown.scene.fresh(f"plain-{grown.turns}")
    plain_rows, lines = PlainRows(directory), 0
    words = Words(small=grown.scene.quick)
    with plain_rows.all_at_once():
        for turn in (words.turn(CONVERSATION, number) for number in range(1, grown.turns + 1)):
            plain_rows.append(turn)
            lines += len(json.dumps(plain(turn))) + 1
    plain_rows.close()
    return plain_rows.path.stat().st_size, lines


def opening(grown: Grown) -> Measuring:
    """Open the store again; every row is accounted for before anything is read."""
    walls, cpus = [], []
    for _ in range(OPENINGS):
        grown.runtime.close()
        one = timed(partial(_open, grown))
        walls.append(one.wall_ms)
        cpus.append(one.cpu_ms)
    yield Measured(
        Figure(
            subject="open",
            what=f"open a store of {grown.turns:,} turns that was closed cleanly",
            measured=ranged(spread(walls), "ms", 1),
            note=f"CPU {spread(cpus).told('ms', 1)}; without a search index, which opens with the first search",
        )
    )


def _open(grown: Grown) -> int:
    grown.runtime = opened(grown.directory)
    return 1
