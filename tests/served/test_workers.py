"""Several server processes on one store: what one has done the others know, and one that ends is replaced."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

import muniment
from muniment.errors import RateExceeded
from muniment.evidence.pin import FilePin
from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from muniment.transports.http.rates import MINUTE_MS, Rates
from muniment.transports.http.workers import Workers
from tests.cli.shell import Shell
from tests.turns import TALK, plain_turn

EVERYTHING = ClientScope(effects=list(Effect), views=list(View))
TALKING = {"conversation": {"conversation": TALK}}
WITHIN_S = 60.0
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the processes are found in /proc")


def until(what: Callable[[], Any]) -> Any:
    """Return the first true answer."""
    end = time.monotonic() + WITHIN_S
    while not (answer := what()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return answer


class Fleet:
    """A server of several processes, on a store of its own."""

    def __init__(self, home: Path, server: subprocess.Popen[str], url: str, key: str) -> None:
        self.home = home
        self.server = server
        self.url = url
        self.key = key

    @property
    def workers(self) -> list[int]:
        """The ids of the server processes."""
        pid = self.server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def post(self, path: str, given: Any, key: str | None = None, **headers: str) -> httpx2.Response:
        """Call an operation on a connection of its own."""
        headers["Authorization"] = f"Bearer {key or self.key}"
        return httpx2.post(f"{self.url}/v1/{path}", json=given, headers=headers, timeout=WITHIN_S)

    @contextmanager
    def only(self, worker: int) -> Iterator[None]:
        """Let one process answer, and none of the others."""
        others = [each for each in self.workers if each != worker]
        for each in others:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in others:
                os.kill(each, signal.SIGCONT)


def said(turn: dict[str, Any]) -> str:
    """Return the words of the first message of a turn."""
    words = turn["messages"][0]["content"]
    return str(words if isinstance(words, str) else words[0]["content"])


def opened(home: Path) -> Runtime:
    """Open the store of a home."""
    return muniment.open(home / "store", keys=f"file:{home}/root.key", options=Options(pin=FilePin(home / "pins")))


@contextmanager
def started(home: Path, workers: int) -> Iterator[subprocess.Popen[str]]:
    """Run a server on the store of a home as long as the block runs."""
    command = [sys.executable, "-m", "muniment", "serve", "--port", "0", "--workers", str(workers)]
    command += ["--store", f"{home}/store", "--keys", f"file:{home}/root.key", "--pin", f"{home}/pins"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            yield server
        finally:
            server.kill()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Return a server of two processes."""
    home = tmp_path_factory.mktemp("fleet")
    with opened(home) as runtime:
        key = runtime.clients.create("owner", EVERYTHING).key
    with started(home, 2) as server:
        assert server.stdout is not None
        made = Fleet(home, server, server.stdout.readline().split()[-1], key)
        until(lambda: len(made.workers) == 2)
        for worker in made.workers:
            with made.only(worker):  # each has started when it has answered
                assert made.post("spaces/usage", {}).status_code == 200
        yield made


@needs_proc
def test_what_one_process_acknowledged_the_other_shows(fleet: Fleet) -> None:
    """Turn by turn, each process commits and the other one reads, finds and counts it."""
    for number, (writer, reader) in enumerate([fleet.workers, fleet.workers[::-1]] * 3):
        with fleet.only(writer):
            turn = msgspec.to_builtins(plain_turn(number))
            assert fleet.post("transcripts/commit", {"turn": turn}).json()["committed"]
        with fleet.only(reader):
            page = fleet.post("transcripts/replay", TALKING).json()
            assert page["turns"][-1]["turn"] == turn["turn"]
            assert fleet.post("conversations/list", {}).json()["conversations"][0]["turns"] == number + 1
            assert turn["turn"] in fleet.post("transcripts/search", {"query": said(turn)}).text


@needs_proc
def test_what_is_erased_over_one_process_is_gone_in_the_other(fleet: Fleet) -> None:
    one, two = fleet.workers
    turn = msgspec.to_builtins(plain_turn(77)) | {"conversation": "short"}
    talk = {"conversation": {"conversation": "short"}}
    with fleet.only(one):
        assert fleet.post("transcripts/commit", {"turn": turn}).status_code == 200
    with fleet.only(two):
        shown = fleet.post("transcripts/replay", talk)
        assert said(turn) in shown.text
        asked = talk | {"turn": turn["turn"], "transition": "erase", "reason": "asked", "requester": "ada"}
        assert fleet.post("lifecycle/request", asked).status_code == 200
    with fleet.only(one):
        page = fleet.post("transcripts/replay", talk)
        assert (page.json()["turns"][0]["phase"], said(turn) in page.text) == ("erased", False)


@needs_proc
def test_a_key_that_one_process_revokes_opens_nothing_in_any(fleet: Fleet) -> None:
    one, two = fleet.workers
    with fleet.only(one):
        key = fleet.post("clients/create", {"client": "brief"}).json()["key"]
    with fleet.only(two):
        assert fleet.post("spaces/usage", {}, key).status_code == 200
        assert fleet.post("clients/revoke", {"client": "brief"}).status_code == 200
    with fleet.only(one):
        assert fleet.post("spaces/usage", {}, key).status_code == 401


