"""The same noun groups for asyncio: every operation of an open store runs in a worker thread.

    async with await muniment.aio.open("memory:") as runtime:
        await runtime.transcripts.commit(turn)

Those of a served store (`connect`) run where it is, and no thread waits for them. Made from the groups themselves;
there is no second implementation, and `aio.pyi`, which types it, is generated from them. Cancelling the caller does not
cancel an operation that is running: a commit is then durable or not, and repeating it reports which.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from muniment.client.connect import DEFAULTS, connect_on_loop
from muniment.client.destination import ConnectOptions
from muniment.declaration.operation import Group
from muniment.declaration.operation_gate import Elsewhere
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
        runs_elsewhere = isinstance(self._group.gate, Elsewhere)  # and is awaited as it is
        return operation if runs_elsewhere else functools.partial(asyncio.to_thread, operation)


class AsyncRuntime:
    """A runtime whose operations are awaited: the noun groups, as `Runtime` has them."""

    def __init__(self, runtime: Runtime, close: Callable[[], Awaitable[None]] | None = None) -> None:
        self._runtime = runtime
        self._close = close or functools.partial(asyncio.to_thread, runtime.close)

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
        """Sign and pin the head, then close the store; of a served one, close the connections."""
        await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def open(*args: Any, **named: Any) -> AsyncRuntime:  # noqa: A001 - the asynchronous muniment.open()
    """Open a store as `muniment.open` does, in a worker thread."""
    return AsyncRuntime(await asyncio.to_thread(functools.partial(open_runtime, *args, **named)))


async def connect(
    url: str, *, key: str | None = None, verify: bool | str | Path = True, options: ConnectOptions = DEFAULTS
) -> AsyncRuntime:
    """Connect to a server as `muniment.connect` does; calls wait on the event loop."""
    connected = functools.partial(connect_on_loop, url, key=key, verify=verify, options=options)
    return AsyncRuntime(*await asyncio.to_thread(connected))
