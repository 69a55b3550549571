"""The places of terms: for each term, its positions in one long sequence of all terms that were ever added.

A place is a number below 2^32 and grows with every term; documents follow each other in this sequence, with a gap
between them, so that a phrase is terms at consecutive places and never spans two documents.

Most places are *settled*: those of all terms in one array, term by term. Terms that were added since are in a tail, in
the order in which they came, which is scanned; `settle` moves it to the others, by one sort. `drop` hides the places of
a document at once; `purge` removes them for good, and terms without places too: nothing of its words stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from muniment.search.document_table import WIDE, packed, pages, unpacked

Places = NDArray[np.uint32]
PLACE = "I"  # 32 bits
PLACES_MAX = 2**32
TAIL_PLACES_MAX = 2**16  # are always scanned
TAIL_BUILT_MAX = 2**19  # while an index is being made
BLOCK_PLACES = 2**18  # moved at a time
TAIL_SHARE = 8  # a tail is settled when it is longer than this part of the settled places
TERM_BYTES = 130  # of a short string and its entry in a table
NONE: Places = np.empty(0, np.uint32)


class Vocabulary(dict[str, int]):
    """A number for each term; a new term gets the next one. Numbers are in the order of the table."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class Runs:
    """Where the runs of the tail begin: in the tail, and in the sequence of all places."""

    def __init__(self) -> None:
        self._begins, self._firsts = array(WIDE), array(WIDE)

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        return 2 * self._begins.itemsize * len(self._begins)

    def begin(self, at: int, first: int) -> None:
        """Begin a run at a point of the tail and a place."""
        self._begins.append(at)
        self._firsts.append(first)

    def places(self, at: NDArray[np.int64]) -> Places:
        """Return the places at these points of the tail."""
        begins, firsts = self._columns()
        run = np.searchsorted(begins, at, "right") - 1
        return (firsts[run] + at - begins[run]).astype(np.uint32)

    def stretch(self, first: int, end: int) -> Places:
        """Return the places between two points of the tail, the second not included."""
        begins, firsts = self._columns()
        runs = slice(np.searchsorted(begins, first, "right") - 1, np.searchsorted(begins, end, "left"))
        lengths = np.diff(np.maximum(begins[runs], first), append=end)
        return (np.repeat(firsts[runs] - begins[runs], lengths) + np.arange(first, end)).astype(np.uint32)

    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.frombuffer(self._begins, np.int64), np.frombuffer(self._firsts, np.int64)


