"""Which terms stand where: for each term, its places in one long row of all terms that were ever added.

A place is a number below 2^32 and grows with every term; documents lie side by side on this row, with a gap between
them, so that a phrase is terms at places that follow each other and never spans two documents. Taking a document out
(`purge`) removes its places from every term, and terms without places are forgotten: nothing of its words stays.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.uint32]
PLACE = "I"  # 32 bits
NONE: Places = np.empty(0, np.uint32)


def _places() -> array[int]:
    return array(PLACE)


class Postings:
    """Places by term. For one thread at a time."""

    def __init__(self) -> None:
        self._places: defaultdict[str, array[int]] = defaultdict(_places)

    def __len__(self) -> int:
        return len(self._places)

    def add(self, terms: Sequence[str], first: int) -> None:
        """Put terms at places that follow each other, behind all that were put before."""
        places = self._places
        for place, term in enumerate(terms, start=first):
            places[term].append(place)

    def add_beside(self, term: str, place: int) -> None:
        """Put a term at a place where another one stands already."""
        self._places[term].append(place)

    def of(self, term: str) -> Places:
        """Return the places of a term, ascending."""
        found = self._places.get(term)
        return NONE if found is None else np.array(found, np.uint32)

    def count(self, term: str) -> int:
        """Return at how many places a term stands."""
        return len(self._places.get(term, ()))

    def of_phrase(self, phrase: Sequence[str]) -> Places:
        """Return the places at which a phrase begins, ascending."""
        found = self.of(phrase[0])
        for offset, term in enumerate(phrase[1:], start=1):
            if not len(found):
                break
            found = np.intersect1d(found, self.of(term) - np.uint32(offset), assume_unique=True)
        return found

    def purge(self, spans: Sequence[tuple[int, int]]) -> None:
        """Remove all places in half-open spans."""
        empty: list[str] = []
        for term, places in self._places.items():
            for first, end in spans:
                low = bisect_left(places, first)
                if low < len(places) and places[low] < end:
                    del places[low : bisect_left(places, end, low)]
            if not places:
                empty.append(term)
        for term in empty:
            del self._places[term]

    def items(self) -> Iterator[tuple[str, array[int]]]:
        """Yield every term with its places."""
        yield from self._places.items()
