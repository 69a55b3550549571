"""The runtimes that a request has got: whoever answers it, they are closed behind it.

The space of a runtime that is not closed stays open, so a server with many spaces gives each back as soon as it can.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from muniment.runtime.runtime import Runtime


_entered: ContextVar[list[Runtime]] = ContextVar("entered")


async def one_request(answer: Awaitable[None]) -> None:
    """Await the answer to a request, and close behind it the runtimes that it got."""
    entered: list[Runtime] = []
    token = _entered.set(entered)
    try:
        await answer
    finally:
        _entered.reset(token)
        if entered:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_close, entered)


def got(runtime: Runtime) -> None:
    """Note a runtime that the present request has got."""
    _entered.get([]).append(runtime)


@contextmanager
def used_up(runtime: Runtime) -> Iterator[None]:
    """Close a runtime of this request behind the block, in the thread of the block."""
    try:
        yield
    finally:
        runtime.close()
        _entered.get([runtime]).remove(runtime)


def _close(runtimes: list[Runtime]) -> None:
    for runtime in runtimes:
        runtime.close()
