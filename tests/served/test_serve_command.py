"""`muniment serve`: what it refuses to start with, and a server that a person starts and stops."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2
import pytest

from muniment.errors import FileUnavailable, InvalidInput
from muniment.transports.http.serving import Listener, ServeOptions, is_loopback
from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("options", "at"),
    [
        (ServeOptions(port=-1), "port"),
        (ServeOptions(port=65_536), "port"),
        (ServeOptions(host="0.0.0.0"), "host"),  # noqa: S104 - refused
        (ServeOptions(host="0.0.0.0", allow_remote=True), "host"),  # noqa: S104 - as above
        (ServeOptions(host="no such host.invalid", allow_remote=True, behind_proxy=True), "port"),
        (ServeOptions(tls_cert="server.pem"), "tls_key"),
        (ServeOptions(tls_key="server.key"), "tls_cert"),
    ],
)
def test_a_server_that_others_reach_is_asked_for_and_protected(options: ServeOptions, at: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Listener(options)
    assert refused.value.at == at


def test_a_certificate_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(FileUnavailable):
        Listener(ServeOptions(tls_cert=str(tmp_path / "no.pem"), tls_key=str(tmp_path / "no.key")))


def test_a_place_that_somebody_has_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InvalidInput) as refused:
        Listener(ServeOptions(port=taken.getsockname()[1]))
    assert refused.value.problem == "address_unavailable"


@pytest.mark.parametrize(
    ("host", "only_here"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("a.b", False)],
)
def test_only_this_machine_reaches_a_loopback(host: str, *, only_here: bool) -> None:
    assert is_loopback(host) == only_here


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    ran = Shell(tmp_path).run("serve", "--host", "0.0.0.0")  # noqa: S104 - refused
    assert ran.code == 2
    assert "--allow-remote" in ran.err


@pytest.mark.parametrize("options", [["--demo"], []])
def test_a_person_starts_a_server_uses_it_and_stops_it(tmp_path: Path, options: list[str]) -> None:
    """The calls that the demo prints work; a store of one's own says how to get a key."""
    command = [sys.executable, "-m", "muniment", "serve", "--port", "0", *options]
    store = ["--store", str(tmp_path / "store"), "--keys", f"file:{tmp_path}/root.key", "--pin", str(tmp_path / "pins")]
    with started(command + ([] if options else store)) as (server, said):
        told = said.readline()
        url = told.split()[-1]
        if options:
            told += "".join(said.readline() for _ in range(6))
            (key,) = set(re.findall(r"mun_\w+", told))
            found = httpx2.get(f"{url}/v1/transcripts/search?query=parcel", headers={"Authorization": f"Bearer {key}"})
            assert found.json()["hits"]
        else:
            assert "muniment clients create" in said.readline()
        assert httpx2.get(f"{url}/health/ready").json() == {"ready": True}
        for path in ("/memories/flush", "/memory/recall", "/agent-tool-registries", "/mcp"):
            assert httpx2.post(f"{url}{path}", json={}).status_code in {401, 405}, path
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=30) in {0, 130}


@contextmanager
def started(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Run a command as long as the block runs; give it and what it says."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout
        finally:
            process.kill()
