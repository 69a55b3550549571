"""A connection: its key, its address, certificates, threads, processes, its end."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import logging
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import muniment.aio
from muniment import Access, ConnectOptions, Effect
from muniment.client import connect as connecting
from muniment.errors import (
    ExtraMissing,
    FileUnavailable,
    InvalidInput,
    MunimentError,
    NotAuthenticated,
    NotServed,
    ServerUnavailable,
    StoreClosed,
)
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.transports.http.serving import ServeOptions
from tests.client.peers import DROP, losing, refusal, reported, scripted
from tests.served.conftest import EVERYTHING, serving
from tests.turns import plain_turn
from tests.worlds import World, memory_world

NOWHERE = "http://127.0.0.1:9"
KEY = "mun_canarykey"
SOON = ConnectOptions(attempts_max=1)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with contextlib.closing(memory_world()) as made:
        yield made


@pytest.fixture(scope="module")
def key(world: World) -> str:
    return world.runtime.clients.create("test", EVERYTHING).key


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    with serving(world.runtime) as made:
        yield made


def space_of(address: str, **given: Any) -> str:
    """Return the space that a connection is to."""
    with muniment.connect(address, **given) as runtime:
        return runtime.spaces.usage().space


# --- address and key --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "", "127.0.0.1:8718", "ftp://host", "http://", "http://user:secret@host", "http://host?key=x", "http://host#x",
        "http://host:0", "http://host:99999", "http://[::1", "http://ho st", "http://host/\n", "http://hösst", 5, None,
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(address: Any) -> None:
    with pytest.raises(InvalidInput, match="write http://HOST:PORT") as refused:
        muniment.connect(address, key=KEY)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout_s": 0}, {"timeout_s": -1}, {"timeout_s": float("nan")}, {"timeout_s": float("inf")},
        {"attempts_max": 0}, {"attempts_max": True}, {"connections_max": 10**9}, {"connect_timeout_s": "5"},
    ],
)  # fmt: skip
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        muniment.connect(NOWHERE, key=KEY, options=ConnectOptions(**options))
    assert refused.value.at in options


def test_the_key_may_come_from_the_environment(
    url: str, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(NotAuthenticated, match="or set this variable"):
        muniment.connect(url)
    monkeypatch.setenv("MUNIMENT_CLIENT_KEY", key)
    assert space_of(url) == "default"
    monkeypatch.delenv("MUNIMENT_CLIENT_KEY")
    (tmp_path / "key").write_text(f"{key}\n")
    monkeypatch.setenv("MUNIMENT_CLIENT_KEY_FILE", str(tmp_path / "key"))
    assert space_of(url) == "default"
    with pytest.raises(NotAuthenticated, match="unknown, expired or revoked"):
        space_of(url, key=KEY)  # what is given comes first


@pytest.mark.parametrize("wrong", ["", "a b", "a\r\nX-Other: b", "ключ", "k" * 10_000])
def test_what_cannot_be_a_key_is_never_sent(wrong: str) -> None:
    with pytest.raises(NotAuthenticated):
        muniment.connect(NOWHERE, key=wrong)


def test_the_key_is_in_no_text_no_error_and_no_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong, and however much a host logs."""
    answers = [
        DROP, refusal(NotAuthenticated(problem="unknown_key")), (502, {}, b"x"), (302, {"Location": NOWHERE}, b""),
        reported(world.runtime.spaces.usage()),
    ]  # fmt: skip
    told: list[str] = []
    with caplog.at_level(logging.DEBUG), scripted(answers) as (address, asked):
        with muniment.connect(address, key=KEY, options=SOON) as runtime:
            for _ in answers:
                try:
                    told.append(repr(runtime.spaces.usage()))
                except MunimentError as error:
                    told += [str(error), repr(error), str(error.report()), *traceback.format_exception(error)]
        told += [repr(runtime), repr(runtime.spaces), repr(runtime.spaces.gate), str(vars(runtime.spaces.gate))]
    assert [one.headers["authorization"] for one in asked] == [f"Bearer {KEY}"] * len(answers)
    assert caplog.records
    assert "canarykey" not in "".join(told) + caplog.text + "".join(str(vars(one)) for one in caplog.records)


