"""The spaces of an open store that are open, and which of them are closed when others need the room.

Whoever works in a space enters it and leaves it again. One that nobody is in may be closed: its head is signed and
pinned, what is worth it is kept at rest, and its memory and files are given back. Whoever enters it next opens it
again, so nobody ever has a space that was closed by others. That happens when more than `spaces_max` would be open; the
one that nobody entered for longest goes first. Those that somebody is in stay, however many they are, and the last of
them to leave makes the room.

Spaces are opened and closed one at a time. Entering one that is open waits for none of that.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from muniment.errors import MunimentError
from muniment.kernel.locks import new_lock


class Closable(Protocol):
    """An open space, as far as this is concerned."""

    def close(self) -> None:
        """Give back what it has."""
        ...


Opened = TypeVar("Opened", bound=Closable)


class EnteredSpace(Generic[Opened]):
    """An open space and how many are in it."""

    def __init__(self, space: Opened) -> None:
        self.space = space
        self.entered = 1


class OpenSpaces(Generic[Opened]):
    """The open spaces of a store, the one that was entered last at the end. Thread-safe."""

    def __init__(self, spaces_max: int | None) -> None:
        self._spaces_max = spaces_max
        self._open: OrderedDict[str, EnteredSpace[Opened]] = OrderedDict()
        self._changing = new_lock()  # held by whoever opens or closes; always taken before the other
        self._lock = new_lock()

    def enter(self, name: str, make: Callable[[], Opened]) -> Opened:
        """Return a space, made now unless it is open; it stays open until it was left as often as it was entered."""
        known = self._entered(name)
        if known is not None:
            return known
        with self._changing:
            known = self._entered(name)
            if known is not None:
                return known
            self._make_room(for_one=True)
            space = make()
            with self._lock:
                self._open[name] = EnteredSpace(space)
            return space

    def leave(self, name: str) -> None:
        """Leave a space that was entered; where too many are open by now, wait until it is closed."""
        with self._lock:
            if name in self._open:  # otherwise the whole store was closed
                self._open[name].entered -= 1
            is_over = self._over(0) > 0
        if is_over:
            with self._changing:
                self._make_room()

    def lease(self, name: str) -> Callable[[], None]:
        """Return what leaves a space that was entered; a second call does nothing."""
        left: list[Callable[[str], None]] = [self.leave]

        def leave() -> None:
            with contextlib.suppress(IndexError):  # somebody was here first
                left.pop()(name)

        return leave

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[list[Opened]]:
        """Give the open spaces; none is opened or closed meanwhile."""
        with self._changing:
            yield self.listed()

    def holds(self, name: str) -> bool:
        """Tell whether a space is open."""
        return name in self._open

    def listed(self) -> list[Opened]:
        """Return the open spaces."""
        with self._lock:
            return [each.space for each in self._open.values()]

    def clear(self) -> list[Opened]:
        """Forget the open spaces and return them, for whoever closes them all."""
        with self._changing, self._lock:
            spaces = [each.space for each in self._open.values()]
            self._open.clear()
        return spaces

    def _entered(self, name: str) -> Opened | None:
        with self._lock:
            known = self._open.get(name)
            if known is None:
                return None
            known.entered += 1
            self._open.move_to_end(name)
            return known.space

    def _make_room(self, *, for_one: bool = False) -> None:
        """Close spaces until there are few enough, or somebody is in all that are left."""
        with self._lock:
            idle = [name for name, each in self._open.items() if not each.entered]
            leaving = [self._open.pop(name).space for name in idle[: self._over(int(for_one))]]
        for space in leaving:
            with contextlib.suppress(MunimentError):  # whoever opens it next is told what is wrong with it
                space.close()

    def _over(self, more: int) -> int:
        """Return how many spaces too many there are, with some more."""
        return 0 if self._spaces_max is None else max(0, len(self._open) + more - self._spaces_max)
