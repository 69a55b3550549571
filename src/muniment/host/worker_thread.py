"""Operations of a runtime for a framework that awaits them: each in a worker thread, so that no event loop waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_worker_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a worker thread and return what it returns.

    Cancelling the caller does not end the call: what was begun, an append above all, is finished.
    """
    return await asyncio.shield(asyncio.to_thread(function, *args, **kwargs))
