"""MCP: tools, resources and prompts for models, as a client of the official SDK sees them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import pytest
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import muniment
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from muniment.transports.http.call import Callers
from muniment.transports.http.http_app import MountedApp, Mounts
from muniment.transports.mcp.editors import CLIENTS, RULE_FILES
from muniment.transports.mcp.mcp_server import build
from muniment.transports.mcp.over_http import PATH, McpOverHttp
from muniment.transports.mcp.tool_calls import NOTICE
from tests.cli.shell import Shell
from tests.served.conftest import serving
from tests.turns import TALK, plain_turn
from tests.worlds import World, key_of, memory_world

FEATURED = {
    "transcripts_search", "transcripts_replay", "memory_recall", "memory_remember", "memory_forget", "evidence_prove",
}  # fmt: skip


def asked(runtime: Runtime, ask: Callable[[Client], Awaitable[Any]], *, every: bool = False) -> Any:
    """Return what a client gets for a question."""

    async def run() -> Any:
        async with Client(build(lambda _: runtime, catalogue(), every=every)) as client:
            try:
                return await ask(client)
            except MCPError as error:
                return error  # raised again outside of the groups of the client

    answer = anyio.run(run)
    if isinstance(answer, MCPError):
        raise answer
    return answer


@pytest.fixture
def world() -> Any:
    made = memory_world().with_turns(2)
    yield made
    made.close()


def test_a_model_is_offered_a_handful_of_tools_and_all_when_asked_for(world: World) -> None:
    few = asked(world.runtime, lambda client: client.list_tools())
    assert {tool.name for tool in few.tools} == FEATURED
    every = asked(world.runtime, lambda client: client.list_tools(), every=True)
    assert {tool.name for tool in every.tools} == {each.path.replace(".", "_") for each in catalogue()}
    hints = {tool.name: tool.annotations for tool in few.tools}
    assert hints["transcripts_search"].read_only_hint
    assert hints["memory_forget"].destructive_hint


def test_a_caller_is_offered_what_it_may_do_and_nothing_else(world: World) -> None:
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ})))
    listed = asked(reader, lambda client: client.list_tools())
    assert {tool.name for tool in listed.tools} == FEATURED - {"memory_remember", "memory_forget"}
    for name in ("memory_forget", "nothing_there"):
        with pytest.raises(MCPError) as refused:
            asked(reader, partial(Client.call_tool, name=name, arguments={}))
        assert refused.value.error.code == -32602
        assert refused.value.error.message == "No such tool"


def test_a_caller_of_one_operation_is_offered_one_tool(world: World) -> None:
    """Also where it may not ask what it may do; and asking leaves no record of a refusal."""
    narrow = world.runtime.restricted(Access(operations=frozenset({"memory.recall"})))
    events = world.runtime.spaces.usage().events
    assert [tool.name for tool in asked(narrow, lambda client: client.list_tools()).tools] == ["memory_recall"]
    assert world.runtime.spaces.usage().events == events


def test_a_tool_returns_its_report_as_structure_and_as_marked_text(world: World) -> None:
    given = {"conversation": {"conversation": TALK}}
    found = asked(world.runtime, lambda client: client.call_tool("transcripts_replay", given))
    embedded = msgspec.to_builtins(world.runtime.transcripts.replay(key_of()))
    assert found.structured_content["turns"] == embedded["turns"]
    notice, text = (block.text for block in found.content)
    assert notice == NOTICE
    assert json.loads(text) == found.structured_content


def test_a_refusal_is_a_result_that_a_model_can_learn_from(world: World) -> None:
    given = {"conversation": {"conversation": "no-such"}}
    found = asked(world.runtime, lambda client: client.call_tool("transcripts_replay", given))
    assert found.is_error
    assert "transcript.unknown_conversation" in found.content[0].text
    wrong = asked(world.runtime, lambda client: client.call_tool("transcripts_replay", {"limit": "x"}))
    assert wrong.is_error


def test_a_turn_is_committed_and_a_file_added_by_tools(world: World) -> None:
    turn = msgspec.to_builtins(plain_turn(3))
    asked(world.runtime, lambda client: client.call_tool("transcripts_commit", {"turn": turn}), every=True)
    assert world.turns_of() == 3
    added = asked(world.runtime, lambda client: client.call_tool("attachments_add", {"file": "YWJj"}), every=True)
    assert added.structured_content["part"]["size"] == 3
    broken = asked(world.runtime, lambda client: client.call_tool("attachments_add", {"file": "~"}), every=True)
    assert broken.is_error


def test_resources_are_the_guide_what_may_be_done_and_conversations(world: World) -> None:
    listed = asked(world.runtime, lambda client: client.list_resources())
    uris = [str(one.uri) for one in listed.resources]
    assert "muniment://guide/start" in uris
    for uri in [*uris[:3], f"muniment://conversations/default/{TALK}"]:
        read = asked(world.runtime, partial(Client.read_resource, uri=uri))
        assert read.contents[0].text
    assert asked(world.runtime, lambda client: client.list_resource_templates()).resource_templates
    for wrong in ("muniment://guide/nothing", "muniment://conversations/default/nothing", "file:///etc/passwd",
                  "muniment://conversations/x", "muniment://capabilities/x", "muniment://nothing"):  # fmt: skip
        with pytest.raises(MCPError):
            asked(world.runtime, partial(Client.read_resource, uri=wrong))


def test_prompts_hold_what_the_store_says_and_where(world: World) -> None:
    assert len(asked(world.runtime, lambda client: client.list_prompts()).prompts) == 2
    cited = asked(world.runtime, lambda client: client.get_prompt("cite", {"question": "answer"}))
    assert f"muniment://conversations/default/{TALK}" in cited.messages[0].content.text
    given = {"subject": "ada", "question": "What is it?"}
    recalled = asked(world.runtime, lambda client: client.get_prompt("recall", given))
    assert recalled.messages[0].content.text.endswith("What is it?")
    for name, arguments in [("nothing", {}), ("cite", {}), ("cite", {"question": " "}), ("recall", {"question": "x"})]:
        with pytest.raises(MCPError):
            asked(world.runtime, partial(Client.get_prompt, name=name, arguments=arguments))


def test_an_editor_starts_the_server_and_uses_a_tool(tmp_path: Path) -> None:
    """Over standard input and output, in a process of its own, with the rights of a client key."""
    store, keys, pins = str(tmp_path / "store"), f"file:{tmp_path}/root.key", tmp_path / "pins"
    with muniment.open(store, keys=keys, options=Options(pin=FilePin(pins))) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        key = runtime.clients.create("editor").key

    async def run() -> Any:
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "muniment", "mcp", "--store", store, "--keys", keys, "--pin", str(pins)],
            env={**os.environ, "MUNIMENT_CLIENT_KEY": key},
        )
        async with Client(stdio_client(started)) as client:
            return await client.list_tools(), await client.call_tool("transcripts_search", {"query": "answer"})

    listed, found = anyio.run(run)
    assert {tool.name for tool in listed.tools} == FEATURED - {"memory_remember", "memory_forget"}
    assert "hits" in found.structured_content


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_is_told_starts_the_server(tmp_path: Path, client: str) -> None:
    ran = Shell(tmp_path).must("mcp", "--print-config", client, "--space", "work", "--all")
    (servers,) = json.loads(ran.out).values()
    entry = servers["muniment"]
    assert [entry["command"], *entry["args"]] == [sys.executable, "-m", "muniment", "mcp", "--space", "work", "--all"]


@pytest.mark.parametrize("editor", RULE_FILES)
def test_rules_for_editors_name_tools_that_there_are(tmp_path: Path, editor: str) -> None:
    """CL-03: instructions and nothing of what is stored."""
    ran = Shell(tmp_path).must("mcp", "--print-rules", editor)
    assert RULE_FILES[editor] in ran.err
    tools = set(re.findall(r"`([a-z]+_[a-z]+)`", ran.out)) - {"dry_run"}
    assert tools <= FEATURED


# --- over HTTP --------------------------------------------------------------------------------------------------------


def asked_over_http(
    world: World, headers: dict[str, str], ask: Callable[[Client], Awaitable[Any]], mounted: Mounts | None = None
) -> Any:
    """Return what a client with these headers gets over HTTP."""

    async def run(url: str) -> Any:
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as it,
        ):
            return await ask(it)

    with serving(world.runtime, mounts=mounted or mounts) as url:
        return anyio.run(run, f"{url}/mcp")


def mounts(callers: Callers) -> Mapping[str, MountedApp]:
    """Mount MCP as `muniment serve` does."""
    return {PATH: McpOverHttp(catalogue(), callers, every=False)}


def test_over_http_the_key_of_a_client_decides(world: World) -> None:
    key = world.runtime.clients.create("reader").key
    headers = {"Authorization": f"Bearer {key}"}
    listed = asked_over_http(world, headers, lambda client: client.list_tools())
    assert {tool.name for tool in listed.tools} == FEATURED - {"memory_remember", "memory_forget"}
    given = {"conversation": {"conversation": TALK}}
    found = asked_over_http(world, headers, lambda client: client.call_tool("transcripts_replay", given))
    assert found.structured_content["turns"]


def test_over_http_no_tool_takes_a_path_of_the_server(world: World) -> None:
    runtime = world.runtime
    key = runtime.clients.create("owner", ClientScope(effects=list(Effect), views=list(View))).key

    def every(callers: Callers) -> Mapping[str, MountedApp]:
        return {PATH: McpOverHttp(catalogue(), callers, every=True)}

    headers = {"Authorization": f"Bearer {key}"}
    listed = asked_over_http(world, headers, lambda client: client.list_tools(), every)
    offered = {tool.name for tool in listed.tools}
    assert offered == {each.path.replace(".", "_") for each in catalogue() if not each.server_paths}


def test_over_http_there_is_nothing_without_a_key(world: World) -> None:
    with serving(world.runtime, mounts=mounts) as url:
        for headers in ({}, {"Authorization": "Bearer mun_" + "0" * 49}):
            answer = httpx2.post(
                f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers
            )
            assert (answer.status_code, answer.json()["code"]) == (401, "access.not_authenticated")
        foreign = httpx2.post(f"{url}/mcp", json={}, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403


def test_over_http_there_is_nothing_to_listen_to(world: World) -> None:
    """A stream that nothing is ever said on would hold a place among the requests in work."""
    key = world.runtime.clients.create("reader").key
    headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
    with serving(world.runtime, mounts=mounts) as url:
        for method in ("GET", "DELETE"):
            answer = httpx2.request(method, f"{url}/mcp", headers=headers)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
