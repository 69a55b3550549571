"""How an index comes to be: made from the log in a fresh process, beside plain FTS5, and opened from what is kept."""

from __future__ import annotations

from functools import partial

from muniment.governance.views import View
from replay.bench.figures import Figure, at_least, at_most, ranged
from replay.bench.scene import Measured, Measuring
from replay.bench.search.corpora import TURNS_MILLION, Corpus
from replay.bench.search.fresh import Answered, answered
from replay.measure import spread, timed

BUILD_TURNS_MIN = 20_000  # per CPU-second
BYTES_A_TURN_MAX = 1500
OPEN_MS_MAX = 150
OPEN_TURNS = 100_000  # the size that this holds for
ROUNDS, ROUNDS_QUICK = 3, 1
QUERY = "whatever was said"
MIB = 2**20


def growth(corpus: Corpus, *, quick: bool) -> Measuring:
    """Make the index again and open it again, in turns with plain FTS5."""
    made: list[Answered] = []
    floor_ms: list[float] = []
    rounds = ROUNDS_QUICK if quick or corpus.turns > OPEN_TURNS else ROUNDS
    for _ in range(rounds):
        corpus.only_imported()
        made.append(answered(corpus.home, QUERY, leave=True))
        floor_ms.append(timed(partial(_plain, corpus)).cpu_ms)
    corpus.only_imported()
    path = None if corpus.turns >= TURNS_MILLION else partial(_made, corpus)  # the smaller ones show it in less time
    yield Measured(_rate(corpus, made, floor_ms), path)
    yield Measured(_memory(corpus, made))
    closed = answered(corpus.home, QUERY, leave=False)
    kept = corpus.made_bytes()
    again = [answered(corpus.home, QUERY, leave=True) for _ in range(rounds)]
    yield Measured(_opening(corpus, closed, kept, again), path)
    yield Measured(_unaided(corpus, made))


def _plain(corpus: Corpus) -> int:
    corpus.plain().close()
    return 1


def _made(corpus: Corpus) -> None:
    with corpus.opened() as runtime:
        runtime.transcripts.search(QUERY, View.RAW_OWNER)


def _rate(corpus: Corpus, made: list[Answered], floor_ms: list[float]) -> Figure:
    rates = spread([corpus.turns / one.answer_cpu_ms * 1000 for one in made])
    floor = spread([corpus.turns / one * 1000 for one in floor_ms])
    return Figure(
        subject="search",
        what=f"{corpus.name}: index built from the log, without embedding",
        target=f">= {BUILD_TURNS_MIN:,} turns per CPU-second",
        measured=ranged(rates, "turns per CPU-second", 0),
        met=at_least(rates.median, BUILD_TURNS_MIN),
        note=f"plain FTS5 of the same texts, unencrypted: {floor.median:,.0f}",
    )


def _memory(corpus: Corpus, made: list[Answered]) -> Figure:
    grown = spread([one.grown / corpus.turns for one in made])
    return Figure(
        subject="search",
        what=f"{corpus.name}: memory of the index of a view, without vectors",
        target=f"<= {BYTES_A_TURN_MAX:,} bytes a turn",
        measured=ranged(grown, "bytes a turn", 0),
        met=at_most(grown.median, BYTES_A_TURN_MAX),
        note=f"growth of the process, {grown.median * corpus.turns / MIB:,.0f} MiB in total",
    )


def _unaided(corpus: Corpus, made: list[Answered]) -> Figure:
    whole = spread([one.open_ms + one.answer_ms for one in made])
    return Figure(
        subject="search",
        what=f"{corpus.name}: the same without a snapshot, with a rebuild of the index",
        measured=ranged(whole, "ms", 0),
    )


def _opening(corpus: Corpus, closed: Answered, kept: int, again: list[Answered]) -> Figure:
    whole = spread([one.open_ms + one.answer_ms for one in again])
    has_target = corpus.turns <= OPEN_TURNS
    snapshot = f"from an encrypted snapshot of {kept / MIB:,.1f} MiB" if kept else "no snapshot, so rebuilt"
    return Figure(
        subject="search",
        what=f"{corpus.name}: a new process opens the store and returns its first result",
        target=f"<= {OPEN_MS_MAX} ms" if has_target else None,
        measured=ranged(whole, "ms", 0),
        met=at_most(whole.median, OPEN_MS_MAX) if has_target else None,
        note=f"{snapshot}; first query {spread([one.answer_ms for one in again]).told('ms', 0)}, "
        f"CPU {spread([one.answer_cpu_ms for one in again]).told('ms', 0)}, next query "
        f"{spread([one.again_ms for one in again]).told('ms', 1)}; "
        f"closing with a new index {closed.close_ms:,.0f} ms",
    )
