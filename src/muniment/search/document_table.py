"""The rows of an index: documents as columns, and the passages of documents.

Rows are appended, never moved; those of removed documents are not alive. Appended rows wait in a list until a column is
read. `compact` removes the others and numbers the living ones again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from mmap import ACCESS_COPY, mmap
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from muniment.events.message import Role
from muniment.ranking.columns import NO_ROW, Columns, Rows

Numbers = NDArray[np.int64]

Kind = TypeVar("Kind", bound=np.generic)

WIDE = "q"  # 64 bits, signed
PAUSE_MS = 6 * 60 * 60 * 1000  # a longer one begins another session
WIDTHS = (1, 2, 4, 8)  # bytes of a number at rest
WAITING_MAX = 4096
GROWTH = 1.25

PASSAGE_CHARS = 500  # about 80 words
SHORT_CHARS = 800  # not worth cutting

FACTS = ("stream", "turn", "message", "time_ms", "role", "speaker", "archived", "partition", "until_ms", "standing")
LINKS = ("previous", "following", "session")
WAITING_CELLS = len(FACTS) + 1
PLACE_OF = {name: place for place, name in enumerate((*FACTS, *LINKS))}


class SearchDocument(Struct, frozen=True, kw_only=True, gc=False):
    """A text to be searched: its place in the turn, speaker, time, and the text that a view shows.

    `partition` says whose it is (`search.partitions`), `until_ms` when it ends to be true; 0: never. `standing` orders
    items where no question does (`memory.standing`).
    """

    message: int
    role: Role
    speaker: str
    time_ms: int
    text: str
    partition: str = ""
    until_ms: int = 0
    standing: int = 0


class DocumentTable:
    """The documents by number. For one thread at a time."""

    def __init__(self) -> None:
        self._cells: Numbers = np.zeros((len(PLACE_OF), 0), np.int64)
        self._alive: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._written = 0
        self._waiting = array(WIDE)
        self.dead = 0

    def __len__(self) -> int:
        return self._written + len(self._waiting) // WAITING_CELLS

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        return self._cells.nbytes + self._alive.nbytes

    def __getitem__(self, name: str) -> Numbers:
        """Return a column."""
        self._write()
        return self._cells[PLACE_OF[name], : self._written]

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which rows are documents, not removed ones."""
        self._write()
        return self._alive[: self._written]

    def append(self, values: tuple[int, ...]) -> int:
        """Add a document, the values as in `FACTS` and then the document before it; return its number."""
        if len(self._waiting) == WAITING_MAX * WAITING_CELLS:
            self._write()
        row = self._written + len(self._waiting) // WAITING_CELLS
        self._waiting.extend(values)
        return row

    def remove(self, rows: list[int]) -> None:
        """Remove documents."""
        self.alive[rows] = False
        self.dead += len(rows)

    def link(self, rows: Rows, before: Rows) -> None:
        """Link each document to the one before it, which comes earlier here or is linked already, or is `NO_ROW`.

        A long pause in between begins another session.
        """
        time, previous, following, session = (self[name] for name in ("time_ms", *LINKS))
        known = before != NO_ROW
        near = known.copy()
        near[known] = time[rows[known]] - time[before[known]] <= PAUSE_MS
        previous[rows] = np.where(near, before, NO_ROW)
        following[rows] = NO_ROW
        following[before[known]] = np.where(near[known], rows[known], NO_ROW)
        session[rows] = np.where(near, before, rows)
        while True:  # each step doubles how far it leads back
            leads = session[session[rows]]
            if np.array_equal(leads, session[rows]):
                return
            session[rows] = leads

    def compact(self) -> Rows:
        """Drop removed documents; return the former numbers of the others, whose links are up to date."""
        alive = self.alive
        kept = np.flatnonzero(alive)
        numbers = np.append(np.cumsum(alive) - 1, NO_ROW)  # the last for `NO_ROW` itself
        cells = self._cells[:, kept]
        for name in LINKS:
            cells[PLACE_OF[name]] = numbers[cells[PLACE_OF[name]]]
        self._cells, self._alive, self._written, self.dead = cells, np.ones(len(kept), np.bool_), len(kept), 0
        return kept

    def _write(self) -> None:
        """Write what waits into the columns."""
        if not self._waiting:
            return
        block = np.frombuffer(self._waiting, np.int64).reshape(-1, WAITING_CELLS).T
        self._waiting = array(WIDE)
        first, end = self._written, self._written + block.shape[1]
        if end > self._cells.shape[1]:
            memory = max(int(end * GROWTH), WAITING_MAX)
            cells = pages(len(PLACE_OF) * memory, np.int64).reshape(len(PLACE_OF), memory)
            alive = np.zeros(memory, np.bool_)
            cells[:, :first], alive[:first] = self._cells[:, :first], self._alive[:first]
            self._cells, self._alive = cells, alive
        self._cells[: len(FACTS), first:end] = block[:-1]
        self._alive[first:end] = True
        self._written = end
        self.link(np.arange(first, end), block[-1])

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield everything as named bytes; no document is a removed one."""
        assert not self.dead, "it is compacted first"
        self._write()
        for name in PLACE_OF:
            yield f"rows/{name}", packed(self[name])

    @classmethod
    def of_sections(cls, sections: Mapping[str, bytes]) -> DocumentTable:
        """Return the table of sections."""
        made = cls()
        made._cells = np.stack([unpacked(sections[f"rows/{name}"]) for name in PLACE_OF])
        made._written = made._cells.shape[1]
        made._alive = np.ones(made._written, np.bool_)
        return made


class Passages:
    """The passages of documents, in the order of their places: the row of each, its first place and its end."""

    def __init__(self) -> None:
        self.row, self.first, self.end = (array(WIDE) for _ in range(3))
        self.alive = 0
        self.terms = 0  # of those that are alive

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        return 3 * self.row.itemsize * len(self.row)

    def append(self, row: int, first: int, end: int) -> None:
        """Add a passage; documents come in the order of their numbers."""
        self.row.append(row)
        self.first.append(first)
        self.end.append(end)
        self.alive += 1
        self.terms += end - first

    def of(self, row: int) -> range:
        """Return the numbers of the passages of a row."""
        first = bisect_left(self.row, row)
        return range(first, bisect_right(self.row, row, first))

    def remove(self, row: int) -> list[tuple[int, int]]:
        """Empty the passages of a row; return their places."""
        spans = [(self.first[number], self.end[number]) for number in self.of(row)]
        for number in self.of(row):
            self.end[number] = self.first[number]
        self.alive -= len(spans)
        self.terms -= sum(end - first for first, end in spans)
        return spans

    def columns(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return the row, the first place and the end of each."""
        return np.array(self.row, np.int64), np.array(self.first, np.int64), np.array(self.end, np.int64)

    def compact(self, rows: Rows, shift: NDArray[np.uint32]) -> Rows:
        """Keep the passages of these rows, which get new numbers; return their former numbers."""
        row, first, end = self.columns()
        kept = np.flatnonzero(np.isin(row, rows))
        shifts = shift[first[kept]]
        self.row = _wide(np.searchsorted(rows, row[kept]))
        self.first, self.end = _wide(first[kept] - shifts), _wide(end[kept] - shifts)
        return kept

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield everything as named bytes."""
        row, first, end = self.columns()
        yield "passages/row", packed(row)
        yield "passages/first", packed(first)
        yield "passages/terms", packed(end - first)

    @classmethod
    def of_sections(cls, sections: Mapping[str, bytes]) -> Passages:
        """Return the table of sections."""
        made = cls()
        row, first, terms = (unpacked(sections[f"passages/{name}"]) for name in ("row", "first", "terms"))
        made.row, made.first, made.end = _wide(row), _wide(first), _wide(first + terms)
        made.alive, made.terms = len(row), int(terms.sum())
        return made


def relinked(columns: Columns, rows: Rows) -> Columns:
    """Return the columns with links between some documents alone, as `DocumentTable.link` makes them for all."""
    stream, turn, message, time = (getattr(columns, name)[rows] for name in ("stream", "turn", "message", "time_ms"))
    order = np.lexsort((message, turn, stream))
    ordered, size = rows[order], len(columns.alive)
    near = np.zeros(len(rows), np.bool_)
    near[1:] = (np.diff(stream[order]) == 0) & (np.diff(time[order]) <= PAUSE_MS)
    previous, following = np.full(size, NO_ROW), np.full(size, NO_ROW)
    session = np.arange(size)
    joined = np.flatnonzero(near)
    previous[ordered[joined]] = ordered[joined - 1]
    following[ordered[joined - 1]] = ordered[joined]
    begins = np.maximum.accumulate(np.where(near, 0, np.arange(len(rows))))
    session[ordered] = ordered[begins]
    return columns._replace(previous=previous, following=following, session=session)


def pages(count: int, kind: type[Kind]) -> NDArray[Kind]:
    """Return zeros in memory pages of their own, which go back to the system as a whole, unlike parts of a heap."""
    size = max(count, 1) * np.dtype(kind).itemsize
    return np.frombuffer(mmap(-1, size, access=ACCESS_COPY), kind, count)  # no child process writes to them


def packed(column: Numbers) -> bytes:
    """Return a column with as few bytes for each number as hold all of them, after a byte with that width."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    width = next(width for width in WIDTHS if -(1 << 8 * width - 1) <= low and high < 1 << 8 * width - 1)
    return bytes((width,)) + column.astype(f"<i{width}").tobytes()


def unpacked(data: bytes) -> Numbers:
    """Return a packed column."""
    return np.frombuffer(data, f"<i{data[0]}", offset=1).astype(np.int64)


def _wide(numbers: NDArray[Any]) -> array[int]:
    made = array(WIDE)
    made.frombytes(np.ascontiguousarray(numbers, np.int64).tobytes())
    return made


def split_passages(text: str) -> list[str]:
    """Return a text in passages of about `PASSAGE_CHARS`, cut behind lines, else sentences, else words.

    A long message is found by its best passage, not by its average.
    """
    if len(text) <= SHORT_CHARS:
        return [text]
    pieces: list[str] = []
    at = 0
    while len(text) - at > SHORT_CHARS:
        end = _passage_end(text, at)
        pieces.append(text[at:end])
        at = end
    pieces.append(text[at:])
    return pieces


def _passage_end(text: str, at: int) -> int:
    low, high = at + PASSAGE_CHARS // 2, at + PASSAGE_CHARS
    for mark in ("\n", ". ", " "):
        end = text.rfind(mark, low, high)
        if end >= 0:
            return end + len(mark)
    return high
