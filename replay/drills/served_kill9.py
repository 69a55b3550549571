"""Kill a server under load, again and again; its clients retry with their idempotency keys.

One store outlives all servers. Clients commit to it over HTTP, each turn under a key of its own. At random moments the
server is killed without warning and another one is started. A client whose request got no answer sends the same
request under the same key to the next server, until it is answered. The last server is stopped by a signal, under the
same load, and has to end by itself. Then every turn that a client was told of must be there, each once, and none that
nobody sent; the audit of the whole log passes.

The control are clients that take a request that they sent for one that was answered, and do not retry.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from pathlib import Path

import httpx2
import msgspec
from msgspec import Struct

from muniment.errors import MunimentError
from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from replay.drills.outcome import Outcome
from replay.drills.server_process import ServerProcess
from replay.stores import opened, turns_of
from replay.words import Words

KILLS, CLIENTS = 20, 8
LOAD_S_MAX = 1.0
CHARACTERS = 100
ANSWER_S = 30
CONTROL_KILLS_MAX = 5
PATH = "/v1/transcripts/commit"
COME_BACK = {429, 503}


class Sent(Struct, kw_only=True):
    """What the clients did together."""

    acknowledged: dict[str, int] = {}  # conversation -> how many turns, from the first one on
    retries: int = 0
    repeated: int = 0
    failures: list[str] = []


class Clients:
    """Clients that commit to whatever server there is. `hasty` ones do not wait for answers."""

    def __init__(self, name: str, key: str, *, hasty: bool) -> None:
        self.sent = Sent()
        self._key = key
        self._hasty = hasty
        self._url: str | None = None
        self._ends = False
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._commit, args=[f"{name}.{place}"]) for place in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def turn_to(self, url: str | None) -> None:
        """Say where the server is now."""
        self._url = url

    def end(self) -> Sent:
        """Let every client finish what it knows the answer to."""
        self._ends = True
        for thread in self._threads:
            thread.join()
        return self.sent

    def _commit(self, conversation: str) -> None:
        words, number = Words(small=True), 0
        shown = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        with httpx2.Client(headers=shown, timeout=ANSWER_S) as http:
            while not self._ends:
                number += 1
                body = msgspec.json.encode({"turn": words.turn(conversation, number, characters=CHARACTERS)})
                if not self._answered(http, body, f"{conversation}/{number}"):
                    return
                with self._lock:
                    self.sent.acknowledged[conversation] = number

    def _answered(self, http: httpx2.Client, body: bytes, key: str) -> bool:
        """Send a request until it is answered; tell whether it was."""
        while True:
            url = self._url
            try:
                if url is None:
                    raise httpx2.ConnectError("no server")
                answer = http.post(f"{url}{PATH}", content=body, headers={"Idempotency-Key": key})
            except httpx2.TransportError:
                if self._hasty and url is not None:
                    return True
                if self._ends:
                    return False
                with self._lock:
                    self.sent.retries += 1
                time.sleep(0.1)
                continue
            if answer.status_code == 200:
                with self._lock:
                    self.sent.repeated += "idempotent-replayed" in answer.headers
                return True
            if answer.status_code not in COME_BACK:
                with self._lock:
                    self.sent.failures.append(f"{answer.status_code}: {answer.text[:300]}")
                return False
            time.sleep(0.05)


def served_kill9(count: int | None, seed: int) -> Outcome:
    """Kill so many servers; search for what was acknowledged, and for what is there twice."""
    kills = count or KILLS
    chance = random.Random(seed)  # noqa: S311 - the moments of a drill are no secret
    with tempfile.TemporaryDirectory(prefix="muniment-served-") as scratch:
        sent, failures = _served(Path(scratch), kills, chance)
    control, found = _control(chance)
    return Outcome(
        name="served_kill9",
        tried=f"{kills} servers killed and one stopped under load, {sum(sent.acknowledged.values()):,} turns "
        f"acknowledged to {CLIENTS} clients, {sent.retries:,} requests retried, {sent.repeated} of them answered from "
        "what was kept",
        failures=failures,
        control=control,
        control_failed=found,
        seed=seed,
    )


def _served(directory: Path, kills: int, chance: random.Random, *, hasty: bool = False) -> tuple[Sent, list[str]]:
    """Kill so many servers of one store; return what clients sent, and what is wrong."""
    with opened(directory) as runtime:
        key = runtime.clients.create("drill", ClientScope(effects=[Effect.READ, Effect.APPEND])).key
    clients = Clients("client", key, hasty=hasty)
    try:
        for _ in range(kills):
            server = ServerProcess(directory)
            clients.turn_to(server.url)
            time.sleep(chance.uniform(0.05, LOAD_S_MAX))
            server.kill()
        server = ServerProcess(directory)
        clients.turn_to(server.url)
        time.sleep(LOAD_S_MAX)
        ended = server.stop()
    finally:
        sent = clients.end()
    failures = [*sent.failures, *([ended] if ended else [])]
    if not hasty and len(sent.acknowledged) < CLIENTS:
        failures.append("a client committed nothing")
    return sent, failures + _wrong(directory, sent)


def _wrong(directory: Path, sent: Sent) -> list[str]:
    """Open the store and return what is lost, doubled, or was never sent."""
    failures: list[str] = []
    try:
        with opened(directory) as runtime:
            for conversation, number in sent.acknowledged.items():
                present = turns_of(runtime, conversation)
                wanted = [f"turn-{place}" for place in range(1, number + 1)]
                if present[:number] != wanted or len(present) > number + 1:
                    lost = len(set(wanted) - set(present))
                    doubled = len(present) - len(set(present))
                    failures.append(f"{lost} lost, {doubled} doubled of {number} turns; {len(present)} are there")
            runtime.evidence.audit()
    except MunimentError as error:
        failures.append(str(error))
    return failures


def _control(chance: random.Random) -> tuple[str, bool]:
    """Kill servers of clients that do not wait for answers, until a loss is found."""
    failures: list[str] = []
    killed = 0
    while not failures and killed < CONTROL_KILLS_MAX:
        killed += 1
        with tempfile.TemporaryDirectory(prefix="muniment-served-control-") as scratch:
            _, failures = _served(Path(scratch), 1, chance, hasty=True)
    return f"clients that do not wait for answers, {killed} killed", bool(failures)
