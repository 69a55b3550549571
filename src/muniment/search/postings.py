"""Which terms stand where: for each term, its places in one long row of all terms that were ever added.

A place is a number below 2^32 and grows with every term; documents lie side by side on this row, with a gap between
them, so that a phrase is terms at places that follow each other and never spans two documents.

Most places are *settled*: those of all terms in one array, term by term. What was added since lies in a tail, in the
order in which it came, and is looked through; `settle` moves it to the others, by one sort. Taking a document out
(`drop`) hides its places at once; `purge` removes them for good, and terms without places are forgotten: nothing of its
words stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from muniment.search.document_table import WIDE, packed, pages, unpacked

Places = NDArray[np.uint32]
PLACE = "I"  # 32 bits
PLACES_MAX = 2**32
TAIL_PLACES_MAX = 2**16  # are looked through without a thought
TAIL_BUILT_MAX = 2**19  # while an index is being made
BLOCK_PLACES = 2**18  # moved at a time
TAIL_SHARE = 8  # a tail is settled when it is more than so many-th part of what is
TERM_BYTES = 130  # what a short string and its entry in a table take
NONE: Places = np.empty(0, np.uint32)


class Vocabulary(dict[str, int]):
    """A number for each term; one that is asked for is there from then on. Numbers are in the order of the table."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class Runs:
    """Where the runs of the tail begin: in the tail, and on the row of all places."""

    def __init__(self) -> None:
        self._begins, self._firsts = array(WIDE), array(WIDE)

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        return 2 * self._begins.itemsize * len(self._begins)

    def begin(self, at: int, first: int) -> None:
        """Let what comes from `at` on stand at places from `first` on."""
        self._begins.append(at)
        self._firsts.append(first)

    def places(self, at: NDArray[np.int64]) -> Places:
        """Return the places of what is in the tail at these points."""
        begins, firsts = self._columns()
        run = np.searchsorted(begins, at, "right") - 1
        return (firsts[run] + at - begins[run]).astype(np.uint32)

    def stretch(self, first: int, end: int) -> Places:
        """Return the places of what is in the tail from one point to before another one, where there is anything."""
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
        self._tail = array(PLACE)  # terms as they came, in runs at places that follow each other
        self._runs = Runs()
        self._later: dict[int, Places] = {}  # those in the tail, of terms that were asked for
        self._later_of = 0  # how long the tail was then
        self._gone: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        tail = self._tail.itemsize * len(self._tail) + self._runs.memory_bytes
        return self._places.nbytes + self._starts.nbytes + tail + TERM_BYTES * len(self._numbers)

    @property
    def unsettled(self) -> bool:
        """Whether the tail is so long that looking through it costs more than settling it."""
        return len(self._tail) > max(TAIL_PLACES_MAX, len(self._places) // TAIL_SHARE)

    def add(self, terms: Sequence[str], first: int) -> None:
        """Put terms at places that follow each other, behind all that were put before."""
        self._runs.begin(len(self._tail), first)
        self._tail.extend(map(self._numbers.__getitem__, terms))

    def add_beside(self, term: str, place: int) -> None:
        """Put a term at a place where another one stands already."""
        self.add([term], place)

    def of(self, term: str) -> Places:
        """Return the places of a term, ascending."""
        number = self._numbers.get(term)
        if number is None:
            return NONE
        found = self._of(number)
        return found[self._there(found)] if self._gone else found

    def _of(self, number: int) -> Places:
        settled = NONE
        if number < len(self._starts) - 1:
            settled = self._places[self._starts[number] : self._starts[number + 1]]
        if not self._tail:
            return settled
        later = self._in_tail(number)
        return np.concatenate([settled, later]) if len(later) else settled

    def _in_tail(self, number: int) -> Places:
        """Return the places of a term in the tail, which is looked through once as long as nothing is added."""
        if self._later_of != len(self._tail):
            self._later, self._later_of = {}, len(self._tail)
        found = self._later.get(number)
        if found is None:
            terms = np.frombuffer(self._tail, np.uint32)
            found = self._later[number] = self._runs.places(np.flatnonzero(terms == number))
        return found

    def count(self, term: str) -> int:
        """Return at how many places a term stands."""
        return len(self.of(term))

    # --- taking out ---------------------------------------------------------------------------------------------------

    def drop(self, spans: Sequence[tuple[int, int]]) -> None:
        """Hide all places in half-open spans, which do not overlap, from now on."""
        self._gone = sorted([*self._gone, *spans])

    def purge(self) -> None:
        """Remove for good what was dropped, and forget the terms that stood nowhere else."""
        if self._gone:
            self.settle()
            blocks = range(0, len(self._places), BLOCK_PLACES)
            there = [self._there(self._places[first : first + BLOCK_PLACES]) for first in blocks]
            self._keep(np.concatenate([np.empty(0, np.bool_), *there]))
            self._gone = []

    def renumber(self, shift: NDArray[np.uint32]) -> None:
        """Lower each place by what `shift` says of it; what was dropped is purged."""
        self.purge()
        self.settle()
        self._places = self._places - shift[self._places]

    def settle(self) -> None:
        """Put the tail to what is settled."""
        if not self._tail:
            return
        counts = np.diff(self._starts, append=np.repeat(self._starts[-1], len(self._numbers) + 1 - len(self._starts)))
        parts = range(0, len(self._tail), BLOCK_PLACES)
        starts = np.concatenate([[0], np.cumsum(sum((self._often(first) for first in parts), counts))])
        places = pages(int(starts[-1]), np.uint32)
        _spread(places, starts[:-1], counts, self._places)
        behind = starts[:-1] + counts
        for first in parts:
            often = self._often(first)
            _spread(places, behind, often, self._by_term(first))
            behind += often
        self._starts, self._places = starts, places
        self._tail, self._runs = array(PLACE), Runs()
        self._later, self._later_of = {}, 0

    def _often(self, first: int) -> NDArray[np.int64]:
        """Return how often each term stands in a part of the tail."""
        terms = np.frombuffer(self._tail, np.uint32)[first : first + BLOCK_PLACES]
        return np.bincount(terms, minlength=len(self._numbers))

    def _by_term(self, first: int) -> Places:
        """Return the places in a part of the tail, term by term."""
        terms = np.frombuffer(self._tail, np.uint32)[first : first + BLOCK_PLACES]
        keys = terms.astype(np.uint64) << np.uint64(32) | self._runs.stretch(first, first + len(terms))
        keys.sort()
        return keys.astype(np.uint32)  # the lower half

    def settle_much(self) -> None:
        """Put the tail to what is settled when it is half as long."""
        if len(self._tail) > max(TAIL_BUILT_MAX, len(self._places) // 2):
            self.settle()

    def _there(self, places: Places) -> NDArray[np.bool_]:
        """Tell which places were not dropped."""
        firsts, ends = (np.array(each, np.int64) for each in zip(*self._gone, strict=True))
        at = np.searchsorted(firsts, places, "right") - 1
        return np.asarray((at < 0) | (places >= ends[np.maximum(at, 0)]))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        if not len(kept):
            return
        counts = np.add.reduceat(kept, self._starts[:-1], dtype=np.int64)  # no term is without a place
        self._places = self._places[kept]
        left = np.flatnonzero(counts).tolist()
        self._starts = np.concatenate([[0], np.cumsum(counts[left])])
        if len(left) < len(self._numbers):
            terms = list(self._numbers)
            self._numbers = Vocabulary((terms[old], number) for number, old in enumerate(left))

    # --- what it is ---------------------------------------------------------------------------------------------------

    def by_place(self) -> tuple[Places, list[str]]:
        """Return all places in their order, and the term at each."""
        self.purge()
        self.settle()
        terms = list(self._numbers)
        order = np.argsort(self._places, kind="stable")
        numbers = np.repeat(np.arange(len(terms)), np.diff(self._starts))[order]
        return self._places[order], [terms[number] for number in numbers.tolist()]

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield all that is known as named bytes."""
        self.purge()
        self.settle()
        yield "terms", "\n".join(self._numbers).encode()  # no term has a line in it
        yield "often", packed(np.diff(self._starts))
        yield "places", self._places.astype("<u4").tobytes()

    @classmethod
    def of_sections(cls, sections: Mapping[str, bytes]) -> Postings:
        """Return what sections say."""
        made = cls()
        terms = sections["terms"].decode()
        made._numbers = Vocabulary(zip(terms.split("\n") if terms else [], range(PLACES_MAX)))  # noqa: B905 - endless
        made._starts = np.concatenate([[0], np.cumsum(unpacked(sections["often"]))])
        made._places = np.frombuffer(sections["places"], "<u4").astype(np.uint32, copy=False)
        return made


def _spread(target: Places, starts: NDArray[np.int64], counts: NDArray[np.int64], values: Places) -> None:
    """Put values, which come in stretches of these counts, where each stretch is to start."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + BLOCK_PLACES, "right")))
        here, size = counts[first:last], int(ends[last - 1]) - done
        shifts = np.repeat(starts[first:last] - (ends[first:last] - here - done), here)
        target[shifts + np.arange(size)] = values[done : done + size]
        first = last