def test_a_connection_is_not_pickled() -> None:
    runtime = muniment.connect(NOWHERE, key=KEY)
    for kept in (runtime, runtime.spaces.gate._calls.destination):  # type: ignore[union-attr]  # of a connection
        with pytest.raises(TypeError):
            pickle.dumps(kept)


def test_a_key_that_travels_in_the_open_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    for address in ("http://127.0.0.1:9", "http://localhost", "http://[::1]:9", "https://elsewhere.example"):
        muniment.connect(address, key=KEY)
    assert not caplog.records
    muniment.connect("http://elsewhere.example", key=KEY)
    assert "without TLS" in caplog.text


# --- what it is not ---------------------------------------------------------------------------------------------------


def test_rights_and_space_are_those_of_the_key() -> None:
    runtime = muniment.connect(NOWHERE, key=KEY)
    for refused in (
        lambda: runtime.access,
        lambda: runtime.restricted(Access(effects=frozenset({Effect.READ}))),
        lambda: runtime.space("other"),
        lambda: runtime.client_of(KEY),
    ):
        with pytest.raises(NotServed, match="connect with another one"):
            refused()


def test_what_takes_a_path_beside_the_store_is_refused_before_anything_is_sent() -> None:
    runtime = muniment.connect(NOWHERE, key=KEY)
    kept = [each for each in catalogue() if each.server_paths]
    assert kept
    with pytest.raises(NotServed, match="it takes a path on the machine of the store; run it beside the store"):
        runtime.spaces.backup("anywhere")


# --- threads, processes, loops ----------------------------------------------------------------------------------------


def test_threads_share_connections_that_stay_open(world: World, url: str, key: str) -> None:
    with losing(url, 0) as (address, made), muniment.connect(address, key=key) as runtime:
        for number in range(10):
            runtime.transcripts.commit(plain_turn(number))
        assert made() == 1
        with ThreadPoolExecutor(4) as pool:
            receipts = list(pool.map(lambda number: runtime.transcripts.commit(plain_turn(number)), range(10, 50)))
        assert made() <= 4
    assert len({receipt.position for receipt in receipts}) == 40
    assert world.runtime.conversations.list_().conversations[0].turns == 50


def test_calls_beyond_the_pool_wait_for_their_turn(url: str, key: str) -> None:
    with (
        losing(url, 0) as (address, made),
        muniment.connect(address, key=key, options=ConnectOptions(connections_max=2)) as runtime,
        ThreadPoolExecutor(8) as pool,
    ):
        assert len(list(pool.map(lambda _: runtime.spaces.usage(), range(24)))) == 24
        assert made() <= 2


def _in_a_child(runtime: Runtime, told: Any) -> None:
    """Call, and end at once: what the forked interpreter would do at its end belongs to the threads of its parent."""
    told.put(runtime.transcripts.commit(plain_turn(100)).turn)
    told.close()
    told.join_thread()
    os._exit(0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_that_was_forked_has_connections_of_its_own(url: str, key: str) -> None:
    """While another thread of the parent calls all the time, and so holds whatever locks there are."""
    runtime, done = muniment.connect(url, key=key), threading.Event()
    runtime.transcripts.commit(plain_turn(99))  # loads what it needs, so that no lock of an import is held at the fork

    def call() -> None:
        while not done.is_set():
            runtime.spaces.usage()

    busy = threading.Thread(target=call)
    busy.start()
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=_in_a_child, args=[runtime, told])
    child.start()
    assert told.get(timeout=20) == "turn-100"
    child.join(20)
    done.set()
    busy.join()
    assert child.exitcode == 0
    assert runtime.spaces.usage().turns > 0, "and those of the parent are left alone"
    runtime.close()


