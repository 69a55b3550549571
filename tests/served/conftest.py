"""A real server on the loopback, over a world of the product."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.transports.http.http_app import HttpSetup, Mounts, http_app, no_mounts
from muniment.transports.http.request_guard import LOOPBACK_ONLY, GuardRules, RequestObserver
from muniment.transports.http.serving import Listener, ServeOptions
from tests.worlds import World, sqlite_world

FREE_PORT = ServeOptions(port=0)
EVERYTHING = ClientScope(effects=list(Effect), views=list(View))


class Served:
    """A world and the server in front of it."""

    def __init__(self, world: World, url: str) -> None:
        self.world = world
        self.url = url
        self.key = world.runtime.clients.create("owner", EVERYTHING).key
        self.http = httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {self.key}"}, timeout=30)

    def key_for(self, name: str, scope: ClientScope) -> dict[str, str]:
        """Return the headers of a new client."""
        return {"Authorization": f"Bearer {self.world.runtime.clients.create(name, scope).key}"}

    def post(self, path: str, given: Any = None, **options: Any) -> httpx2.Response:
        """Call an operation, `group/verb`."""
        return self.http.post(f"/v1/{path}", json=given or {}, **options)


@contextlib.contextmanager
def serving(
    runtime: Runtime,
    rules: GuardRules = LOOPBACK_ONLY,
    mounts: Mounts = no_mounts,
    options: ServeOptions = FREE_PORT,
    observer: RequestObserver | None = None,
) -> Iterator[str]:
    """Serve a store as long as the block runs; give the address."""
    listener = Listener(options)
    server = listener.server(
        http_app(runtime, catalogue(), system_sources(), HttpSetup(rules, mounts, observer=observer))
    )
    thread = threading.Thread(target=listener.serve, args=[server], daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listener.url
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Return a world behind a server."""
    world = sqlite_world(tmp_path)
    with contextlib.closing(world), serving(world.runtime) as url:
        made = Served(world, url)
        yield made
        made.http.close()
