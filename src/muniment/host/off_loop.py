"""Blocking calls of an asynchronous framework, each in a worker thread, so that no event loop waits."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextvars import copy_context
from typing import ParamSpec, TypeVar

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
