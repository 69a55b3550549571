"""Send a server what no client should: garbage, endless heads and bodies, and thousands of silent connections.

Each connection sends one of these and reads what comes back: requests of which bytes were changed, cut off, or followed
by garbage; bodies that are announced or sent without end; heads that never end. 2,000 other connections say nothing.
Nothing may be answered with a 5xx (but for 503, which tells to come back), nothing may be written, the memory of the
server stays within `GROWTH_BYTES_MAX`, and a client that behaves is served to the end.

The control is the same endless head for the protocol that the server is built on, as it comes: its memory grows.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from replay.drills.load import REPOSITORY
from replay.drills.outcome import Outcome
from replay.drills.server_process import ServerProcess, peak_bytes
from replay.stores import opened

CONNECTIONS, IDLE = 2000, 2000
ENDLESS_BYTES = 1 << 30
PIECE = b"x" * (1 << 16)
GROWTH_BYTES_MAX = 96 << 20
HEAD_OF_CONTROL_BYTES = 128 << 20
TIMEOUT_S = 5
BODY = (
    b'{"turn": {"turn": "t-1", "subject": "ada", "conversation": "c", "messages": [{"role": "user", "content": "x"}]}}'
)


class Abuse:
    """A server, and what is sent to it."""

    def __init__(self, url: str, key: str, chance: random.Random) -> None:
        parts = urlsplit(url)
        self.place = (parts.hostname or "", parts.port or 0)
        self.answers: Counter[int] = Counter()
        self.failures: list[str] = []
        self._chance = chance
        self._url, self._headers = url, {"Authorization": f"Bearer {key}"}

    def head(self, *lines: str, path: str = "/v1/transcripts/commit") -> bytes:
        """Return the head of a request of a client that has a key."""
        named = [f"{name}: {value}" for name, value in self._headers.items()]
        return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *named, *lines, "", ""]).encode()

    def send(self, *pieces: bytes, endless: bytes = b"") -> None:
        """Send bytes on a connection of their own, and read the first answer; what is endless until it is cut off."""
        with suppress(OSError), socket.create_connection(self.place, timeout=TIMEOUT_S) as connection:
            with suppress(OSError):
                connection.sendall(b"".join(pieces))
                sent = 0
                while endless and sent < ENDLESS_BYTES:
                    connection.sendall(endless)
                    sent += len(endless)
                if endless and sent >= ENDLESS_BYTES:
                    self.failures.append("a gibibyte was taken")
                connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(1 << 16)
            if answer.startswith(b"HTTP/1.1 "):
                self.answers[int(answer[9:12])] += 1

    def changed(self) -> bytes:
        """Return a request that is damaged somewhere in its head, and would commit a turn without that."""
        whole = bytearray(self.head(f"Content-Length: {len(BODY)}", "Content-Type: application/json") + BODY[:-1])
        for _ in range(self._chance.randint(1, 8)):
            whole[self._chance.randrange(len(whole))] = self._chance.randrange(256)
        end = self._chance.choice([len(whole), self._chance.randrange(len(whole))])
        return bytes(whole[:end]) + self._chance.randbytes(self._chance.choice([0, 10, 1000]))

    def endless(self) -> None:
        """Send heads and bodies that do not end."""
        chunk = f"{len(PIECE):x}\r\n".encode() + PIECE + b"\r\n"
        self.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ", endless=PIECE)
        self.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n", endless=b"X-Many: 1\r\n" * 5000)
        self.send(self.head(f"Content-Length: {ENDLESS_BYTES}", "Content-Type: application/json"))
        for path in ("/v1/transcripts/commit", "/mcp"):
            self.send(self.head("Transfer-Encoding: chunked", path=path), endless=chunk)

    def serves(self) -> None:
        """Ask as a client does that behaves."""
        try:
            answer = httpx2.post(f"{self._url}/v1/spaces/usage", json={}, headers=self._headers, timeout=60)
        except httpx2.TransportError as error:
            self.failures.append(f"a client that behaves is not served: {type(error).__name__}")
        else:
            if answer.status_code != 200 or answer.json()["turns"]:
                self.failures.append(f"a client that behaves gets {answer.status_code}, {answer.text[:200]}")


def served_abuse(count: int | None, seed: int) -> Outcome:
    """Send so many damaged requests, among silent connections and endless ones."""
    connections = count or CONNECTIONS
    with tempfile.TemporaryDirectory(prefix="muniment-abuse-") as scratch:
        directory = Path(scratch)
        with opened(directory) as runtime:
            scope = ClientScope(effects=list(Effect), views=list(View))
            key = runtime.clients.create("drill", scope).key
        server = ServerProcess(directory)
        try:
            abuse = Abuse(server.url, key, random.Random(seed))  # noqa: S311 - as repeatable as a drill must be
            abuse.serves()
            before = server.peak_bytes
            _abused(abuse, connections)
            grown = server.peak_bytes - before
        finally:
            ended = server.stop()
    failures = [*abuse.failures, *([ended] if ended else [])]
    failures += [
        f"{number} answers are {status}" for status, number in abuse.answers.items() if status >= 500 and status != 503
    ]
    if grown > GROWTH_BYTES_MAX:
        failures.append(f"memory grew by {grown >> 20} MiB")
    control, found = _control()
    told = ", ".join(f"{number} times {status}" for status, number in sorted(abuse.answers.items()))
    return Outcome(
        name="served_abuse",
        tried=f"{connections:,} damaged requests and 5 endless ones among {IDLE:,} silent connections, "
        f"answered {told}; memory +{grown >> 20} MiB",
        failures=failures,
        control=control,
        control_failed=found,
        seed=seed,
    )


def _abused(abuse: Abuse, connections: int) -> None:
    with ExitStack() as stack:
        for _ in range(IDLE):
            with suppress(OSError):
                stack.enter_context(socket.create_connection(abuse.place, timeout=TIMEOUT_S))
        abuse.serves()
        abuse.endless()
        for _ in range(connections):
            abuse.send(abuse.changed())
        abuse.serves()


async def plain(scope: dict[str, object], _receive: object, _send: object) -> None:
    """Answer nothing: the application of the control."""
    del scope


def _control() -> tuple[str, bool]:
    """Send a head without end to a server whose connections are not bounded; return whether its memory grows."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = free.getsockname()
    command = [sys.executable, "-m", "uvicorn", "replay.drills.served_abuse:plain", "--port", str(place[1])]
    with subprocess.Popen([*command, "--log-level", "critical", "--lifespan", "off"], cwd=REPOSITORY) as process:
        try:
            connection = _connected(place)
            before = peak_bytes(process.pid)
            with connection, suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\nX-Long: ")
                for _ in range(HEAD_OF_CONTROL_BYTES // len(PIECE)):
                    connection.sendall(PIECE)
                time.sleep(0.5)
            grown = peak_bytes(process.pid) - before
        finally:
            process.kill()
    return f"a server without bounds, memory +{grown >> 20} MiB", grown > GROWTH_BYTES_MAX


def _connected(place: tuple[str, int]) -> socket.socket:
    for _ in range(200):
        with suppress(OSError):
            return socket.create_connection(place, timeout=60)
        time.sleep(0.05)
    raise TimeoutError("the server of the control did not start")
