"""The server process: where it listens, and what it refuses to start with.

A server that only this machine reaches needs nothing. Any other one is asked for by name, and then reached over TLS or
through a proxy that ends TLS, because a client key is as good as its owner to whoever reads it on the way.
"""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from muniment.errors import FileUnavailable, InvalidInput
from muniment.transports.http.client_connection import BoundedConnection
from muniment.transports.http.process_signals import handled
from muniment.transports.http.request_guard import GuardRules

PORT = 8718
BACKLOG = 2048  # connections that wait to be taken
IDLE_S = 15  # how long a connection without a request stays open
GRACE_S = 30  # how long requests in work have to end when the server is stopped
STOP = "stop"  # in the state of the application: what it does when the server stops, so that its streams end


class ServeOptions(Struct, frozen=True, kw_only=True):
    """Where a server listens, who may call it, and how what it says is protected on the way.

    `names` are those that clients call it by, beside those of this machine; `origins` those of pages that may call it.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    allow_remote: bool = False
    behind_proxy: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def rules(self) -> GuardRules:
        """Return which requests pass."""
        return GuardRules(hosts=frozenset({*self.names, self.host}), origins=frozenset(self.origins))

    def check(self) -> None:
        """Refuse to be reached from elsewhere unless that was asked for, and is protected."""
        if not 0 <= self.port <= 65_535:
            raise InvalidInput(at="port", problem="out_of_range", limit=65_535, found=self.port)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidInput(at="tls_key" if self.tls_key is None else "tls_cert", problem="missing_field")
        for at, path in (("tls_cert", self.tls_cert), ("tls_key", self.tls_key)):
            if path is not None and not Path(path).is_file():
                raise FileUnavailable(at=at, problem="not_found")
        if is_loopback(self.host):
            return
        if not self.allow_remote:
            raise InvalidInput(at="host", problem="needs_allow_remote")
        if self.tls_cert is None and not self.behind_proxy:
            raise InvalidInput(at="host", problem="needs_tls")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class StoppingServer(uvicorn.Server):
    """A server that tells its application when it stops, before it waits for the requests in work."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self.lifespan.state.get(STOP, bool)()
        await super().shutdown(sockets)


class Listener:
    """A place that a server listens at; from here on callers wait for it. `url` is where they find it."""

    def __init__(self, options: ServeOptions) -> None:
        """Take the place; port 0 takes a free one. Raises `request.invalid` for one that is not available."""
        options.check()
        self.options = options
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        try:
            self._socket = socket.create_server((options.host, options.port), family=family, backlog=BACKLOG)
        except (OSError, UnicodeError):
            raise InvalidInput(at="port", problem="address_unavailable") from None
        host = f"[{options.host}]" if ":" in options.host else options.host
        secure = "" if options.tls_cert is None else "s"
        self.url = f"http{secure}://{host}:{self._socket.getsockname()[1]}"

    def server(self, app: ASGIApp) -> uvicorn.Server:
        """Return a server for an application."""
        logging.getLogger("uvicorn.access").disabled = True  # it writes down paths and queries, which may hold content
        return StoppingServer(
            uvicorn.Config(
                app,
                ssl_certfile=self.options.tls_cert,
                ssl_keyfile=self.options.tls_key,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=GRACE_S,
                http=BoundedConnection,
            )
        )

    @contextmanager
    def serving(self, app: ASGIApp) -> Iterator[None]:
        """Serve an application in a thread of its own, for as long as the block runs."""
        server = self.server(app)
        thread = threading.Thread(target=self.serve, args=[server], daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()

    def serve(self, server: uvicorn.Server) -> None:
        """Serve until a signal stops the server, and then let the requests in work end.

        The server raises the signal again when it has ended. SIGTERM is outlived then, because what is behind the
        server has to be closed still.
        """

        def stop(_signal: int, _frame: FrameType | None) -> None:
            server.should_exit = True

        with self._socket, handled(stop, signal.SIGTERM):
            server.run([self._socket])
