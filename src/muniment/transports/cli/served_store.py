"""What a server process does: it serves a store at a place that was taken before."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.transports.cli.opening import opened_to_serve
from muniment.transports.cli.store_options import StoreOptions
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import MountedApp, http_app
from muniment.transports.http.rates import Rates
from muniment.transports.http.serving import Listener


class SharedRates(Struct, frozen=True, kw_only=True):
    """Where server processes keep the rates of clients together, and the key under which clients are named there."""

    path: Path
    key: bytes


def serve_store(listener: Listener, runtime: Runtime, rates: Rates) -> None:
    """Serve an open store until a signal stops the server."""
    log_to_stderr()
    app = http_app(runtime, catalogue(), system_sources(), listener.options.rules, _mounts, rates)
    listener.serve(listener.server(app))


def work(listener: Listener, door: StoreOptions, spaces_max: int, shared: SharedRates) -> None:
    """Serve the store that the options name, as one of several processes."""
    log_to_stderr()
    with opened_to_serve(door, spaces_max) as runtime:
        serve_store(listener, runtime, Rates(shared.path, shared.key))


def log_to_stderr() -> None:
    """Write the log of requests to standard error, a line each."""
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)


def _mounts(callers: Callers) -> Mapping[str, MountedApp]:
    """Mount MCP beside the operations, where its package is installed."""
    if not find_spec("mcp"):
        return {}
    over_http = import_module("muniment.transports.mcp.over_http")
    return {over_http.PATH: over_http.McpOverHttp(catalogue(), callers, every=False)}
