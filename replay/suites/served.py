"""The server under test: a throw-away store behind the application that `muniment serve` serves, in this process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

import muniment
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.transports.gateway.gateway_app import GatewayApp
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import HttpSetup, MountedApp, http_app
from muniment.transports.http.request_guard import RequestObserver
from muniment.transports.http.serving import Listener, ServeOptions
from muniment.transports.mcp.over_http import PATH, Carrier, McpOverHttp, each_alone

TALK, CLIENT = "parcel-7", "suite"


class Served(Struct, frozen=True, kw_only=True):
    """Where the server is, and a key that opens everything."""

    url: str
    key: str


class ShowingKey:
    """Shows a client key with every request, for suites that have no place for one."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with the key."""
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


@contextlib.contextmanager
def serving(
    *,
    carrier: Carrier = each_alone,
    shows_key: bool = False,
    every: bool = False,
    observer: RequestObserver | None = None,
) -> Iterator[Served]:
    """Serve a store with a small conversation as long as the block runs: operations, foreign routes, and MCP."""

    def mounts(callers: Callers) -> Mapping[str, MountedApp]:
        mcp = McpOverHttp(catalogue(), callers, every=every, carrier=carrier)
        return {**GatewayApp(catalogue(), callers).mounts, PATH: mcp}

    with muniment.open("memory:") as runtime:
        fill(runtime)
        key = runtime.clients.create(CLIENT, ClientScope(effects=list(Effect), views=list(View))).key
        app = http_app(runtime, catalogue(), system_sources(), HttpSetup(mounts=mounts, observer=observer))
        listener = Listener(ServeOptions(port=0))
        server = listener.server(ShowingKey(app, key) if shows_key else app)
        thread = threading.Thread(target=listener.serve, args=[server])
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield Served(url=listener.url, key=key)
        finally:
            server.should_exit = True
            thread.join()


def fill(runtime: Runtime) -> None:
    """Commit a turn that searches find."""
    said = [Message(role=Role.USER, content="Where is my parcel?"), Message(role=Role.ASSISTANT, content="In Lyon.")]
    runtime.transcripts.commit(
        Turn(turn=TurnId("t-1"), subject=SubjectId("ada"), conversation=ConversationId(TALK), messages=said)
    )
