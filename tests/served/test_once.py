"""AD-04: a key means one request of one caller, whatever it comes over."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import muniment
from muniment.evidence.pin import FilePin
from muniment.governance.access import Effect
from muniment.governance.client_scope import ClientScope
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from muniment.transports.http.http_app import MountedApp
from muniment.transports.mcp.over_http import PATH, McpOverHttp
from muniment.transports.mcp.tool_calls import IDEMPOTENCY_KEY, REPLAYED
from tests.cli.shell import Shell
from tests.served.conftest import EVERYTHING, serving
from tests.turns import TALK, plain_turn

ASKED = {"conversation": {"conversation": TALK}, "turn": "turn-1", "reason": "why", "requester": "who"}


class Answered(NamedTuple):
    """What came back: the report, or the code of a refusal; and whether it was that of an earlier call."""

    report: Any
    repeated: bool = False


class Place(NamedTuple):
    """A store that a server serves, beside which commands run."""

    runtime: Runtime
    url: str
    shell: Shell
    monkeypatch: pytest.MonkeyPatch

    def key(self, name: str, scope: ClientScope = EVERYTHING) -> str:
        return self.runtime.clients.create(name, scope).key

    def events(self) -> int:
        return self.runtime.spaces.usage().events


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Serve a store at the place where the commands of a shell look for theirs."""

    def mounts(callers: Any) -> dict[str, MountedApp]:
        return {PATH: McpOverHttp(catalogue(), callers, every=True)}

    keys, pins = f"file:{tmp_path}/.config/muniment/root.key", FilePin(tmp_path / ".local/state/muniment/pins")
    with muniment.open(str(tmp_path / "store"), keys=keys, options=Options(pin=pins)) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        with serving(runtime, mounts=mounts) as url:
            yield Place(runtime, url, Shell(tmp_path, system_sources()), monkeypatch)


def over_http(place: Place, client: str, once: str, asked: dict[str, Any]) -> Answered:
    headers = {"Authorization": f"Bearer {client}", "Idempotency-Key": once}
    got = httpx2.post(f"{place.url}/v1/disclosure/reveal", json=asked, headers=headers)
    told = got.json()
    return Answered(told if got.is_success else told["code"], "idempotent-replayed" in got.headers)


def over_mcp(place: Place, client: str, once: str, asked: dict[str, Any]) -> Answered:
    meta: Any = {IDEMPOTENCY_KEY: once}

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {client}"}) as http,
            Client(streamable_http_client(f"{place.url}/mcp", http_client=http)) as it,
        ):
            try:
                return await it.call_tool("disclosure_reveal", asked, meta=meta)
            except MCPError as error:  # raised again outside of the groups of the client, it would be one of a group
                return error

    got = anyio.run(run)
    if isinstance(got, MCPError):
        return Answered(got.error.message)
    told = got.content[0].text.partition(":")[0] if got.is_error else got.structured_content
    return Answered(told, bool((got.meta or {}).get(REPLAYED)))


def over_cli(place: Place, client: str, once: str, asked: dict[str, Any]) -> Answered:
    place.monkeypatch.setenv("MUNIMENT_CLIENT_KEY", client)
    words = ["--turn", asked["turn"], "--reason", asked["reason"], "--requester", asked["requester"]]
    got = place.shell.run("disclosure", "reveal", TALK, *words, "--idempotency-key", once, "--json")
    if got.code:
        return Answered(json.loads(got.out)["error"]["code"])
    return Answered(json.loads(got.out), "done before" in got.err)


Ask = Callable[[Place, str, str, dict[str, Any]], Answered]
TRANSPORTS: dict[str, Ask] = {"http": over_http, "mcp": over_mcp, "cli": over_cli}
PAIRS = list(itertools.product(TRANSPORTS, repeat=2))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_key_means_the_same_request_over_every_transport(place: Place, first: str, second: str) -> None:
    client, before = place.key("desk"), place.events()
    answered = TRANSPORTS[first](place, client, "k", ASKED)
    assert not answered.repeated
    assert place.events() == before + 1
    assert TRANSPORTS[second](place, client, "k", ASKED) == Answered(answered.report, repeated=True)
    assert TRANSPORTS[second](place, client, "k", ASKED | {"reason": "other"}).report == "request.key_reused"
    assert place.events() == before + 1


def test_a_file_is_the_same_request_over_every_transport(place: Place, tmp_path: Path) -> None:
    """What was sent over HTTP is known over MCP and on the command line; other bytes are another request."""
    client, file = place.key("desk"), tmp_path / "door.txt"
    file.write_bytes(b"a door")
    headers = {"Authorization": f"Bearer {client}", "Idempotency-Key": "k"}
    first = httpx2.post(f"{place.url}/v1/attachments/add?name=door.txt", content=b"a door", headers=headers).json()
    meta: Any = {IDEMPOTENCY_KEY: "k"}

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {client}"}) as http,
            Client(streamable_http_client(f"{place.url}/mcp", http_client=http)) as it,
        ):
            given = {"file": base64.b64encode(b"a door").decode(), "name": "door.txt"}
            return await it.call_tool("attachments_add", given, meta=meta)

    over = anyio.run(run)
    assert (over.structured_content, over.meta[REPLAYED]) == (first, True)
    place.monkeypatch.setenv("MUNIMENT_CLIENT_KEY", client)
    typed = ["attachments", "add", str(file), "--name", "door.txt", "--idempotency-key", "k", "--json"]
    assert json.loads(place.shell.must(*typed).out) == first
    file.write_bytes(b"another door")
    assert json.loads(place.shell.run(*typed).out)["error"]["code"] == "request.key_reused"


@pytest.mark.parametrize("wrong", [7, True, ["k"], "", "a b"])
def test_over_mcp_a_key_is_a_text(place: Place, wrong: Any) -> None:
    answered = over_mcp(place, place.key("desk"), wrong, ASKED)
    assert answered.report == "request.invalid"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_rights_come_before_the_key(place: Place, transport: str) -> None:
    """AD-04: a client that may not do it learns nothing of the key, and takes none; keys of others are others."""
    ask = partial(TRANSPORTS[transport], place)
    reader = place.key("reader", ClientScope(effects=[Effect.READ]))
    assert ask(reader, "k", ASKED).report in {"access.denied", "No such tool"}
    first, second = place.key("desk"), place.key("till")
    assert not ask(first, "k", ASKED).repeated
    assert not ask(second, "k", ASKED).repeated
