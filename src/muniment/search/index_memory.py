"""How much memory the indexes of an open store may take: the one that was not asked for the longest leaves first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol


class Evictable(Protocol):
    """An index in the room."""

    def leave(self) -> bool:
        """Give up the memory; return whether it did, which it does not while it is in use."""
        ...


class IndexMemory:
    """The memory for the indexes of an open store, across its spaces. Thread-safe."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._lock = threading.Lock()
        self._guests: OrderedDict[Evictable, int] = OrderedDict()

    @property
    def memory_bytes(self) -> int:
        """How much memory the guests take, about."""
        with self._lock:
            return sum(self._guests.values())

    def enter(self, guest: Evictable, memory_bytes: int) -> None:
        """Note that a guest is used and what it takes; the last one stays, however large it is."""
        with self._lock:
            self._guests[guest] = memory_bytes
            self._guests.move_to_end(guest)
            over = sum(self._guests.values()) - self.bytes_max
            leaving: list[Evictable] = []
            for other, taken in self._guests.items():
                if over <= 0 or other is guest:
                    break
                leaving.append(other)
                over -= taken
        for other in leaving:  # not under the lock: who leaves writes a snapshot first
            if other.leave():
                self.left(other)

    def left(self, guest: Evictable) -> None:
        """Note that a guest takes nothing any more."""
        with self._lock:
            self._guests.pop(guest, None)
