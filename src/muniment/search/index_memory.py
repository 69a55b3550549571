"""The memory that the indexes of an open store may take: the least recently used one is evicted first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from muniment.kernel.locks import new_lock


class Evictable(Protocol):
    """An index in memory."""

    def evict(self) -> bool:
        """Give up the memory; return whether it did, which it does not while it is in use."""
        ...


class IndexMemory:
    """The memory for the indexes of an open store, across its spaces. Thread-safe."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._lock = new_lock()
        self._sizes: OrderedDict[Evictable, int] = OrderedDict()

    @property
    def memory_bytes(self) -> int:
        """How much memory the indexes take, about."""
        with self._lock:
            return sum(self._sizes.values())

    def use(self, index: Evictable, memory_bytes: int) -> None:
        """Note that an index is used and what it takes; the last one stays, however large it is."""
        with self._lock:
            self._sizes[index] = memory_bytes
            self._sizes.move_to_end(index)
            over = sum(self._sizes.values()) - self.bytes_max
            evicted: list[Evictable] = []
            for other, size in self._sizes.items():
                if over <= 0 or other is index:
                    break
                evicted.append(other)
                over -= size
        for other in evicted:  # not under the lock: it writes a snapshot first
            if other.evict():
                self.remove(other)

    def remove(self, index: Evictable) -> None:
        """Note that an index takes no memory any more."""
        with self._lock:
            self._sizes.pop(index, None)
