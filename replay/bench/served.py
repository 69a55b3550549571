"""A served store: commits and pages over HTTP beside the same in this process, and a model's first tool call over MCP.

The server is a process of its own, as `muniment serve` starts it. Its clients are threads of this process that write
requests they made before, each over a connection that stays open, so that what is measured is the server.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from muniment.events.turn import Turn
from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from replay.bench.contestants import CONVERSATION, PAGE_TURNS, Muniment
from replay.bench.figures import Amount, Figure, at_least, at_most, ranged
from replay.bench.process import environment
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import Work, in_turns, percentile, spread, timed_in_turns
from replay.stores import opened
from replay.words import key_of

CLIENTS = 16
RATE_MIN, TAIL_MAX, PAGE_MAX, START_CPU_S_MAX = 0.5, 8.0, 2.5, 1.5
SCOPE = ClientScope(effects=list(Effect), views=list(View))
ADDRESS = re.compile(r"http://([\d.]+):(\d+)")


class Reach(NamedTuple):
    """Where a server is, and the key that opens it."""

    host: str
    port: int
    key: str


@contextlib.contextmanager
def server(directory: Path) -> Iterator[Reach]:
    """Serve the store of a directory in a process of its own."""
    with opened(directory) as runtime:
        key = runtime.clients.create("bench", SCOPE).key
    command = [sys.executable, "-m", "muniment", "serve", "--port", "0"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=_beside(directory), stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        assert process.stdout is not None, "it was asked for"
        found = ADDRESS.search(process.stdout.readline())
        assert found is not None, "it says where it listens"
        try:
            yield Reach(found[1], int(found[2]), key)
        finally:
            process.terminate()


def _beside(directory: Path) -> dict[str, str]:
    place = {"STORE": directory / "store", "KEYS": f"file:{directory / 'root.key'}", "PINS": directory / "pins"}
    return environment() | {f"MUNIMENT_{name}": str(value) for name, value in place.items()}


class _Connection:
    """A connection that stays open."""

    def __init__(self, reach: Reach) -> None:
        self._http = http.client.HTTPConnection(reach.host, reach.port)
        self._headers = {"Authorization": f"Bearer {reach.key}", "Content-Type": "application/json"}

    def ask(self, path: str, body: bytes) -> float:
        """Send a request; return the milliseconds until its whole answer was there."""
        start = time.perf_counter()
        self._http.request("POST", path, body, self._headers)
        answer = self._http.getresponse()
        said = answer.read()
        assert answer.status == http.HTTPStatus.OK, said
        return (time.perf_counter() - start) * 1000

    def close(self) -> None:
        """Close it."""
        self._http.close()


def commits(scene: Scene) -> Measuring:
    """Commit with 16 callers here and with 16 clients over HTTP, in turns."""
    count, rounds = (96, 2) if scene.quick else (960, 5)
    ours = Muniment(scene.fresh("served-embedded"))
    walls: list[float] = []
    with server(scene.fresh("served")) as reach:
        connections = [_Connection(reach) for _ in range(CLIENTS)]
        works: dict[str, Work] = {
            "embedded": partial(_embedded, ours, _prepared(scene, "here", count, rounds)),
            "served": partial(_over_http, connections, _prepared(scene, "there", count, rounds), walls),
        }
        done = timed_in_turns(works, rounds)
        for connection in connections:
            connection.close()
    ours.close()
    ratio = done["embedded"].wall.median / done["served"].wall.median
    rates = {name: f"{1000 / each.wall.median:,.0f} turns/s" for name, each in done.items()}
    yield Measured(
        Figure(
            subject="served",
            what=f"commits over HTTP, {CLIENTS} clients that stay connected, compared with {CLIENTS} callers here",
            target=f">= {RATE_MIN:.0%} of the rate",
            measured=Amount(median=ratio, unit="x", digits=2),
            met=at_least(ratio, RATE_MIN),
            note=f"{rates['served']} against {rates['embedded']}; clients and server share the cores",
        )
    )
    walls = walls[count:]  # the round that warms up does not count, as it does not for the rate
    p50, p99 = percentile(walls, 0.5), percentile(walls, 0.99)
    yield Measured(
        Figure(
            subject="served",
            what="the same: p99 of a commit compared with its p50",
            target=f"<= {TAIL_MAX:g} x",
            measured=Amount(median=p99 / p50, unit="x", digits=2),
            met=at_most(p99 / p50, TAIL_MAX),
            note=f"p50 {p50:.2f} ms, p99 {p99:.2f} ms",
        )
    )


def _prepared(scene: Scene, where: str, count: int, rounds: int) -> list[list[list[Turn]]]:
    """Return the turns of every round for each caller, in a conversation of its own."""
    share = count // CLIENTS
    return [
        [
            [scene.words.turn(f"{where} {caller}", f"{each}-{turn}") for turn in range(share)]
            for caller in range(CLIENTS)
        ]
        for each in range(rounds + 1)
    ]


def _embedded(ours: Muniment, prepared: list[list[list[Turn]]]) -> int:
    shares = prepared.pop()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(partial(_appended, ours), shares))
    return sum(map(len, shares))


def _appended(ours: Muniment, turns: list[Turn]) -> None:
    for turn in turns:
        ours.append(turn)


def _over_http(connections: list[_Connection], prepared: list[list[list[Turn]]], walls: list[float]) -> int:
    shares = [[msgspec.json.encode({"turn": turn}) for turn in turns] for turns in prepared.pop()]
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = pool.map(partial(_asked, "/v1/transcripts/commit"), connections, shares)
        walls += [wall for each in asked for wall in each]
    return sum(map(len, shares))


def _asked(path: str, connection: _Connection, bodies: list[bytes]) -> list[float]:
    return [connection.ask(path, body) for body in bodies]


def page(scene: Scene) -> Measuring:
    """Read the first page of a long conversation here and over HTTP."""
    count, times = (1_000, 20) if scene.quick else (100_000, 200)
    directory = scene.fresh("served-page")
    with opened(directory) as runtime, ThreadPoolExecutor(CLIENTS) as callers:
        list(callers.map(runtime.transcripts.commit, scene.words.turns(CONVERSATION, 1, count)))
    key = key_of(CONVERSATION)
    body = msgspec.json.encode({"conversation": key, "view": View.HOST_UI, "limit": PAGE_TURNS})
    with server(directory) as reach, opened(directory) as runtime:
        connection = _Connection(reach)

        def here() -> float:
            start = time.perf_counter()
            assert len(runtime.transcripts.replay(key, View.HOST_UI, PAGE_TURNS).turns) == PAGE_TURNS, "a whole page"
            return (time.perf_counter() - start) * 1000

        def there() -> float:
            return connection.ask("/v1/transcripts/replay", body)

        done = in_turns({"here": here, "there": there}, times)
        connection.close()
    median = {name: percentile(each, 0.5) for name, each in done.items()}
    ratio = median["there"] / median["here"]
    yield Measured(
        Figure(
            subject="served",
            what=f"page of {PAGE_TURNS} turns over HTTP at {count:,} turns, compared with the same page here",
            target=f"<= {PAGE_MAX} x",
            measured=Amount(median=ratio, unit="x", digits=2),
            met=at_most(ratio, PAGE_MAX),
            note=f"p50 {median['there']:.2f} ms against {median['here']:.2f} ms",
        )
    )


def mcp_start(scene: Scene) -> Measuring:
    """Start `muniment mcp` on a store with a conversation, ask a tool, and have its answer."""
    directory = scene.fresh("served-mcp")
    with opened(directory) as runtime:
        runtime.transcripts.commit_many(scene.words.turns(CONVERSATION, 1, 100))
    cost = spread([_first_answer_cpu_s(directory) for _ in range(2 if scene.quick else 9)])
    yield Measured(
        Figure(
            subject="served",
            what="MCP over stdio, from the start of the process to its end behind the first tool answer: CPU",
            target=f"<= {START_CPU_S_MAX} s",
            measured=ranged(cost, "s"),
            met=at_most(cost.median, START_CPU_S_MAX),
        )
    )


def _first_answer_cpu_s(directory: Path) -> float:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    arguments = {"conversation": {"conversation": CONVERSATION}, "limit": 5}
    lines: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "transcripts_replay", "arguments": arguments}},
    ]
    answer: dict[str, Any] = {}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "muniment", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=_beside(directory), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None, "it was asked for"
        assert process.stdout is not None, "it was asked for"
        for line in lines:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + os.linesep.encode())
            process.stdin.flush()
            answer = json.loads(process.stdout.readline()) if "id" in line else answer
        assert not answer["result"].get("isError"), "a page came"
        process.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
