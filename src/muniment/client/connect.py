"""`connect`: a store that another process serves, as the runtime that `open` returns.

What a program may do follows from its client key, and the server tests it. So a connection cannot be narrowed, and it
is to one space: for other rights and other spaces there are other keys.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from muniment.client.destination import ConnectOptions, Destination
from muniment.errors import ExtraMissing
from muniment.events.binding import learn
from muniment.events.turn import Turn
from muniment.runtime.runtime import Runtime

DEFAULTS = ConnectOptions()


def connect(
    url: str, *, key: str | None = None, verify: bool | str | Path = True, options: ConnectOptions = DEFAULTS
) -> Runtime:
    """Return a runtime on the space of a client key, in the store that a server serves.

    `url` is the address of the server (`http://127.0.0.1:8718`). `key` is a client key; without it that of
    `MUNIMENT_CLIENT_KEY`. `verify` is whose certificates are trusted: those of the system, or of a file or folder of
    authorities. Nothing is sent before the first call. Calls return the reports and raise the errors that they would
    beside the store, and `server.unavailable` when the server does not answer. An operation that takes a path on the
    machine of the store raises `request.not_served`.
    """
    calls = remote_calls(url, key, verify, options)
    return Runtime(import_module("muniment.client.remote_store").RemoteStore(calls))


def connect_on_loop(
    url: str, *, key: str | None = None, verify: bool | str | Path = True, options: ConnectOptions = DEFAULTS
) -> tuple[Runtime, Callable[[], Awaitable[None]]]:
    """Return a runtime whose operations are awaited, and what closes it; for `muniment.aio`."""
    calls = remote_calls(url, key, verify, options)
    store = import_module("muniment.client.async_remote_store").AsyncRemoteStore(calls)
    return Runtime(store), store.close


def remote_calls(url: str, key: str | None, verify: bool | str | Path, options: ConnectOptions) -> Any:
    """Return what calls of a server have in common; raises what is wrong with its address, the key or the options."""
    options.check()
    learn(Turn)
    destination = Destination(url, key)
    if not find_spec("httpx2"):
        raise ExtraMissing(at="connect", problem="needs_client")
    made = import_module("muniment.client.remote_store")  # only here: whoever does not connect does not load it
    return made.RemoteCalls(destination, made.trusted(verify), options)
