"""The store of an adapter: a runtime of the host, or a path, whose runtime is the adapter's."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from muniment.errors import StoreClosed
from muniment.runtime.open import open as open_runtime
from muniment.runtime.runtime import Runtime

StoreGiven = Runtime | str | Path


class AdaptedStore:
    """A runtime of the host, which stays open, or one that is opened here at a path, and closed by `close`."""

    def __init__(self, store: StoreGiven) -> None:
        self._runtime = store if isinstance(store, Runtime) else open_runtime(store)
        self._is_own = self._runtime is not store
        self._is_closed = False

    @property
    def runtime(self) -> Runtime:
        """The runtime; raises `store.closed` after `close`."""
        if self._is_closed:
            raise StoreClosed
        return self._runtime

    def close(self) -> None:
        """Close what was opened here. A repeat does nothing."""
        if self._is_own and not self._is_closed:
            self._runtime.close()
        self._is_closed = True


class OnAdaptedStore:
    """An adapter that is closed with its store, also by `with`."""

    __slots__ = ()
    _store: AdaptedStore

    def close(self) -> None:
        """Close the store if it was opened here; a second call does nothing."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
