"""What the gate measures: one row for each ratio, both sides of it doing the same for the same turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from muniment.events.turn import Turn
from muniment.governance.views import View
from replay.bench.append import flushes
from replay.bench.contestants import CONVERSATION, Contestant, Muniment, PlainRows, SealedRows, database
from replay.bench.figures import Amount
from replay.bench.frames import OPERATIONS, Calls, counted
from replay.bench.scene import Scene
from replay.bench.search.corpora import Corpus
from replay.bench.search.queries import PLAIN_KINDS, BenchQueries, Query, asked
from replay.bench.start import BARE, COMMAND, cpu_s
from replay.fts5 import PlainIndex
from replay.measure import Work, in_turns, timed
from replay.stores import inside, opened
from replay.words import Words, key_of
from replay.zipf import Dialogues

TURNS = 2_000
APPENDS = 50  # of a round
PAGES = 15
OPENINGS = 5
DIALOGUE_TURNS = 3_000
QUESTIONS = 25
HITS = 10
STEP_TURNS = 500
FLOOR_TIMES = 5  # the floor does so many times as much, so that its rounds are no shorter


class Ground:
    """The stores that rows are measured on, each made when the first row asks for it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._made = 0
        self.words = Words(invented=True)

    def fresh(self) -> Path:
        """Return a new directory."""
        self._made += 1
        path = self._directory / str(self._made)
        path.mkdir()
        return path

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns that all stores are filled with."""
        return self.words.turns(CONVERSATION, 1, TURNS)

    def left(self, turns: list[Turn]) -> Path:
        """Return a directory with ours and the plain floor, filled and closed."""
        path = self.fresh()
        stores: tuple[Contestant, ...] = (Muniment(path), PlainRows(path))
        for store in stores:
            for turn in turns:
                store.append(turn)
            store.close()
        return path

    @cached_property
    def filled(self) -> Path:
        """A directory with the turns in ours and in the plain floor."""
        return self.left(self.turns)

    @cached_property
    def ours(self) -> Muniment:
        """Ours, filled."""
        return Muniment(self.filled)

    @cached_property
    def sealed(self) -> SealedRows:
        """The sealed floor, filled."""
        store = SealedRows(self.fresh())
        for turn in self.turns:
            store.append(turn)
        return store

    @cached_property
    def corpus(self) -> Corpus:
        """Dialogues to search, the same on every machine."""
        return Corpus("generated", self.fresh(), partial(Dialogues().lines, DIALOGUE_TURNS))

    @cached_property
    def asked(self) -> BenchQueries:
        """Questions about the dialogues."""
        return asked(self.corpus)

    @cached_property
    def calls(self) -> dict[str, Calls]:
        """What each operation calls, in a store of its own."""
        return counted(self.fresh())

    def close(self) -> None:
        """Close what is open."""
        for name in ("ours", "sealed"):
            if name in vars(self):
                getattr(self, name).close()


class Count(NamedTuple):
    """One row that is counted; it comes out the same every time."""

    what: str
    count: Callable[[Ground], int]


class Ratio(NamedTuple):
    """One row. `is_certain`: it comes out the same every time, so that it is measured once and may hardly grow."""

    what: str
    measure: Callable[[Ground, int], list[float]]
    is_certain: bool = False


def _ratios(ours: Callable[[], float], floor: Callable[[], float], rounds: int) -> list[float]:
    done = in_turns({"ours": ours, "floor": floor}, rounds)
    return [mine / theirs for mine, theirs in zip(done["ours"], done["floor"], strict=True)]


def _cpu(work: Work) -> Callable[[], float]:
    return lambda: timed(work).cpu_ms


def _times(count: int, step: Callable[[], object]) -> Work:
    def work() -> int:
        for _ in range(count):
            step()
        return count

    return work


def _append(make: Callable[[Path], Contestant], ground: Ground, rounds: int) -> list[float]:
    """Append the same turns, the floor every one of them several times."""
    directory = ground.fresh()
    ours, floor = Muniment(directory), make(directory)
    batches = [ground.words.turns(CONVERSATION, 1 + at * APPENDS, APPENDS) for at in range(rounds + 1)]
    mine, theirs = iter(batches), iter(batches)

    def appended(store: Contestant, times: int, number: int) -> int:
        batch = next(theirs if times > 1 else mine)
        for turn in batch * times:
            store.append(turn)
        return number

    found = _ratios(
        _cpu(partial(appended, ours, 1, APPENDS)),
        _cpu(partial(appended, floor, FLOOR_TIMES, APPENDS * FLOOR_TIMES)),
        rounds,
    )
    ours.close()
    floor.close()
    return found


def _page(ground: Ground, rounds: int) -> list[float]:
    ours, floor = _times(PAGES, ground.ours.page), _times(PAGES * FLOOR_TIMES, ground.sealed.page)
    return _ratios(_cpu(ours), _cpu(floor), rounds)


def _replay(ground: Ground, rounds: int) -> list[float]:
    runtime = ground.ours.runtime

    def whole() -> int:
        page = runtime.transcripts.replay(key_of(CONVERSATION), View.RAW_OWNER, STEP_TURNS)
        count = len(page.turns)
        while page.has_more:
            page = runtime.transcripts.replay(key_of(CONVERSATION), View.RAW_OWNER, STEP_TURNS, page.next_cursor)
            count += len(page.turns)
        assert count == TURNS, "all of it is compared"
        return count

    return _ratios(_cpu(whole), _cpu(ground.sealed.whole), rounds)


def _search(ground: Ground, rounds: int, *, in_one: bool) -> list[float]:
    everywhere = [query for query in ground.asked.everywhere if query.kind in PLAIN_KINDS]
    queries = ground.asked.in_one if in_one else everywhere[:: max(1, len(everywhere) // QUESTIONS)]
    plain = ground.corpus.plain()
    with ground.corpus.opened() as runtime:

        def ours(query: Query) -> object:
            return runtime.transcripts.search(query.text, View.RAW_OWNER, query.within, limit=HITS)

        def floor(query: Query) -> object:
            return plain.search(query.text, HITS, query.conversation)

        found = _ratios(_cpu(partial(_each, ours, queries)), _cpu(partial(_each, floor, queries * FLOOR_TIMES)), rounds)
    plain.close()
    return found


def _each(ask: Callable[[Query], object], queries: list[Query]) -> int:
    return len([ask(query) for query in queries])


def _index(ground: Ground, rounds: int) -> list[float]:
    texts = list(ground.corpus.texts())
    engine = inside(ground.corpus.home)

    def ours() -> int:
        engine.indexes.drop()
        with engine.indexes.caught_up(View.RAW_OWNER):
            return 1

    def floor() -> int:
        index = PlainIndex()
        index.put(texts)
        index.close()
        return 1

    found = _ratios(_cpu(ours), _cpu(floor), max(5, rounds // 3))
    engine.store.close()
    return found


def _open(ground: Ground, rounds: int) -> list[float]:
    def floor() -> None:
        rows = database(ground.filled / "plain.db")
        rows.execute("SELECT turn FROM turns ORDER BY id DESC LIMIT 1").fetchone()
        rows.close()

    ours = _times(OPENINGS, lambda: opened(ground.filled).close())
    return _ratios(_cpu(ours), _cpu(_times(OPENINGS * FLOOR_TIMES, floor)), rounds)


def _start(_ground: Ground, rounds: int) -> list[float]:
    return _ratios(partial(cpu_s, COMMAND), partial(cpu_s, BARE), rounds)


def _size(ground: Ground, _rounds: int) -> list[float]:
    """Weigh what the turns add to stores that have none; what a store keeps free for itself is no part of it."""
    empty = ground.left([])
    ours, floor = (_bytes(ground.filled / name) - _bytes(empty / name) for name in ("store", "plain.db"))
    return [ours / floor]


def _bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())


def _flushes(ground: Ground) -> int:
    """Return how often one append usually flushes; 0 when some did not at all, or too many did more often."""
    [measured] = flushes(Scene(ground.fresh(), quick=True))
    amount = measured.figure.measured
    assert isinstance(amount, Amount), "it is counted"
    return int(amount.median) if measured.figure.met else 0


def _frames(name: str, ground: Ground) -> int:
    return ground.calls[name].total()


EXACT: dict[str, Count] = {
    "flushes": Count("disk flushes for one append", _flushes),
}

FRAMES: dict[str, Count] = {
    f"{name}-frames": Count(f"Python frames of {what}", partial(_frames, name))
    for name, (what, _) in OPERATIONS.items()
}

RATIOS: dict[str, Ratio] = {
    "size": Ratio("disk usage, compared with plain JSON rows", _size, is_certain=True),
    "append-plain": Ratio("append, compared with a plain JSON row", partial(_append, PlainRows)),
    "append-sealed": Ratio("append, compared with an AES-GCM row", partial(_append, SealedRows)),
    "page": Ratio("page of 50 turns, compared with 50 AES-GCM rows", _page),
    "replay": Ratio("replay of everything, compared with all AES-GCM rows", _replay),
    "search": Ratio("search by words, compared with plain FTS5", partial(_search, in_one=False)),
    "search-in-one": Ratio("search in one conversation, compared with plain FTS5", partial(_search, in_one=True)),
    "index": Ratio("index built from the log, compared with plain FTS5 of the texts", _index),
    "open": Ratio("opening and closing a store, compared with a stdlib database", _open),
    "start": Ratio("`muniment --version`, compared with an empty Python program", _start),
}
