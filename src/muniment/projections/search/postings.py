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

from muniment.projections.search.rows import packed, unpacked

Places = NDArray[np.uint32]
PLACE = "I"  # 32 bits
PLACES_MAX = 2**32
TAIL_PLACES_MAX = 2**16  # are looked through without a thought
TAIL_BUILT_MAX = 2**19  # while an index is being made
BLOCK_PLACES = 2**20  # moved at a time
TAIL_SHARE = 8  # a tail is settled when it is more than so many-th part of what is
TERM_BYTES = 130  # what a short string and its entry in a table take
NONE: Places = np.empty(0, np.uint32)


class Vocabulary(dict[str, int]):
    """A number for each term; one that is asked for is there from then on. Numbers are in the order of the table."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class Postings:
    """Places by term. For one thread at a time."""

    def __init__(self) -> None:
        self._numbers = Vocabulary()
        self._starts = np.zeros(1, np.int64)  # where the settled places of each term begin, and where all end
        self._places = NONE
        self._tail_terms, self._tail_places = array(PLACE), array(PLACE)
        self._later: dict[int, Places] = {}  # those in the tail, of terms that were asked for
        self._later_of = 0  # how long the tail was then
        self._gone: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        tail = self._tail_places.itemsize * 2 * len(self._tail_places)
        return self._places.nbytes + self._starts.nbytes + tail + TERM_BYTES * len(self._numbers)

    @property
    def unsettled(self) -> bool:
        """Whether the tail is so long that looking through it costs more than settling it."""
        return len(self._tail_places) > max(TAIL_PLACES_MAX, len(self._places) // TAIL_SHARE)

    def add(self, terms: Sequence[str], first: int) -> None:
        """Put terms at places that follow each other, behind all that were put before."""
        numbers = self._numbers
        self._tail_terms.extend([numbers[term] for term in terms])
        self._tail_places.extend(range(first, first + len(terms)))

    def add_beside(self, term: str, place: int) -> None:
        """Put a term at a place where another one stands already."""
        self._tail_terms.append(self._numbers[term])
        self._tail_places.append(place)

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
        if not self._tail_terms:
            return settled
        later = self._in_tail(number)
        return np.concatenate([settled, later]) if len(later) else settled

    def _in_tail(self, number: int) -> Places:
        """Return the places of a term in the tail, which is looked through once as long as nothing is added."""
        if self._later_of != len(self._tail_terms):
            self._later, self._later_of = {}, len(self._tail_terms)
        found = self._later.get(number)
        if found is None:
            terms, places = np.frombuffer(self._tail_terms, np.uint32), np.frombuffer(self._tail_places, np.uint32)
            found = self._later[number] = places[terms == number]
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
        if not self._tail_terms:
            return
        terms = np.frombuffer(self._tail_terms, np.uint32).astype(np.uint64)
        keys = terms << np.uint64(32) | np.frombuffer(self._tail_places, np.uint32)
        keys.sort()
        tail_counts = np.bincount(terms.astype(np.int64), minlength=len(self._numbers))
        counts = np.zeros(len(self._numbers), np.int64)
        counts[: len(self._starts) - 1] = np.diff(self._starts)
        starts = np.concatenate([[0], np.cumsum(counts + tail_counts)])
        places = np.empty(int(starts[-1]), np.uint32)
        _spread(places, starts[:-1], counts, self._places)
        _spread(places, starts[:-1] + counts, tail_counts, keys.astype(np.uint32))  # the lower half: the place
        self._starts, self._places = starts, places
        self._tail_terms, self._tail_places = array(PLACE), array(PLACE)
        self._later, self._later_of = {}, 0

    def settle_much(self) -> None:
        """Put the tail to what is settled when it is half as long."""
        if len(self._tail_places) > max(TAIL_BUILT_MAX, len(self._places) // 2):
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
