"""Which part of a space a document belongs to, so that a recall reads nothing that its subject may not see.

A partition is a name: a plane and whose it is. Messages belong to the partition of their turn's subject, memory items
to that of their plane and subject. Names have no line ends (`events.identity`), so no two partitions have one name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

MESSAGES = "transcript"


def partition(plane: str, subject: str) -> str:
    """Return the name of a partition."""
    return f"{plane}\n{subject}"


class Partitions:
    """The partitions of the documents of an index by number."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}

    def number(self, name: str) -> int:
        """Return the number of a partition, a new one for a new name."""
        return self._numbers.setdefault(name, len(self._numbers))

    def known(self, name: str) -> int | None:
        """Return the number of a partition if there is one."""
        return self._numbers.get(name)

    def beginning(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin with a text."""
        return (name for name in self._numbers if name.startswith(prefix))

    def names(self) -> list[str]:
        """Return the names by number."""
        return list(self._numbers)

    def compact(self, column: NDArray[np.int64]) -> Partitions:
        """Return the partitions in a column alone, and number it again."""
        names = list(self._numbers)
        present, numbers = np.unique(column, return_inverse=True)
        column[:] = numbers
        return Partitions([names[number] for number in present.tolist()])
