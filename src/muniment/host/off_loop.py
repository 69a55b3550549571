"""What adapters to asynchronous frameworks share: blocking calls in worker threads, and the store of an adapter."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from muniment.runtime.open import open as open_runtime
from muniment.runtime.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what a blocking call returns; it runs in a worker thread, and the loop goes on.

    When the caller is cancelled, the call is still made and finishes: an append is never half done, nor lost.
    """
    return await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(functools.partial(call, *args, **named))))


class AdaptedStore:
    """The store of an adapter: a runtime of the host, which stays open, or a path, opened and closed here."""

    def __init__(self, store: Runtime | str | Path) -> None:
        self.runtime = store if isinstance(store, Runtime) else open_runtime(store)
        self._is_own = self.runtime is not store

    def close(self) -> None:
        """Close what was opened here. A repeat does nothing."""
        if self._is_own:
            self._is_own = False
            self.runtime.close()