def workers() -> int:
    """Return how many threads work for event loops; those of the server have other names."""
    return sum(one.name.startswith("asyncio_") for one in threading.enumerate())


async def several(runtime: muniment.aio.AsyncRuntime) -> int:
    found = await asyncio.gather(*(runtime.spaces.usage() for _ in range(20)))
    return len(found)


def test_a_connection_serves_one_loop_after_the_other(url: str, key: str) -> None:
    """In a process of its own: a loop that ends leaves its sockets to the collector, which says so when it comes."""
    loops = f"""
import asyncio
import muniment.aio

async def several(runtime):
    return len(await asyncio.gather(*(runtime.spaces.usage() for _ in range(20))))

runtime = asyncio.run(muniment.aio.connect({url!r}, key={key!r}))
print([asyncio.run(several(runtime)) for _ in range(2)])
"""
    ran = subprocess.run([sys.executable, "-c", loops], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[20, 20]", ran.stderr


def test_awaited_calls_run_at_once(url: str, key: str) -> None:
    async def both() -> tuple[int, str | None]:
        async with await muniment.aio.connect(url, key=key) as runtime:
            before = workers()
            count = await several(runtime)
            assert workers() == before, "no thread waits"
            added = await runtime.attachments.add(b"content" * 100_000, name="file")
        with pytest.raises(StoreClosed):
            await runtime.spaces.usage()
        with pytest.raises(NotServed):
            await runtime.space("other")
        return count, added.part.name

    assert asyncio.run(both()) == (20, "file")


def test_a_closed_connection_is_closed(url: str, key: str) -> None:
    with muniment.connect(url, key=key) as runtime:
        runtime.spaces.usage()
    for _ in range(2):
        runtime.close()
        with pytest.raises(StoreClosed):
            runtime.spaces.usage()


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate of the loopback that signs itself, and its key."""
    home = tmp_path_factory.mktemp("tls")
    made = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(made.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(made, hashes.SHA256())
    )
    (home / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (home / "key.pem").write_bytes(
        made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return home / "cert.pem", home / "key.pem"


def test_a_certificate_is_trusted_when_it_was_named(world: World, key: str, certificate: tuple[Path, Path]) -> None:
    cert, private = certificate
    options = ServeOptions(port=0, tls_cert=str(cert), tls_key=str(private))
    with serving(world.runtime, options=options) as address:
        assert address.startswith("https://")
        for verify in (cert, str(cert), False):
            assert space_of(address, key=key, verify=verify, options=SOON) == "default"
        with pytest.raises(ServerUnavailable, match="its certificate is not trusted"):
            space_of(address, key=key)
        with pytest.raises(ServerUnavailable):
            space_of(address.replace("https", "http"), key=key, options=SOON)


def test_whose_certificates_are_trusted_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(FileUnavailable):
        muniment.connect("https://host", key=KEY, verify=tmp_path / "missing.pem")
    (tmp_path / "broken.pem").write_text("no certificate")
    with pytest.raises(InvalidInput) as refused:
        muniment.connect("https://host", key=KEY, verify=tmp_path / "broken.pem")
    assert refused.value.at == "verify"
    muniment.connect("https://host", key=KEY, verify=tmp_path)  # a folder of authorities, with none in it


# --- what it costs ----------------------------------------------------------------------------------------------------


def test_nobody_pays_for_the_client_who_does_not_connect() -> None:
    """Neither `import muniment`, nor naming `connect`, nor `muniment.aio` loads what calls a server."""
    for named in ("muniment", "muniment; muniment.connect", "muniment.aio"):
        code = (
            f"import sys, {named}; print([one for one in sys.modules if one.startswith(('httpx', 'httpcore', 'h11'))])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout == "[]\n", named


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "find_spec", lambda _: None)
    with pytest.raises(ExtraMissing, match="install muniment with the extra `client`"):
        muniment.connect(NOWHERE, key=KEY)


def test_the_environment_leads_no_key_to_a_proxy(url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setitem(os.environ, name, NOWHERE)
    assert space_of(url, key=key) == "default"
