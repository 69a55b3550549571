"""What an index costs those who write: appending and erasing with one that is warm, beside a store without any."""

from __future__ import annotations

import time
from pathlib import Path

from muniment.events.changes import Transition
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.operations.transcripts.hits import Hit
from muniment.runtime.runtime import Runtime
from replay.bench.figures import Amount, Figure, at_most, ranged
from replay.bench.scene import Measured, Measuring
from replay.bench.search.corpora import TURNS_MILLION, Corpus
from replay.bench.search.queries import BenchQueries, Kind
from replay.bench.search.writer import Writer
from replay.measure import Rounds, in_turns, spread
from replay.stores import opened
from replay.words import Words

APPEND_RATIO_MAX = 1.05
APPENDS, APPENDS_QUICK = 300, 20
ERASURES, ERASURES_MILLION, ERASURES_QUICK = 5, 2, 1
ROUNDS, ROUNDS_QUICK = 7, 1
FOLLOWED = 20  # turns that are each searched for at once
WARM, BARE = "an index in memory", "no index"
SCRATCH = "followed"


def changes(corpus: Corpus, asked: BenchQueries, *, quick: bool) -> Measuring:
    """Write to two copies of the store in turns; one is searched."""
    directories = {WARM: corpus.copied(), BARE: corpus.copied()}
    yield from _appending(corpus, directories, asked.everywhere[0].text, quick=quick)
    stores = {name: opened(directory) for name, directory in directories.items()}
    yield from _following(corpus, stores[WARM])
    yield from _erasing(corpus, stores, asked, quick=quick)
    for runtime in stores.values():
        runtime.close()


def _appending(corpus: Corpus, directories: dict[str, Path], query: str, *, quick: bool) -> Measuring:
    """Append in two processes, in turns: what an index does to the one that has it does not touch the other."""
    count, rounds = (APPENDS_QUICK, ROUNDS_QUICK) if quick else (APPENDS, ROUNDS)
    with Writer(directories[WARM], count, query) as warm, Writer(directories[BARE], count, None) as bare:
        done = in_turns({WARM: warm.round, BARE: bare.round}, rounds)
    yield Measured(_beside(corpus, {name: Rounds(rounds=each) for name, each in done.items()}))


def _beside(corpus: Corpus, done: dict[str, Rounds]) -> Figure:
    warm, bare = done[WARM], done[BARE]
    ratio = warm.cpu.median / bare.cpu.median
    return Figure(
        subject="search",
        what=f"{corpus.name}: append, 2 x 400 characters, with an index in memory compared with none: CPU",
        target=f"<= {APPEND_RATIO_MAX} x",
        measured=Amount(median=ratio, unit="x", digits=2),
        met=at_most(ratio, APPEND_RATIO_MAX),
        note=f"CPU {warm.cpu.told('ms')} against {bare.cpu.told('ms')}, "
        f"wall {warm.wall.told('ms')} against {bare.wall.told('ms')}",
    )


def _following(corpus: Corpus, runtime: Runtime) -> Measuring:
    """Commit a turn and search at once, again and again: the answer knows of it."""
    _search(runtime, "everything so far")
    settled, followed = [], []
    for number in range(FOLLOWED):
        word = f"followed{number}"
        turn = Words(small=True).turn(f"{SCRATCH}-{number}", 1)
        message = turn.messages[0]
        spoken = type(message)(role=message.role, content=f"{word} {message.content}")
        named = Turn(
            turn=turn.turn, subject=turn.subject, conversation=turn.conversation, messages=[spoken, turn.messages[1]]
        )
        runtime.transcripts.commit(named)
        start = time.perf_counter()
        hits = _search(runtime, word)
        followed.append((time.perf_counter() - start) * 1000)
        assert hits, "what was committed is found at once"
        start = time.perf_counter()
        _search(runtime, word)
        settled.append((time.perf_counter() - start) * 1000)
    extra = spread(followed).median - spread(settled).median
    yield Measured(
        Figure(
            subject="search",
            what=f"{corpus.name}: extra time of the first search after a commit",
            measured=Amount(median=extra, unit="ms", digits=1),
            note=f"{spread(followed).told('ms', 1)}, repeated {spread(settled).told('ms', 1)}",
        )
    )


def _erasing(corpus: Corpus, stores: dict[str, Runtime], asked: BenchQueries, *, quick: bool) -> Measuring:
    """Erase turns of hits; the same turns in both copies."""
    rare = [query.text for query in asked.everywhere if query.kind is Kind.RARE]
    count = ERASURES_QUICK if quick else ERASURES_MILLION if corpus.turns >= TURNS_MILLION else ERASURES
    cpus: dict[str, list[float]] = {name: [] for name in stores}
    walls: dict[str, list[float]] = {name: [] for name in stores}
    for word in rare[:count]:
        hit = _search(stores[WARM], word)[0]
        for name, runtime in stores.items():
            wall, cpu = time.perf_counter(), time.process_time()
            done = runtime.lifecycle.request(
                hit.place.conversation, Transition.ERASE, "asked for", "bench", hit.place.turn
            )
            walls[name].append((time.perf_counter() - wall) * 1000)
            cpus[name].append((time.process_time() - cpu) * 1000)
            assert done.changed, "it was there"
        assert hit.place.turn not in _found(stores[WARM], word, hit), "erased is gone"
    ratio = spread(cpus[WARM]).median / spread(cpus[BARE]).median
    yield Measured(
        Figure(
            subject="search",
            what=f"{corpus.name}: erasing a turn, with an index in memory",
            measured=ranged(spread(walls[WARM]), "ms", 0),
            note=f"CPU {spread(cpus[WARM]).told('ms', 0)}; without an index {spread(walls[BARE]).told('ms', 0)}, "
            f"CPU {spread(cpus[BARE]).told('ms', 0)} ({ratio:.2f} x); rewraps every key of the space",
        )
    )


def _search(runtime: Runtime, text: str) -> list[Hit]:
    return runtime.transcripts.search(text, View.RAW_OWNER).hits


def _found(runtime: Runtime, text: str, gone: Hit) -> list[str]:
    """Return the turns of a conversation that a text finds."""
    return [hit.place.turn for hit in _search(runtime, text) if hit.place.conversation == gone.place.conversation]