@needs_proc
def test_a_retry_at_another_process_gets_the_first_answer(fleet: Fleet) -> None:
    one, two = fleet.workers
    given, header = {"turn": msgspec.to_builtins(plain_turn(88))}, {"Idempotency-Key": "k-88"}
    with fleet.only(one):
        first = fleet.post("transcripts/commit", given, **header)
    with fleet.only(two):
        again = fleet.post("transcripts/commit", given, **header)
    assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")


@needs_proc
def test_the_rate_of_a_client_is_one_for_all_processes(fleet: Fleet) -> None:
    scope = msgspec.to_builtins(ClientScope(requests_per_minute=4))
    key = fleet.post("clients/create", {"client": "slow", "scope": scope}).json()["key"]
    statuses = []
    for worker in fleet.workers * 4:
        with fleet.only(worker):
            statuses.append(fleet.post("spaces/usage", {}, key).status_code)
    assert statuses == [200] * 4 + [429] * 4


@needs_proc
def test_a_process_that_dies_is_replaced_and_nothing_is_lost(fleet: Fleet) -> None:
    """Killed in the middle of its work, again and again: with a key of its own each turn is there once."""
    before = fleet.workers
    committed = []
    for number in range(100, 108):
        if number % 6 == 3:
            os.kill(fleet.workers[0], signal.SIGKILL)
        turn = msgspec.to_builtins(plain_turn(number)) | {"conversation": "killed"}

        def commit(turn: Any = turn, number: int = number) -> bool:
            try:
                answer = fleet.post("transcripts/commit", {"turn": turn}, **{"Idempotency-Key": f"n-{number}"})
            except httpx2.TransportError:
                return False
            return answer.status_code == 200

        until(commit)
        committed.append(turn["turn"])
    page = fleet.post("transcripts/replay", {"conversation": {"conversation": "killed"}}).json()
    assert [turn["turn"] for turn in page["turns"]] == committed
    after = until(lambda: len(fleet.workers) == 2 and fleet.workers)
    assert set(after) != set(before)


@needs_proc
def test_a_signal_stops_all_of_them_and_the_store_is_closed(fleet: Fleet) -> None:
    """The last test of the server: the head is pinned, as whoever closes a store leaves it."""
    turn = msgspec.to_builtins(plain_turn(200)) | {"conversation": "last"}
    position = until(lambda: fleet.post("transcripts/commit", {"turn": turn}).json().get("position"))
    workers = fleet.workers
    fleet.server.send_signal(signal.SIGTERM)
    assert fleet.server.wait(timeout=WITHIN_S) == 0
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    pinned = (fleet.home / "pins").glob("*.checkpoint")
    assert f"\n{position + 1}\n" in "".join(place.read_text(encoding="utf-8") for place in pinned)
    with opened(fleet.home) as runtime:
        assert runtime.system.health().sound


@needs_proc
def test_processes_whose_starter_is_gone_stop(tmp_path: Path) -> None:
    """Nobody is left who holds the address."""
    with opened(tmp_path) as runtime:
        runtime.clients.create("owner", EVERYTHING)
    with started(tmp_path, 2) as server:
        made = Fleet(tmp_path, server, "", "")
        workers = until(lambda: made.workers)
        server.kill()
        until(lambda: not [worker for worker in workers if Path(f"/proc/{worker}").exists()])


def test_a_process_that_keeps_failing_is_started_again_after_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    """The pauses are one second, two, four: no loop that burns the machine."""
    workers = Workers(1, partial(sys.exit, 3))
    thread = threading.Thread(target=workers.run)
    thread.start()
    until(lambda: len(caplog.messages) == 2)
    workers._noted(signal.SIGTERM, None)
    thread.join(WITHIN_S)
    assert [re.sub(r"worker \d+ ", "", said) for said in caplog.messages] == [
        "ended with 3; the next starts in 1 s",
        "ended with 3; the next starts in 2 s",
    ]


def test_a_store_that_one_process_alone_can_open_takes_one(tmp_path: Path) -> None:
    for options in (["--demo"], ["--store", "memory:"], ["--keys", "passphrase:"]):
        ran = Shell(tmp_path).run("serve", "--port", "0", "--workers", "2", *options)
        assert (ran.code, "one process" in ran.err) == (2, True)


# --- rates ------------------------------------------------------------------------------------------------------------


def test_buckets_in_one_file_are_shared_and_fill_again(tmp_path: Path) -> None:
    """Two with the same file and key count together; the file knows no name."""
    one, two = (Rates(tmp_path / "rates.db", b"k" * 32) for _ in range(2))
    for rates in (one, two, one, two):
        rates.take("the desk", 4, 1000)
    for rates in (one, two):
        with pytest.raises(RateExceeded):
            rates.take("the desk", 4, 1000)
    two.take("another", 1, 1000)
    one.take("the desk", 4, 1000 + MINUTE_MS // 4)
    with pytest.raises(RateExceeded):
        two.take("the desk", 4, 1000 + MINUTE_MS // 4)
    for _ in range(4):
        two.take("the desk", 4, 1000 + 3 * MINUTE_MS)
    one.close()
    two.close()
    assert b"desk" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
