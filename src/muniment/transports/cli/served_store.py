"""What a server process does: it serves a store at a place that was taken before."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from muniment.errors import ExtraMissing
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import set_observer
from muniment.transports.cli.opening import opened_to_serve
from muniment.transports.cli.store_options import StoreOptions
from muniment.transports.gateway.gateway_app import GatewayApp
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import HttpSetup, MountedApp, http_app
from muniment.transports.http.rates import Rates
from muniment.transports.http.serving import Listener, ServeOptions

SOURCES = system_sources()


class SharedRates(Struct, frozen=True, kw_only=True):
    """Where server processes keep the rates of clients together, and the key under which clients are named there."""

    path: Path
    key: bytes


class ServeOrder(Struct, frozen=True, kw_only=True):
    """What is served beside the operations: metrics at a port of this machine, and whose tokens are taken."""

    metrics_port: int | None
    tokens: dict[str, str | None]

    def check(self) -> None:
        """Refuse what cannot be served: raises `request.invalid` and `extra.missing`."""
        if self.metrics_port is not None and not find_spec("prometheus_client"):
            raise ExtraMissing(at="metrics", problem="needs_metrics")
        self.verifier()

    def verifier(self) -> Any:
        """Return what verifies tokens, or None where none are taken."""
        if all(self.tokens[name] is None for name in ("issuer", "audience", "jwks")):
            return None
        if not find_spec("jwt"):
            raise ExtraMissing(at="serve", problem="needs_jwt")
        return msgspec.convert(self.tokens, import_module("muniment.transports.http.tokens").TokenOptions).verifier()


def serve_store(
    listener: Listener, runtime: Runtime, order: ServeOrder, rates: Rates, begun: Callable[[], object] = bool
) -> None:
    """Serve an open store until a signal stops the server; `begun` is called when it is about to take requests."""
    log_to_stderr()
    with _counting(runtime, order.metrics_port) as (observer, metrics):
        setup = HttpSetup(listener.options.rules, _mounts, order.verifier(), observer, rates)
        app = http_app(runtime, catalogue(), SOURCES, setup)
        begun()
        if metrics is not None:
            click.echo(f"metrics are at {metrics}/metrics")
            sys.stdout.flush()
        listener.serve(listener.server(_traced(app)))


def work(listener: Listener, order: ServeOrder, opening: tuple[StoreOptions, int], shared: SharedRates) -> None:
    """Serve the store that options name, with as many open spaces as they say, as one of several processes."""
    log_to_stderr()
    with opened_to_serve(*opening) as runtime:
        serve_store(listener, runtime, order, Rates(shared.path, shared.key))


def log_to_stderr() -> None:
    """Write the log of requests to standard error, a line each."""
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)


def _mounts(callers: Callers) -> Mapping[str, MountedApp]:
    """Mount the gateway beside the operations, and MCP where its package is installed."""
    made = dict(GatewayApp(catalogue(), callers).mounts)
    if find_spec("mcp"):
        over_http = import_module("muniment.transports.mcp.over_http")
        made[over_http.PATH] = over_http.McpOverHttp(catalogue(), callers, every=False)
    return made


def _traced(app: Any) -> Any:
    """Return an application that goes on with the traces of its callers, where the settings ask for traces."""
    return app if set_observer() is None else import_module("muniment.transports.http.trace_context").TraceContext(app)


@contextmanager
def _counting(runtime: Runtime, port: int | None) -> Iterator[tuple[Any, str | None]]:
    """Give what counts requests, and where it serves what it counts; twice None where nobody asked for it."""
    if port is None:
        yield None, None
        return
    counted = import_module("muniment.transports.http.metrics").HttpMetrics(runtime.totals)
    listener = Listener(ServeOptions(port=port))
    with listener.serving(counted.app(SOURCES.ids)):
        yield counted, listener.url
