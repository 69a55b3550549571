"""The same noun groups for asyncio: every operation runs in a worker thread.

    async with await muniment.aio.open("memory:") as runtime:
        await runtime.transcripts.commit(turn)

Made from the groups themselves; there is no second implementation, and `aio.pyi`, which types it, is generated from
them. Cancelling the caller does not cancel an operation that is running: a commit is then durable or not, and repeating
it reports which.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from muniment.declaration.operation import Group
from muniment.governance.access import Access
from muniment.runtime.catalogue import GROUPS
from muniment.runtime.open import open as open_runtime
from muniment.runtime.runtime import Runtime


class AsyncGroup:
    """A noun group whose operations are awaited."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        operation = getattr(self._group, name)
        if not hasattr(operation, "__operation__"):
            raise AttributeError(name)
        return functools.partial(asyncio.to_thread, operation)


class AsyncRuntime:
    """A runtime whose operations are awaited: the noun groups, as `Runtime` has them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __getattr__(self, name: str) -> AsyncGroup:
        if name not in GROUPS:
            raise AttributeError(name)
        return AsyncGroup(getattr(self._runtime, name))

    @property
    def access(self) -> Access:
        """The rights of this runtime."""
        return self._runtime.access

    def restricted(self, access: Access) -> AsyncRuntime:
        """Return an asynchronous runtime on the same space with fewer rights."""
        return AsyncRuntime(self._runtime.restricted(access))

    async def space(self, name: str, *, create: bool = True) -> AsyncRuntime:
        """Return an asynchronous runtime on another space of the same open store."""
        return AsyncRuntime(await asyncio.to_thread(self._runtime.space, name, create=create))

    async def close(self) -> None:
        """Sign and pin the head, then close the store."""
        await asyncio.to_thread(self._runtime.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def open(*args: Any, **named: Any) -> AsyncRuntime:  # noqa: A001 - the asynchronous muniment.open()
    """Open a store as `muniment.open` does, in a worker thread."""
    return AsyncRuntime(await asyncio.to_thread(functools.partial(open_runtime, *args, **named)))
