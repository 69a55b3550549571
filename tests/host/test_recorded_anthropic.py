"""Exchanges of a recorded Anthropic client; what holds for every client is tested with that of OpenAI."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import muniment
from muniment import Runtime
from muniment.errors import InvalidInput, MunimentError
from muniment.events.identity import ConversationId, ConversationKey
from muniment.events.message import Part, ReasoningPart, Role, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.host.failure_policy import FailurePolicy
from muniment.host.recording.recorded_client import recorded_counts

anthropic = pytest.importorskip("anthropic", reason="the package anthropic is not installed")
httpx2 = pytest.importorskip("httpx2")

from muniment.host.anthropic import record  # noqa: E402 - where the package is
from tests.host.scripted_model import ScriptedModel, events, message, message_events  # noqa: E402 - the same

KEY = ConversationKey(conversation=ConversationId("talk"))
ASK: dict[str, Any] = {"model": "claude-test", "max_tokens": 100}
TEXT = {"type": "text", "text": "Blue."}
THINK = {"type": "thinking", "thinking": "Look up.", "signature": "sig"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "sky"}}
STREAMED = message_events(
    (
        {"type": "thinking", "thinking": "", "signature": ""},
        [
            {"type": "thinking_delta", "thinking": "Look "},
            {"type": "thinking_delta", "thinking": "up."},
            {"type": "signature_delta", "signature": "sig"},
        ],
    ),
    ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "Let me"}, {"type": "text_delta", "text": " see."}]),
    (
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
        [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"at":', '"sky"}')],
    ),
)


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with muniment.open("memory:") as opened:
        yield opened


def client_of(model: ScriptedModel, runtime: Runtime, policy: FailurePolicy = FailurePolicy.FAIL_CLOSED) -> Any:
    http = httpx2.Client(transport=model.transport())
    client = anthropic.Anthropic(api_key="k", base_url="http://model", http_client=http, max_retries=0)
    return record(client, runtime, subject="ada", conversation="talk", policy=policy)


def turns(runtime: Runtime) -> list[SliceTurn]:
    """Return the turns of the conversation; none before its first."""
    with contextlib.suppress(muniment.errors.UnknownConversation):
        return runtime.transcripts.replay(KEY, View.RAW_OWNER, 500).turns
    return []


def parts(runtime: Runtime) -> list[list[Part]]:
    """Return the parts of each turn."""
    return [[part for one in turn.messages for part in one.parts] for turn in turns(runtime)]


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def test_an_agent_loop_is_stored_once(runtime: Runtime) -> None:
    """The question, reasoning and call; then the result and the answer."""
    answers = [message(THINK, CALL, name="msg_1", stop="tool_use"), message(TEXT, name="msg_2")]
    client = client_of(ScriptedModel(lambda _asked: answers.pop(0)), runtime)
    messages: list[Any] = [user("What colour?")]
    said = client.messages.create(**ASK, system="Be brief.", messages=messages)
    messages.append({"role": "assistant", "content": said.content})
    messages.append(user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "blue"}))
    client.messages.create(**ASK, system="Be brief.", messages=messages)
    assert parts(runtime) == [
        [
            TextPart(content="Be brief."),
            TextPart(content="What colour?"),
            ReasoningPart(content="Look up."),
            ToolCallPart(id="toolu_1", name="look", arguments={"at": "sky"}),
        ],
        [ToolCallResponsePart(id="toolu_1", response="blue"), TextPart(content="Blue.")],
    ]
    first = turns(runtime)[0]
    assert first.turn == "msg_1"
    assert {one.key: one.value for one in first.attributes} == {
        "host.gen_ai.usage.input_tokens": 8,
        "host.gen_ai.usage.output_tokens": 6,
        "host.gen_ai.usage.cache_read.input_tokens": 1,
        "host.gen_ai.usage.cache_creation.input_tokens": 0,
        "host.gen_ai.response.finish_reasons": ["tool_use"],
    }


def test_a_beginning_that_the_host_gives_is_kept_as_it_was_sent(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: message({"type": "text", "text": "1}"})), runtime)
    client.messages.create(**ASK, messages=[user("JSON"), {"role": "assistant", "content": '{"a":'}])
    assert [(one.role, one.parts) for one in turns(runtime)[0].messages] == [
        (Role.USER, [TextPart(content="JSON")]),
        (Role.ASSISTANT, [TextPart(content='{"a":')]),
        (Role.ASSISTANT, [TextPart(content="1}")]),
    ]


@pytest.mark.parametrize("helper", [True, False])
def test_a_stream_is_what_the_client_makes_of_it(runtime: Runtime, *, helper: bool) -> None:
    client = client_of(ScriptedModel(lambda _asked: STREAMED), runtime)
    if helper:
        with client.messages.stream(**ASK, messages=[user("What colour?")]) as stream:
            final = stream.get_final_message()
        assert final.content[2].input == {"at": "sky"}
    else:
        for event in client.messages.create(**ASK, messages=[user("What colour?")], stream=True):
            assert bool(turns(runtime)) is (event.type == "message_stop")
    assert parts(runtime) == [
        [
            TextPart(content="What colour?"),
            ReasoningPart(content="Look up."),
            TextPart(content="Let me see."),
            ToolCallPart(id="toolu_1", name="look", arguments={"at": "sky"}),
        ]
    ]


@pytest.mark.parametrize("kept", range(1, len(STREAMED)))
def test_a_stream_without_its_end_is_not_committed(runtime: Runtime, kept: int) -> None:
    client = client_of(ScriptedModel(lambda _asked: STREAMED[:kept]), runtime)
    list(client.messages.create(**ASK, messages=[user("What colour?")], stream=True))
    assert turns(runtime) == []
    assert recorded_counts(client).unfinished == 1


def test_the_input_of_a_call_that_is_cut_is_kept_as_text(runtime: Runtime) -> None:
    """As `max_tokens` cuts it."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in ('{"at":', ' "sk')]
    client = client_of(ScriptedModel(lambda _asked: message_events((call, deltas))), runtime)
    list(client.messages.create(**ASK, messages=[user("What colour?")], stream=True))
    assert parts(runtime) == [
        [TextPart(content="What colour?"), ToolCallPart(id="toolu_1", name="look", arguments='{"at": "sk')]
    ]


