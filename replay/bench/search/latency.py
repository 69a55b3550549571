"""How long an answer takes: by words and by meaning, everywhere and in one conversation, beside plain FTS5."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from replay.bench.figures import Amount, Figure, at_most
from replay.bench.scene import Measured, Measuring
from replay.bench.search.corpora import TURNS_MILLION, Corpus
from replay.bench.search.queries import PLAIN_KINDS, BenchQueries, Kind, Query
from replay.embedders import EMBEDDERS, PROJECTED
from replay.fts5 import PlainIndex
from replay.measure import in_turns, percentile

SCOPED_MS_MAX = 1.5
HYBRID_MS_MAX, HYBRID_MS_MAX_MILLION = 60, 150
HITS = 10
ROUNDS, ROUNDS_QUICK = 5, 1
OURS, PLAIN = "ours", "plain FTS5"

Ask = Callable[[Query], object]


class Took(NamedTuple):
    """What an answer took, in milliseconds."""

    wall: float
    cpu: float


class Answers:
    """What the answers of one contestant took."""

    def __init__(self, taken: Iterable[tuple[Kind, Took]]) -> None:
        self.by_kind: defaultdict[Kind, list[Took]] = defaultdict(list)
        for kind, took in taken:
            self.by_kind[kind].append(took)

    def wall(self, share: float, *kinds: Kind) -> float:
        """Return the wall time that this share of the answers stayed below, of all kinds or some."""
        return percentile([took.wall for kind in kinds or self.by_kind for took in self.by_kind[kind]], share)

    def cpu(self, share: float) -> float:
        """Return the CPU time that this share of the answers stayed below."""
        return percentile([took.cpu for taken in self.by_kind.values() for took in taken], share)


def answers(contestants: Mapping[str, Ask], queries: Sequence[Query], rounds: int) -> dict[str, Answers]:
    """Ask everybody everything, in turns."""
    done = in_turns({name: partial(_asked, ask, queries) for name, ask in contestants.items()}, rounds)
    return {name: Answers(chain.from_iterable(taken)) for name, taken in done.items()}


def _asked(ask: Ask, queries: Sequence[Query]) -> list[tuple[Kind, Took]]:
    return [(query.kind, _timed(ask, query)) for query in queries]


def _timed(ask: Ask, query: Query) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    ask(query)
    return Took((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)


def by_words(corpus: Corpus, asked: BenchQueries, *, quick: bool) -> Measuring:
    """Search by words, the whole space and one conversation, in turns with plain FTS5."""
    rounds = ROUNDS_QUICK if quick else ROUNDS
    plain = corpus.plain()
    with corpus.opened() as runtime:
        ours = partial(_ask, runtime)
        alike = [query for query in asked.everywhere if query.kind in PLAIN_KINDS]
        filtered = [query for query in asked.everywhere if query.kind not in PLAIN_KINDS]
        done = answers({OURS: ours, PLAIN: partial(_ask_plain, plain)}, alike, rounds)
        all_ours = answers({OURS: ours}, filtered, rounds)[OURS]
        all_ours.by_kind.update(done[OURS].by_kind)
        yield Measured(_keyword(corpus, all_ours), lambda: [ours(query) for query in asked.everywhere])
        yield Measured(_beside(corpus, "the same queries without filters", done))
        within = answers({OURS: ours, PLAIN: partial(_ask_plain, plain)}, asked.in_one, rounds)
        yield Measured(_scoped(corpus, within[OURS]), lambda: [ours(query) for query in asked.in_one])
        yield Measured(_beside(corpus, "in one conversation", within))
    plain.close()


def by_meaning(corpus: Corpus, asked: BenchQueries, *, quick: bool) -> Measuring:
    """Search by words and meaning, with vectors of a usual length that are made without a model."""
    what = f"{corpus.name}: search by words and meaning, vectors of {PROJECTED.make().dimension} dimensions"
    missing = PROJECTED.missing()
    if missing is not None:
        yield Measured(Figure(subject="search", what=what, measured="not measured", note=missing))
        return
    with corpus.opened(PROJECTED) as runtime:
        cpu = time.process_time()
        PROJECTED.embed(runtime, View.RAW_OWNER)
        embedded_s = time.process_time() - cpu
        ours = partial(_ask, runtime)
        semantic = runtime.transcripts.search(asked.everywhere[0].text, View.RAW_OWNER).semantic
        done = answers({OURS: ours}, asked.everywhere, ROUNDS_QUICK if quick else ROUNDS)[OURS]
        most = HYBRID_MS_MAX if corpus.turns < TURNS_MILLION else HYBRID_MS_MAX_MILLION
        p95 = done.wall(0.95)
        yield Measured(
            Figure(
                subject="search",
                what=f"{what}: p95",
                target=f"<= {most} ms",
                measured=Amount(median=p95, unit="ms", digits=1),
                met=at_most(p95, most),
                note=f"{_told(done)}; semantic: {semantic}; vectors made at {corpus.turns / embedded_s:,.0f} turns per "
                "CPU-second; embedding a query with a real model has its own row",
            ),
            lambda: [ours(query) for query in asked.everywhere],
        )


def models(texts: Sequence[str]) -> Measuring:
    """Embed questions, one by one, with every model that is there."""
    for named in EMBEDDERS:
        missing = named.missing()
        what = f"{named.name}: embedding a query: p95"
        if missing is not None:
            yield Measured(Figure(subject="search", what=what, measured="not measured", note=missing))
            continue
        embedder = named.make()
        embedder.encode([texts[0]], query=True)
        walls, cpu = [], time.process_time()
        for text in texts:
            start = time.perf_counter()
            embedder.encode([text], query=True)
            walls.append((time.perf_counter() - start) * 1000)
        cpu = (time.process_time() - cpu) * 1000 / len(texts)
        p50, p95 = percentile(walls, 0.5), percentile(walls, 0.95)
        note = f"p50 {p50:.1f}, CPU {cpu:.1f} ms; add this to the search by words and meaning"
        yield Measured(Figure(subject="search", what=what, measured=Amount(median=p95, unit="ms", digits=1), note=note))


def _ask(runtime: Runtime, query: Query) -> object:
    return runtime.transcripts.search(query.text, View.RAW_OWNER, query.within, limit=HITS)


def _ask_plain(plain: PlainIndex, query: Query) -> object:
    return plain.search(query.text, HITS, query.conversation)


def _keyword(corpus: Corpus, done: Answers) -> Figure:
    p95 = done.wall(0.95)
    kinds = ", ".join(f"{kind} {done.wall(0.95, kind):.1f}" for kind in sorted(done.by_kind))
    return Figure(
        subject="search",
        what=f"{corpus.name}: search by words: p95",
        target=f"<= {corpus.keyword_ms_max} ms",
        measured=Amount(median=p95, unit="ms", digits=1),
        met=at_most(p95, corpus.keyword_ms_max),
        note=f"{_told(done)}; p95 of {kinds}",
    )


def _scoped(corpus: Corpus, done: Answers) -> Figure:
    p95 = done.wall(0.95)
    return Figure(
        subject="search",
        what=f"{corpus.name}: search by words in one conversation: p95",
        target=f"<= {SCOPED_MS_MAX} ms",
        measured=Amount(median=p95, unit="ms", digits=2),
        met=at_most(p95, SCOPED_MS_MAX),
        note=_told(done),
    )


def _beside(corpus: Corpus, what: str, done: Mapping[str, Answers]) -> Figure:
    ours, plain = done[OURS], done[PLAIN]
    return Figure(
        subject="search",
        what=f"{corpus.name}: {what}: plain FTS5, p95",
        measured=Amount(median=plain.wall(0.95), unit="ms", digits=2),
        note=f"{_told(plain)}; muniment {ours.wall(0.95):.2f} ms, {_told(ours)}; by CPU muniment takes "
        f"{ours.cpu(0.5) / plain.cpu(0.5):.1f} x (p50), {ours.cpu(0.95) / plain.cpu(0.95):.1f} x (p95), "
        "and also reads its hits from the log",
    )


def _told(done: Answers) -> str:
    return f"p50 {done.wall(0.5):.2f} ms; CPU p50 {done.cpu(0.5):.2f}, p95 {done.cpu(0.95):.2f} ms"
