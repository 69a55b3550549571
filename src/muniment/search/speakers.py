"""The speakers of the documents of an index: a number for each name, and how many documents each has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


class Speakers:
    """The speakers by number. One without documents has no name any more."""

    def __init__(self, words: Callable[[str], list[str]], names: Sequence[str] = ()) -> None:
        self._words = words
        self._numbers: dict[str, int] = {}
        self._named: defaultdict[str, list[int]] = defaultdict(list)  # term -> speakers with it in their name
        self._counts: Counter[int] = Counter()
        for name in names:
            self.number(name)

    def number(self, name: str) -> int:
        """Return the number of a speaker, a new one for a new name."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            for term in dict.fromkeys(self._words(name)):
                self._named[term].append(number)
        return number

    def count(self, name: str) -> int:
        """Count a document of a speaker; return the number of the speaker."""
        number = self._numbers.get(name)
        if number is None:
            number = self.number(name)
        self._counts[number] += 1
        return number

    def uncount(self, numbers: Sequence[int]) -> None:
        """Count a document less for each of these."""
        self._counts.subtract(numbers)

    def names(self) -> list[str]:
        """Return the names by number; empty for speakers without documents."""
        return [name if self._counts[number] else "" for name, number in self._numbers.items()]

    def named(self, term: str) -> list[int]:
        """Return the speakers of documents with a term in their name."""
        return [number for number in self._named.get(term, ()) if self._counts[number]]

    def compact(self, column: NDArray[np.int64]) -> Speakers:
        """Return the speakers in a column alone, and number it again."""
        names = list(self._numbers)
        present, numbers, counts = np.unique(column, return_inverse=True, return_counts=True)
        column[:] = numbers
        made = Speakers(self._words, [names[number] for number in present.tolist()])
        made.set_counts(counts.tolist())
        return made

    def set_counts(self, counts: Sequence[int]) -> None:
        """Set how many documents each speaker has, in the order of the numbers."""
        self._counts = Counter(dict(enumerate(counts)))
