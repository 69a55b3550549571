"""A server that is stopped under load: what was acknowledged is there, and what is in work ends."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import msgspec
import pytest

from muniment.errors import UnknownConversation
from tests.served.conftest import EVERYTHING, serving
from tests.served.test_refusals import connected
from tests.turns import plain_turn
from tests.worlds import FileWorld, sqlite_world

CLIENTS = 4
COMMIT = "/v1/transcripts/commit"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    with contextlib.closing(sqlite_world(tmp_path)) as made:
        yield made


def test_what_was_acknowledged_before_a_stop_is_there(world: FileWorld) -> None:
    headers = {"Authorization": f"Bearer {world.runtime.clients.create('owner', EVERYTHING).key}"}
    acknowledged: dict[str, int] = dict.fromkeys("abcd"[:CLIENTS], 0)

    def commit(url: str, conversation: str) -> None:
        with httpx2.Client(base_url=url, headers=headers) as http, contextlib.suppress(httpx2.TransportError):
            for number in range(1, 10_000):
                http.post(
                    COMMIT, json={"turn": msgspec.to_builtins(plain_turn(number, conversation))}
                ).raise_for_status()
                acknowledged[conversation] = number

    with serving(world.runtime) as url:
        threads = [threading.Thread(target=commit, args=[url, name]) for name in acknowledged]
        for thread in threads:
            thread.start()
        while not any(acknowledged.values()) and all(thread.is_alive() for thread in threads):
            time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert sum(acknowledged.values()) > 0
    for conversation, number in acknowledged.items():
        with contextlib.suppress(UnknownConversation):
            assert world.turns_of(conversation) - number in {0, 1}, "one may be committed that nobody was told of"


def test_a_request_in_work_ends_before_the_server_does(world: FileWorld) -> None:
    key = world.runtime.clients.create("owner", EVERYTHING).key
    body = msgspec.json.encode({"turn": msgspec.to_builtins(plain_turn(1))})
    lines = [
        f"POST {COMMIT} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {key}",
        f"Content-Length: {len(body)}",
    ]
    server = serving(world.runtime)
    with connected(server.__enter__()) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body[:10])
        time.sleep(0.3)
        stopping = threading.Thread(target=server.__exit__, args=[None, None, None])
        stopping.start()
        time.sleep(0.3)
        assert stopping.is_alive(), "it waits"
        connection.sendall(body[10:])
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        stopping.join()
    assert world.turns_of() == 1
