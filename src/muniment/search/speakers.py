"""Who said the documents of an index: a number for each name, and whether anything of theirs is there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


class Speakers:
    """The speakers by number. Those of whom nothing is there any more are named to nobody."""

    def __init__(self, words: Callable[[str], list[str]], names: Sequence[str] = ()) -> None:
        self._words = words
        self._numbers: dict[str, int] = {}
        self._named: defaultdict[str, list[int]] = defaultdict(list)  # term -> speakers with it in their name
        self._said: Counter[int] = Counter()
        for name in names:
            self.number(name)

    def number(self, name: str) -> int:
        """Return the number of a speaker, who is known from then on."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            for term in dict.fromkeys(self._words(name)):
                self._named[term].append(number)
        return number

    def says(self, name: str) -> int:
        """Count a document of a speaker; return the number of the speaker."""
        number = self._numbers.get(name)
        if number is None:
            number = self.number(name)
        self._said[number] += 1
        return number

    def unsays(self, numbers: Sequence[int]) -> None:
        """Count a document less for each of these."""
        self._said.subtract(numbers)

    def names(self) -> list[str]:
        """Return the names by number; empty for those of whom nothing is there."""
        return [name if self._said[number] else "" for name, number in self._numbers.items()]

    def named(self, term: str) -> list[int]:
        """Return the speakers with a term in their name, as far as they said anything that is there."""
        return [number for number in self._named.get(term, ()) if self._said[number]]

    def compact(self, column: NDArray[np.int64]) -> Speakers:
        """Return those who are in a column alone, which is numbered anew."""
        names = list(self._numbers)
        said, numbers, often = np.unique(column, return_inverse=True, return_counts=True)
        column[:] = numbers
        made = Speakers(self._words, [names[number] for number in said.tolist()])
        made.count(often.tolist())
        return made

    def count(self, often: Sequence[int]) -> None:
        """Let each have said as many documents as they are counted here, in the order of the numbers."""
        self._said = Counter(dict(enumerate(often)))
