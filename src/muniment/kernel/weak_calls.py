"""Methods that are called when something happens, of objects that are not kept alive for it."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakMethod


class WeakCalls:
    """Methods of objects that may go at any time. None of them may raise. Thread-safe."""

    def __init__(self) -> None:
        self._methods: set[WeakMethod[Callable[[], object]]] = set()

    def add(self, method: Callable[[], object]) -> None:
        """Call a method from now on, for as long as there is the object that it is of."""
        self._methods.add(WeakMethod(method, self._methods.discard))

    def __call__(self) -> None:
        """Call every method once."""
        for kept in tuple(self._methods):
            if (method := kept()) is not None:
                method()
