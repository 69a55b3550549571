"""A store that another process serves: calls over a pool of connections that stay open between them.

Thread-safe. A child that was forked makes connections of its own and leaves those of its parent alone.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import httpx2

from muniment.client.destination import ConnectOptions, Destination
from muniment.client.exchange import OK, HttpAnswer, HttpCall, Loss, exchange
from muniment.client.received_file import received_file
from muniment.client.uploads import UploadBody, upload_body
from muniment.declaration.http_wire import JSON, REPORT
from muniment.declaration.operation import Operation, Request
from muniment.declaration.operation_gate import Elsewhere
from muniment.errors import FileUnavailable, InvalidInput, StoreClosed
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue

IDLE_S = 10.0  # less than a server leaves a connection open, so that none is used that is being closed

# what the library raises -> what that means for a call; the first that fits
LOSSES: tuple[tuple[type[httpx2.TransportError], Loss], ...] = (
    (httpx2.ConnectTimeout, Loss.NOT_REACHED),
    (httpx2.ConnectError, Loss.NOT_REACHED),
    (httpx2.TimeoutException, Loss.TIMED_OUT),
    (httpx2.TransportError, Loss.CONNECTION_LOST),
)


class RemoteCalls:
    """What calls have in common, however they wait: where they go, and what they look like there."""

    def __init__(self, destination: Destination, verify: bool | ssl.SSLContext, options: ConnectOptions) -> None:
        self.destination = destination
        self.verify = verify if destination.is_secure else False  # what is not needed takes time to load
        self.options = options
        self.sources = system_sources()
        self.limits = httpx2.Limits(
            max_connections=options.connections_max,
            max_keepalive_connections=options.connections_max,
            keepalive_expiry=IDLE_S,
        )
        self._operations = {operation.path: operation for operation in catalogue()}
        silent = options.timeout_s
        self._timeouts = {"connect": options.connect_timeout_s, "read": silent, "write": silent, "pool": silent}

    def operation(self, path: str) -> Operation:
        """Return the operation at a path."""
        return self._operations[path]

    def request(self, call: HttpCall, content: Any) -> httpx2.Request:
        """Return a request of the library."""
        return httpx2.Request(
            "POST",
            self.destination.base + call.target,
            headers={**self.destination.headers, **call.headers},
            content=content,
            extensions={"timeout": self._timeouts},
        )


def file_answer(response: httpx2.Response) -> HttpAnswer:
    """Return what a response says whose body is a file, or that there is none."""
    return HttpAnswer(OK, JSON, None, response.headers.get(REPORT, "").encode())


def answer_of(response: httpx2.Response, body: bytes) -> HttpAnswer:
    """Return what a response says."""
    if REPORT in response.headers and not body:
        return file_answer(response)
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return HttpAnswer(response.status_code, media_type, response.headers.get("retry-after"), body)


def loss_of(fault: httpx2.TransportError) -> Loss:
    """Return what a fault means for a call."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return Loss.NOT_TRUSTED
        cause = cause.__cause__ or cause.__context__
    return next(loss for kind, loss in LOSSES if isinstance(fault, kind))


def trusted(verify: bool | str | Path) -> bool | ssl.SSLContext:
    """Return whose certificates are trusted: those of the system, or of a file or folder of authorities, or any."""
    if isinstance(verify, bool):
        return verify
    place = Path(verify)
    try:
        if place.is_dir():
            return ssl.create_default_context(capath=str(place))
        return ssl.create_default_context(cafile=str(place))
    except ssl.SSLError:
        raise InvalidInput(at="verify", problem="not_understood") from None
    except (OSError, ValueError) as fault:
        raise FileUnavailable.because(fault, at="verify") from None


class RemoteStore(Elsewhere):
    """A store behind a server, for threads."""

    def __init__(self, calls: RemoteCalls) -> None:
        self._calls = calls
        self._pools: dict[int, httpx2.HTTPTransport] = {}  # by process; no lock, which a fork could leave taken
        self._is_closed = False

    def call(self, operation: str, request: Request, upload: object, download: BinaryIO | None) -> Any:
        """Have an operation run where the store is; wait for its report."""
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
                    time.sleep(step)
                    outcome = None
                else:
                    outcome = self._sent(step)

    def close(self) -> None:
        """Close the connections of this process. Whatever is called behind that raises `store.closed`."""
        self._is_closed = True
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()

    def _sent(self, call: HttpCall) -> HttpAnswer | Loss:
        if self._is_closed:
            raise StoreClosed
        content = _pieces(call.body) if isinstance(call.body, UploadBody) else call.body
        try:
            response = self._pool().handle_request(self._calls.request(call, content))
            try:
                if call.file is None or response.status_code != OK:
                    return answer_of(response, response.read())
                with call.file.receiving(response.headers.get("repr-digest")) as file:
                    for piece in response.iter_bytes():
                        file.write(piece)
                return file_answer(response)
            finally:
                response.close()
        except httpx2.TransportError as fault:
            return loss_of(fault)

    def _pool(self) -> httpx2.HTTPTransport:
        process = os.getpid()
        pool = self._pools.get(process)
        if pool is None:
            made = httpx2.HTTPTransport(verify=self._calls.verify, limits=self._calls.limits)
            pool = self._pools.setdefault(process, made)
        return pool


def _pieces(body: UploadBody) -> Iterator[bytes]:
    while piece := body.piece():
        yield piece
