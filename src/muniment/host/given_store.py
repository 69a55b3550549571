"""The store that an adapter is given: a runtime that is the host's, or a path, whose runtime is the adapter's."""

from __future__ import annotations

from pathlib import Path

from muniment.runtime.open import open as open_runtime
from muniment.runtime.runtime import Runtime

StoreGiven = Runtime | str | Path


class GivenStore:
    """A runtime, and whether closing it is the adapter's affair."""

    def __init__(self, store: StoreGiven) -> None:
        self._is_own = not isinstance(store, Runtime)
        self.runtime = store if isinstance(store, Runtime) else open_runtime(store)

    def close(self) -> None:
        """Close the runtime if it was opened here; a second call does nothing."""
        if self._is_own:
            self.runtime.close()