class Postings:
    """Places by term. For one thread at a time."""

    def __init__(self) -> None:
        self._numbers = Vocabulary()
        self._starts = np.zeros(1, np.int64)  # where the settled places of each term begin, and where all end
        self._places = NONE
        self._tail = array(PLACE)  # terms as they came, in runs at consecutive places
        self._runs = Runs()
        self._in_tail: dict[int, Places] = {}  # places in the tail, of terms that were searched for
        self._scanned = 0  # how long the tail was then
        self._dropped: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        tail = self._tail.itemsize * len(self._tail) + self._runs.memory_bytes
        return self._places.nbytes + self._starts.nbytes + tail + TERM_BYTES * len(self._numbers)

    @property
    def unsettled(self) -> bool:
        """Whether the tail is so long that scanning it costs more than settling it."""
        return len(self._tail) > max(TAIL_PLACES_MAX, len(self._places) // TAIL_SHARE)

    def add(self, terms: Sequence[str], first: int) -> None:
        """Add terms at consecutive places."""
        self._runs.begin(len(self._tail), first)
        self._tail.extend(map(self._numbers.__getitem__, terms))

    def of(self, term: str) -> Places:
        """Return the places of a term, ascending."""
        number = self._numbers.get(term)
        if number is None:
            return NONE
        places = self._of(number)
        return places[self._present(places)] if self._dropped else places

    def _of(self, number: int) -> Places:
        settled = NONE
        if number < len(self._starts) - 1:
            settled = self._places[self._starts[number] : self._starts[number + 1]]
        if not self._tail:
            return settled
        recent = self._tail_places(number)
        return np.concatenate([settled, recent]) if len(recent) else settled

    def _tail_places(self, number: int) -> Places:
        """Return the places of a term in the tail, which is scanned once until something is added."""
        if self._scanned != len(self._tail):
            self._in_tail, self._scanned = {}, len(self._tail)
        places = self._in_tail.get(number)
        if places is None:
            terms = np.frombuffer(self._tail, np.uint32)
            places = self._in_tail[number] = self._runs.places(np.flatnonzero(terms == number))
        return places

    def count(self, term: str) -> int:
        """Return how many places a term has."""
        return len(self.of(term))

    # --- removing -----------------------------------------------------------------------------------------------------

    def drop(self, spans: Sequence[tuple[int, int]]) -> None:
        """Hide all places in half-open spans, which do not overlap, from now on."""
        self._dropped = sorted([*self._dropped, *spans])

    def purge(self) -> None:
        """Remove for good what was dropped, and the terms without any other place."""
        if self._dropped:
            self.settle()
            blocks = range(0, len(self._places), BLOCK_PLACES)
            present = [self._present(self._places[first : first + BLOCK_PLACES]) for first in blocks]
            self._keep(np.concatenate([np.empty(0, np.bool_), *present]))
            self._dropped = []

    def renumber(self, shift: NDArray[np.uint32]) -> None:
        """Lower each place by its `shift`; what was dropped is purged."""
        self.purge()
        self.settle()
        self._places = self._places - shift[self._places]

    def settle(self) -> None:
        """Settle the tail."""
        if not self._tail:
            return
        counts = np.diff(self._starts, append=np.repeat(self._starts[-1], len(self._numbers) + 1 - len(self._starts)))
        parts = range(0, len(self._tail), BLOCK_PLACES)
        starts = np.concatenate([[0], np.cumsum(sum((self._often(first) for first in parts), counts))])
        places = pages(int(starts[-1]), np.uint32)
        _spread(places, starts[:-1], counts, self._places)
        ends = starts[:-1] + counts
        for first in parts:
            often = self._often(first)
            _spread(places, ends, often, self._by_term(first))
            ends += often
        self._starts, self._places = starts, places
        self._tail, self._runs = array(PLACE), Runs()
        self._in_tail, self._scanned = {}, 0

    def _often(self, first: int) -> NDArray[np.int64]:
        """Return how often each term occurs in a part of the tail."""
        terms = np.frombuffer(self._tail, np.uint32)[first : first + BLOCK_PLACES]
        return np.bincount(terms, minlength=len(self._numbers))

    def _by_term(self, first: int) -> Places:
        """Return the places in a part of the tail, term by term."""
        terms = np.frombuffer(self._tail, np.uint32)[first : first + BLOCK_PLACES]
        keys = terms.astype(np.uint64) << np.uint64(32) | self._runs.stretch(first, first + len(terms))
        keys.sort()
        return keys.astype(np.uint32)  # the lower half

    def settle_much(self) -> None:
        """Settle the tail when it is half as long as what is settled."""
        if len(self._tail) > max(TAIL_BUILT_MAX, len(self._places) // 2):
            self.settle()

    def _present(self, places: Places) -> NDArray[np.bool_]:
        """Tell which places were not dropped."""
        firsts, ends = np.array(self._dropped, np.int64).T
        at = np.searchsorted(firsts, places, "right") - 1
        return np.asarray((at < 0) | (places >= ends[np.maximum(at, 0)]))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        if not len(kept):
            return
        counts = np.add.reduceat(kept, self._starts[:-1], dtype=np.int64)  # every term has a place
        self._places = self._places[kept]
        remaining = counts[counts > 0]
        self._starts = np.concatenate([[0], np.cumsum(remaining)])
        if len(remaining) < len(self._numbers):  # a C loop: a vocabulary has many terms
            terms = compress(self._numbers, counts.tolist())
            self._numbers = Vocabulary(zip(terms, range(len(remaining)), strict=True))

    # --- contents -----------------------------------------------------------------------------------------------------

    def by_place(self) -> tuple[Places, list[str]]:
        """Return all places in their order, and the term at each."""
        self.purge()
        self.settle()
        terms = list(self._numbers)
        order = np.argsort(self._places, kind="stable")
        numbers = np.repeat(np.arange(len(terms)), np.diff(self._starts))[order]
        return self._places[order], [terms[number] for number in numbers.tolist()]

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield everything as named bytes."""
        self.purge()
        self.settle()
        yield "terms", "\n".join(self._numbers).encode()  # no term has a line in it
        yield "often", packed(np.diff(self._starts))
        yield "places", self._places.astype("<u4").tobytes()

    @classmethod
    def of_sections(cls, sections: Mapping[str, bytes]) -> Postings:
        """Return the postings of sections."""
        made = cls()
        terms = sections["terms"].decode()
        made._numbers = Vocabulary(zip(terms.split("\n") if terms else [], range(PLACES_MAX)))  # noqa: B905 - endless
        made._starts = np.concatenate([[0], np.cumsum(unpacked(sections["often"]))])
        made._places = np.frombuffer(sections["places"], "<u4").astype(np.uint32, copy=False)
        return made


def _spread(target: Places, starts: NDArray[np.int64], counts: NDArray[np.int64], values: Places) -> None:
    """Copy values, which come in stretches of these counts, to where each stretch starts."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + BLOCK_PLACES, "right")))
        here, size = counts[first:last], int(ends[last - 1]) - done
        shifts = np.repeat(starts[first:last] - (ends[first:last] - here - done), here)
        target[shifts + np.arange(size)] = values[done : done + size]
        first = last