def test_a_delta_of_a_block_that_never_began_does_not_break_the_stream(runtime: Runtime) -> None:
    stray = {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "stray"}}
    sent = [*STREAMED[:3], *events(stray, named=True), *STREAMED[3:]]
    client = client_of(ScriptedModel(lambda _asked: sent), runtime, FailurePolicy.FAIL_OPEN)
    came = list(client.messages.create(**ASK, messages=[user("What colour?")], stream=True))
    assert came[-1].type == "message_stop"
    counts = recorded_counts(client)
    assert (counts.failed, counts.committed, counts.unfinished) == (1, 0, 0)
    assert turns(runtime) == []


def test_with_fail_closed_the_model_is_not_asked_again(runtime: Runtime) -> None:
    model = ScriptedModel(lambda _asked: message(TEXT))
    client = client_of(model, runtime).with_options(max_retries=3)
    runtime.close()
    with pytest.raises(MunimentError):
        client.messages.create(**ASK, messages=[user("Hi.")])
    assert len(model.requests) == 1


def test_many_asynchronous_calls_are_each_a_turn(runtime: Runtime) -> None:
    def echo(asked: dict[str, Any]) -> Any:
        text = asked["messages"][-1]["content"]
        if asked.get("stream"):
            return message_events(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]), name=text)
        return message({"type": "text", "text": text}, name=text)

    async def ask(client: Any, number: int) -> None:
        if number % 2:
            async with client.messages.stream(**ASK, messages=[user(f"q{number}")]) as stream:
                assert await stream.get_final_text() == f"q{number}"
        else:
            await client.messages.create(**ASK, messages=[user(f"q{number}")])

    async def run() -> None:
        http = httpx2.AsyncClient(transport=ScriptedModel(echo).transport())
        given = anthropic.AsyncAnthropic(api_key="k", base_url="http://model", http_client=http)
        async with record(given, runtime, subject="ada", conversation="talk") as client:
            await asyncio.gather(*[ask(client, number) for number in range(200)])
            assert recorded_counts(client).committed == 200

    asyncio.run(run())
    assert sorted(turn.turn for turn in turns(runtime)) == sorted(f"q{number}" for number in range(200))


def test_clients_of_other_clouds_are_refused_and_not_left_unrecorded(runtime: Runtime) -> None:
    with pytest.raises(InvalidInput):
        record(object(), runtime, subject="ada", conversation="talk")
