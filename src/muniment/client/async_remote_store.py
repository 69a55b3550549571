"""A store that another process serves, for an event loop: `remote_store` with awaits in the place of waits."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import httpx2

from muniment.client.exchange import OK, HttpAnswer, HttpCall, Loss, exchange
from muniment.client.received_file import received_file
from muniment.client.remote_store import RemoteCalls, answer_of, file_answer, loss_of
from muniment.client.uploads import UploadBody, upload_body
from muniment.declaration.operation import Request
from muniment.declaration.operation_gate import Elsewhere
from muniment.errors import StoreClosed


class AsyncRemoteStore(Elsewhere):
    """A store behind a server. Each event loop has connections of its own."""

    def __init__(self, calls: RemoteCalls) -> None:
        self._calls = calls
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncHTTPTransport] = (
            weakref.WeakKeyDictionary()
        )
        self._is_closed = False

    async def call(self, operation: str, request: Request, upload: object, download: BinaryIO | None) -> Any:
        """Have an operation run where the store is; await its report."""
        asked = self._calls.operation(operation)
        with upload_body(asked, upload) as body, received_file(asked, request, download) as file:
            steps = exchange(asked, request, (body, file), self._calls.options, self._calls.sources)
            outcome: HttpAnswer | Loss | None = None
            while True:
                try:
                    step = steps.send(outcome)
                except StopIteration as ended:
                    return ended.value
                if isinstance(step, float):
                    await asyncio.sleep(step)
                    outcome = None
                else:
                    outcome = await self._sent(step)

    async def close(self) -> None:
        """Close the connections of this loop. Whatever is called behind that raises `store.closed`."""
        self._is_closed = True
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    async def _sent(self, call: HttpCall) -> HttpAnswer | Loss:
        if self._is_closed:
            raise StoreClosed
        content = _pieces(call.body) if isinstance(call.body, UploadBody) else call.body
        try:
            response = await self._pool().handle_async_request(self._calls.request(call, content))
            try:
                if call.file is None or response.status_code != OK:
                    return answer_of(response, await response.aread())
                with call.file.receiving(response.headers.get("repr-digest")) as file:
                    async for piece in response.aiter_bytes():
                        await asyncio.to_thread(file.write, piece)
                return file_answer(response)
            finally:
                await response.aclose()
        except httpx2.TransportError as fault:
            return loss_of(fault)

    def _pool(self) -> httpx2.AsyncHTTPTransport:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = httpx2.AsyncHTTPTransport(verify=self._calls.verify, limits=self._calls.limits)
            self._pools[loop] = pool
        return pool


async def _pieces(body: UploadBody) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(body.piece):
        yield piece
