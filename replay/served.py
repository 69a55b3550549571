"""A store as a client sees it: calls go to a real server, over HTTP, and everything else to the store in this process.

`reached` makes a runtime whose served operations are called with `muniment.connect`. So whatever is said of a store
through its front door is said of the server and the client, too: histories, and tests. Who may call is not shown here;
the server takes everybody for whoever opened the store.
"""
# ruff: noqa: SLF001 - what it puts itself between is the session of a runtime

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

import muniment
from muniment.client.received_file import as_sent
from muniment.client.remote_store import RemoteStore
from muniment.declaration.http_wire import is_served
from muniment.declaration.operation import Operation, Request, perform
from muniment.declaration.operation_gate import Elsewhere
from muniment.declaration.session import Session
from muniment.errors import NotServed
from muniment.events.identity import SpaceName
from muniment.governance.access import Access
from muniment.governance.client_scope import ClientScope
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.space.clients import Client, IssuedKey
from muniment.transports.http.http_app import http_app
from muniment.transports.http.serving import Listener, ServeOptions

ANYBODY = Client(
    name="anybody",
    space=SpaceName("any"),
    scope=ClientScope(),
    created_ms=0,
    keys=[IssuedKey(fingerprint="", issued_ms=0)],
)
OPERATIONS = {operation.path: operation for operation in catalogue()}


class Open(Runtime):
    """A runtime that takes everybody for whoever opened the store."""

    def client_of(self, key: str) -> Client:  # noqa: ARG002 - any key is taken
        """Take any key."""
        return ANYBODY

    def as_client(self, client: Client) -> Runtime:  # noqa: ARG002 - it is anybody
        """Give every right that this runtime has."""
        return Runtime(replace(self._session, window=True))


class Server:
    """A server in a thread, which answers for one runtime after the other; `calls` counts what came over HTTP."""

    def __init__(self) -> None:
        self.calls = 0
        self._app: ASGIApp | None = None
        self._served: Session | None = None
        self.store: RemoteStore | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        """Serve as long as the block runs."""
        listener = Listener(ServeOptions(port=0))
        server = listener.server(self)
        thread = threading.Thread(target=listener.serve, args=[server], daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            with muniment.connect(listener.url, key="anybody") as runtime:
                gate: Any = runtime.system.gate
                self.store = gate
                yield self
        finally:
            server.should_exit = True
            thread.join()

    def reached(self, runtime: Runtime) -> Runtime:
        """Return a runtime on the same session whose calls come over HTTP, as far as they are served."""
        return Reached(runtime, self)

    def call(self, near: Runtime, operation: Operation, request: Request, files: tuple[object, BinaryIO | None]) -> Any:
        """Have an operation run behind the server, in the session of a runtime; `files` are upload and download."""
        if self._served is not near._session:
            self._served = near._session
            self._app = http_app(Open(self._served), catalogue(), system_sources())
        assert self.store is not None, "it is running"
        self.calls += 1
        return self.store.call(operation.path, request, *files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as the application of the runtime that is served now."""
        if scope["type"] == "lifespan":
            for stage in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{stage}.complete"})
            return
        assert self._app is not None, "it is called for a runtime"
        await self._app(scope, receive, send)


class _Over(Elsewhere):
    """Runs an operation behind the server where it is served, else beside the store."""

    def __init__(self, near: Runtime, server: Server) -> None:
        self.near = near
        self.server = server

    def call(self, operation: str, request: Request, upload: Any, download: BinaryIO | None) -> Any:
        """Have an operation run; return its report."""
        found = OPERATIONS[operation]
        if is_served(as_sent(found, request)[0]):
            with contextlib.suppress(NotServed):  # several files, or a folder
                return self.server.call(self.near, found, request, (upload, download))
        return perform(getattr(self.near, found.group), found, request, upload, download)

    def close(self) -> None:
        """Close the store."""
        self.near.close()


class Reached(Runtime):
    """A runtime of this process whose noun groups call a server."""

    def __init__(self, near: Runtime, server: Server) -> None:
        super().__init__(_Over(near, server))
        self._near = near
        self._server = server

    @property
    def _session(self) -> Session:
        return self._near._session

    def restricted(self, access: Access) -> Runtime:
        """Return a runtime with fewer rights that is reached alike."""
        return self._server.reached(super().restricted(access))

    def space(self, name: str, *, create: bool = True) -> Runtime:
        """Return a runtime on another space that is reached alike."""
        return self._server.reached(super().space(name, create=create))

    def as_client(self, client: Client) -> Runtime:
        """Return a runtime with the rights of a client that is reached alike."""
        return self._server.reached(super().as_client(client))
