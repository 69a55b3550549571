"""What was used of late, up to a size; what was used longest ago makes room. Not thread-safe."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Sized(NamedTuple, Generic[V]):
    """A value and its size."""

    value: V
    size: int


class RecentlyUsed(Generic[K, V]):
    """Values by key, together of no more than `size_max`, in bytes or in number, as `put` says; none that is larger."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        self.size = 0
        self._kept: OrderedDict[K, Sized[V]] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def get(self, key: K) -> V | None:
        """Return a value, which was used then, or None."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found.value

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Keep a value, in the place of the one that the key had."""
        self.drop(key)
        self._kept[key] = Sized(value, size)
        self.size += size
        while self.size > self.size_max:
            _, oldest = self._kept.popitem(last=False)
            self.size -= oldest.size

    def drop(self, key: K) -> None:
        """Keep no value of a key."""
        dropped = self._kept.pop(key, None)
        self.size -= 0 if dropped is None else dropped.size

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()
        self.size = 0
