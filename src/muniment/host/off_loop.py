"""What adapters to asynchronous frameworks share: blocking calls in worker threads, and the store of an adapter."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from muniment.errors import StoreClosed
from muniment.runtime.open import open as open_runtime
from muniment.runtime.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what a blocking call returns; it runs in a worker thread, and the loop goes on.

    When the caller is cancelled, or the loop ends, the call is still made and finishes, and only then the caller is
    cancelled: an append is never half done, lost, or unknown. No task waits for it, because a loop that ends cancels
    its tasks.
    """
    called = functools.partial(copy_context().run, call, *args, **named)
    running = asyncio.get_running_loop().run_in_executor(None, called)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # nobody waits for it any more
        raise cancelled
    return running.result()


class AdaptedStore:
    """The store of an adapter: a runtime of the host, which stays open, or a path, opened and closed here."""

    def __init__(self, store: Runtime | str | Path) -> None:
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
