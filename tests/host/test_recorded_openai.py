"""Exchanges of a recorded OpenAI client: what is stored, when, and that its caller notices nothing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

import muniment
from muniment import Detect, DetectedType, Options, Passage, Profile, Runtime, Scope
from muniment.errors import InvalidInput
from muniment.events.changes import RedactionReason
from muniment.events.identity import TurnId
from muniment.events.message import ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.governance.views import View
from muniment.host.recording.recorded_client import recorded_counts

openai = pytest.importorskip("openai", reason="the package openai is not installed")
httpx2 = pytest.importorskip("httpx2")

from muniment.host.openai import record  # noqa: E402 - where the package is
from tests.host.recorded_openai import (  # noqa: E402 - the same
    KEY,
    MODEL,
    assistant,
    client_of,
    numbered,
    turns,
    user,
    words,
)
from tests.host.scripted_model import (  # noqa: E402 - the same
    DONE,
    ScriptedModel,
    chunk,
    completion,
    events,
    output_text,
    response,
    streamed,
)


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with muniment.open("memory:") as opened:
        yield opened


def test_an_exchange_is_a_turn_with_what_the_provider_says_about_it(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: completion("Hello.")), runtime)
    said = client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert said.choices[0].message.content == "Hello."
    [turn] = turns(runtime)
    assert words(runtime) == [["Hi.", "Hello."]]
    assert turn.turn == "chatcmpl-1"
    assert [(ref.host, ref.type, ref.id) for ref in turn.host_refs] == [("openai", "response", "chatcmpl-1")]
    assert turn.source is not None
    assert (turn.source.model_alias, turn.source.model) == (MODEL, "gpt-test-2026")
    assert {one.key: one.value for one in turn.attributes} == {
        "host.gen_ai.usage.input_tokens": 11,
        "host.gen_ai.usage.output_tokens": 5,
        "host.gen_ai.usage.cache_read.input_tokens": 3,
        "host.gen_ai.usage.reasoning.output_tokens": 2,
        "host.gen_ai.response.finish_reasons": ["stop"],
    }


def test_a_conversation_that_is_sent_again_is_stored_once(runtime: Runtime) -> None:
    client = client_of(numbered(), runtime)
    messages = [{"role": "system", "content": "Be brief."}]
    for number in range(1, 6):
        messages.append(user(f"question {number}"))
        said = client.chat.completions.create(model=MODEL, messages=messages)
        messages.append(said.choices[0].message)
    assert words(runtime) == [
        ["Be brief.", "question 1", "answer 1"],
        *[[f"question {number}", f"answer {number}"] for number in range(2, 6)],
    ]


@pytest.mark.parametrize(
    ("second", "stored"),
    [
        ([user("b")], ["b"]),  # no history
        ([user("a")], ["a"]),  # asked again
        ([user("a"), user("b")], ["b"]),  # without the answer
        ([user("a"), assistant("answer 1"), user("b")], ["b"]),
        ([user("a"), assistant("edited"), user("b")], ["edited", "b"]),
        ([{"role": "system", "content": "s"}, user("a"), assistant("answer 1"), user("b")], ["s", "b"]),
        ([user("a"), assistant("answer 1"), user("a")], ["a"]),  # the same words, said twice
        ([user("a"), assistant("answer 1")], []),  # go on
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
def test_only_what_is_new_is_stored(
    runtime: Runtime, second: list[dict[str, Any]], stored: list[str], *, restarted: bool
) -> None:
    """Whether the process that recorded the conversation goes on, or another one does."""
    model = numbered()
    client = client_of(model, runtime)
    client.chat.completions.create(model=MODEL, messages=[user("a")])
    again = client_of(model, runtime) if restarted else client
    again.chat.completions.create(model=MODEL, messages=second)
    assert words(runtime) == [["a", "answer 1"], [*stored, "answer 2"]]


def test_a_shortened_conversation_adds_what_is_new(runtime: Runtime) -> None:
    client = client_of(numbered(), runtime)
    client.chat.completions.create(model=MODEL, messages=[user("a")])
    client.chat.completions.create(model=MODEL, messages=[user("a"), assistant("answer 1"), user("b")])
    client.chat.completions.create(model=MODEL, messages=[user("b"), assistant("answer 2"), user("c")])
    assert words(runtime)[2] == ["c", "answer 3"]


def test_two_processes_that_take_turns_store_each_message_once(runtime: Runtime) -> None:
    model = numbered()
    one, other = client_of(model, runtime), client_of(model, runtime)
    messages: list[Any] = []
    for number, client in enumerate([one, other, one, other], start=1):
        messages.append(user(f"question {number}"))
        messages.append(client.chat.completions.create(model=MODEL, messages=messages).choices[0].message)
    assert words(runtime) == [[f"question {number}", f"answer {number}"] for number in range(1, 5)]


def test_erased_words_do_not_come_back_because_a_host_still_sends_them(runtime: Runtime) -> None:
    model = numbered()
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=[user("my secret")])
    runtime.lifecycle.erase(Scope(conversation=KEY.conversation), "asked for", "ada")
    client_of(model, runtime).chat.completions.create(
        model=MODEL, messages=[user("my secret"), assistant("answer 1"), user("b")]
    )
    assert words(runtime) == [[], ["b", "answer 2"]]


ASKED = Passage(turn=TurnId("chatcmpl-1"), message=0)


@pytest.mark.parametrize(
    "passage", [replace(ASKED, part=0, start=10, end=14), replace(ASKED, part=0), ASKED], ids=["range", "part", "whole"]
)
def test_redacted_words_do_not_come_back_because_a_host_still_sends_them(runtime: Runtime, passage: Passage) -> None:
    model = numbered()
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=[user("my pin is 1234")])
    runtime.transcripts.redact(KEY, passage, [View.RAW_OWNER], RedactionReason.PERSONAL_DATA, "ada")
    said = [user("my pin is 1234"), assistant("answer 1"), user("b")]
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=[*said, assistant("answer 2"), user("c")])
    assert words(runtime)[1:] == [["b", "answer 2"], ["c", "answer 3"]]


def test_a_part_that_is_redacted_beside_others_does_not_come_back(runtime: Runtime) -> None:
    model = numbered()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    asked = {"role": "user", "content": [{"type": "text", "text": "my pin is 1234"}, image]}
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=[asked])
    passage = replace(ASKED, part=0)
    runtime.transcripts.redact(KEY, passage, [View.RAW_OWNER], RedactionReason.PERSONAL_DATA, "ada")
    said = [asked, assistant("answer 1"), user("b")]
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
    assert words(runtime) == [["answer 1"], ["b", "answer 2"]]


def test_what_is_looked_for_in_the_view_of_the_owner_is_stored_once() -> None:
    model = numbered()
    detect = Detect(views={View.RAW_OWNER: frozenset({DetectedType.EMAIL})})
    with muniment.open("memory:", options=Options(detect=detect)) as runtime:
        client_of(model, runtime).chat.completions.create(model=MODEL, messages=[user("I am ada@example.com.")])
        said = [user("I am ada@example.com."), assistant("answer 1"), user("b")]
        client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
        assert words(runtime)[1:] == [["b", "answer 2"]]


def test_redacted_words_do_not_come_back_where_the_report_of_what_is_withheld_is_cut() -> None:
    """A budget then leaves out which messages they are."""
    model = numbered()
    with muniment.open("memory:", options=Options(profile=Profile.SERVER)) as runtime:
        many = [user(" ".join(f"pin {number:04}" for number in range(65)))]
        pins = [*many, user("my pin is 1234")]
        client_of(model, runtime).chat.completions.create(model=MODEL, messages=pins)
        for message, start in [*((0, 9 * number + 4) for number in range(65)), (1, 10)]:
            passage = replace(ASKED, message=message, part=0, start=start, end=start + 4)
            runtime.transcripts.redact(KEY, passage, [View.RAW_OWNER], RedactionReason.PERSONAL_DATA, "ada")
        assert runtime.transcripts.replay(KEY, View.RAW_OWNER, 1).budget_applied
        said = [*pins, assistant("answer 1"), user("b")]
        client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
        assert words(runtime)[1:] == [["b", "answer 2"]]


def test_where_a_policy_hides_the_view_of_the_owner_what_follows_the_last_answer_is_new() -> None:
    """Then nobody can compare, and a host still has every exchange stored."""
    model = numbered()
    with muniment.open("memory:", options=Options(profile=Profile.DESKTOP)) as runtime:
        said = [user("a")]
        client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
        said += [assistant("answer 1"), user("b")]
        client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
        page = runtime.transcripts.replay(KEY, View.HOST_UI, 9)
        assert [len(turn.messages) for turn in page.turns] == [2, 2]


def test_a_response_that_is_redacted_in_part_is_still_the_same_response(runtime: Runtime) -> None:
    model = ScriptedModel(lambda _asked: completion("It is 1234."))
    said = [{"role": "system", "content": "Be brief."}, user("my pin is 1234")]
    client_of(model, runtime).chat.completions.create(model=MODEL, messages=said)
    for message, start in ((1, 10), (2, 6)):
        passage = replace(ASKED, message=message, part=0, start=start, end=start + 4)
        runtime.transcripts.redact(KEY, passage, [View.RAW_OWNER], RedactionReason.PERSONAL_DATA, "ada")
    client = client_of(model, runtime)
    client.chat.completions.create(model=MODEL, messages=said)
    assert [turn.turn for turn in turns(runtime)] == ["chatcmpl-1"]
    assert recorded_counts(client).repeated == 1


def test_the_same_response_twice_is_one_turn(runtime: Runtime) -> None:
    """As after a crash between the commit and its answer, or from a cache."""
    model = ScriptedModel(lambda _asked: completion("Hello."))
    for client in (client_of(model, runtime), client_of(model, runtime)):
        client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert words(runtime) == [["Hi.", "Hello."]]
    assert recorded_counts(client).repeated == 1


def test_different_responses_of_one_id_are_two_turns(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda asked: completion(asked["messages"][-1]["content"].upper())), runtime)
    for text in ("a", "b"):
        client.chat.completions.create(model=MODEL, messages=[user(text)])
    assert [turn.turn for turn in turns(runtime)] == ["chatcmpl-1", "chatcmpl-1-2"]
    assert words(runtime) == [["a", "A"], ["b", "B"]]


def test_calls_and_results_are_parts(runtime: Runtime) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":"sky"}'}}
    answers = [completion(None, tool_calls=[call]), completion("Blue.", "chatcmpl-2")]  # type: ignore[arg-type] # a call has no text
    client = client_of(ScriptedModel(lambda _asked: answers.pop(0)), runtime)
    messages: list[Any] = [user("What colour?")]
    messages.append(client.chat.completions.create(model=MODEL, messages=messages).choices[0].message)
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": "blue"})
    client.chat.completions.create(model=MODEL, messages=messages)
    parts = [[part for message in turn.messages for part in message.parts] for turn in turns(runtime)]
    assert parts == [
        [TextPart(content="What colour?"), ToolCallPart(name="look", id="call_1", arguments={"at": "sky"})],
        [ToolCallResponsePart(id="call_1", response="blue"), TextPart(content="Blue.")],
    ]


# --- streams ----------------------------------------------------------------------------------------------------------


def test_a_stream_is_committed_when_its_end_mark_arrives(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: streamed("Hello.")), runtime)
    text = ""
    for part in client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True):
        assert turns(runtime) == []
        text += part.choices[0].delta.content or "" if part.choices else ""
    assert text == "Hello."
    assert words(runtime) == [["Hi.", "Hello."]]
    assert turns(runtime)[0].attributes


@pytest.mark.parametrize("kept", range(1, 9))
@pytest.mark.parametrize("broken", [True, False])
def test_a_stream_that_breaks_off_is_not_committed(runtime: Runtime, kept: int, *, broken: bool) -> None:
    """Wherever it is cut, with an error or without one."""
    cut = [*streamed("Hello.")[:kept], *([httpx2.ReadError("cut")] if broken else [])]
    answers = [cut, streamed("Hello.", "chatcmpl-2")]
    client = client_of(ScriptedModel(lambda _asked: answers.pop(0)), runtime)
    with contextlib.suppress(openai.APIConnectionError, httpx2.ReadError):
        list(client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True))
    assert turns(runtime) == []
    assert recorded_counts(client).unfinished == 1
    list(client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True))
    assert words(runtime) == [["Hi.", "Hello."]]


def test_a_stream_that_is_left_is_not_committed(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: streamed("Hello.")), runtime)
    with client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True) as stream:
        next(iter(stream))
    assert turns(runtime) == []


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_events_may_be_cut_anywhere(runtime: Runtime, size: int) -> None:
    whole = b"".join(streamed("Grüß Gott.")).replace(b"\n", b"\r\n")
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    client = client_of(ScriptedModel(lambda _asked: pieces), runtime)
    list(client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True))
    assert words(runtime) == [["Hi.", "Grüß Gott."]]


def test_streamed_calls_are_put_together(runtime: Runtime) -> None:
    def call(index: int, **function: str) -> dict[str, Any]:
        named = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
        return {"index": index, **named, "function": function}

    deltas = [
        chunk(role="assistant", content=None),
        chunk(reasoning_content="Think"),
        chunk(reasoning_content="ing."),
        chunk(tool_calls=[call(0, name="look", arguments="")]),
        chunk(tool_calls=[call(0, arguments='{"at":')]),
        chunk(tool_calls=[call(1, name="listen", arguments="{}")]),
        chunk(tool_calls=[call(0, arguments='"sky"}')]),
        chunk(finish="tool_calls"),
    ]
    client = client_of(ScriptedModel(lambda _asked: events(*deltas, DONE)), runtime)
    list(client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True))
    assert turns(runtime)[0].messages[1].parts == [
        ReasoningPart(content="Thinking."),
        ToolCallPart(name="look", id="call_0", arguments={"at": "sky"}),
        ToolCallPart(name="listen", id="call_1", arguments={}),
    ]


def test_the_helper_for_streams_is_recorded(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: streamed("Hello.")), runtime)
    with client.chat.completions.stream(model=MODEL, messages=[user("Hi.")]) as stream:
        assert stream.get_final_completion().choices[0].message.content == "Hello."
    assert words(runtime) == [["Hi.", "Hello."]]


# --- responses --------------------------------------------------------------------------------------------------------


def test_responses_are_recorded_with_reasoning_and_calls(runtime: Runtime) -> None:
    think = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look up."}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"at":"sky"}'}
    answers = [response([think, call]), response([output_text("Blue.")], "resp_2")]
    client = client_of(ScriptedModel(lambda _asked: answers.pop(0)), runtime)
    items: list[Any] = [user("What colour?")]
    items += client.responses.create(model=MODEL, input=items, instructions="Be brief.").output
    items.append({"type": "function_call_output", "call_id": "call_1", "output": "blue"})
    assert client.responses.create(model=MODEL, input=items, instructions="Be brief.").output_text == "Blue."
    parts = [[part for message in turn.messages for part in message.parts] for turn in turns(runtime)]
    assert parts == [
        [
            TextPart(content="Be brief."),
            TextPart(content="What colour?"),
            ReasoningPart(content="Look up."),
            ToolCallPart(name="look", id="call_1", arguments={"at": "sky"}),
        ],
        [ToolCallResponsePart(id="call_1", response="blue"), TextPart(content="Blue.")],
    ]
    assert {one.key: one.value for one in turns(runtime)[0].attributes}[
        "host.gen_ai.usage.reasoning.output_tokens"
    ] == 4


@pytest.mark.parametrize("end", ["response.completed", "response.incomplete", "response.failed", None])
def test_a_streamed_response_ends_with_its_last_event(runtime: Runtime, end: str | None) -> None:
    status = (end or "").removeprefix("response.")
    last = [{"type": end, "sequence_number": 2, "response": response([output_text("Hello.")], status=status)}]
    delta = {"type": "response.output_text.delta", "sequence_number": 1, "delta": "Hel", "item_id": "m"}
    delta |= {"output_index": 0, "content_index": 0, "logprobs": []}
    body = events(delta, *(last if end else []), named=True)
    client = client_of(ScriptedModel(lambda _asked: body), runtime)
    list(client.responses.create(model=MODEL, input="Hi.", stream=True))
    kept = end in {"response.completed", "response.incomplete"}
    assert words(runtime) == ([["Hi.", "Hello."]] if kept else [])


def test_a_provider_that_keeps_the_conversation_is_sent_new_messages_alone(runtime: Runtime) -> None:
    """So the same words once more are new words."""
    model = ScriptedModel(lambda _asked: response([output_text("Yes.")], f"resp_{len(model.requests)}"))
    client = client_of(model, runtime)
    client.responses.create(model=MODEL, input="Sure?")
    client.responses.create(model=MODEL, input="Sure?", previous_response_id="resp_1")
    assert words(runtime) == [["Sure?", "Yes."], ["Sure?", "Yes."]]


# --- the client is as it was ------------------------------------------------------------------------------------------


def test_the_caller_has_what_the_provider_sent(runtime: Runtime) -> None:
    sent = json.dumps(completion("Hé. 🙂"), ensure_ascii=False).encode()
    answer = httpx2.Response(200, headers={"content-type": "application/json", "x-request-id": "r1"}, content=sent)
    client = client_of(ScriptedModel(lambda _asked: answer), runtime)
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=[user("Hi.")])
    assert raw.http_response.content == sent
    assert raw.headers["x-request-id"] == "r1"
    assert raw.parse().choices[0].message.content == "Hé. 🙂"
    with client.chat.completions.with_streaming_response.create(model=MODEL, messages=[user("Hi.")]) as streaming:
        assert b"".join(streaming.iter_bytes()) == sent
    assert words(runtime) == [["Hi.", "Hé. 🙂"]]
    assert recorded_counts(client).repeated == 1


def test_a_recorded_client_is_of_its_class_and_so_are_its_copies(runtime: Runtime) -> None:
    client = client_of(numbered(), runtime)
    assert isinstance(client, openai.OpenAI)
    assert isinstance(client.with_options(timeout=1), openai.OpenAI)
    client.with_options(timeout=1).chat.completions.create(model=MODEL, messages=[user("a")])
    assert words(runtime) == [["a", "answer 1"]]


def test_the_client_that_was_given_is_not_recorded(runtime: Runtime) -> None:
    http = httpx2.Client(transport=numbered().transport())
    given = openai.OpenAI(api_key="k", base_url="http://model/v1", http_client=http)
    with record(given, runtime, subject="ada", conversation="talk") as client:
        given.chat.completions.create(model=MODEL, messages=[user("a")])
        assert turns(runtime) == []
        client.chat.completions.create(model=MODEL, messages=[user("b")])
    assert words(runtime) == [["b", "answer 2"]]
    assert given.is_closed()


def test_errors_of_the_provider_are_those_of_the_client(runtime: Runtime) -> None:
    answers = [httpx2.Response(429, json={"error": {"message": "slow down"}}), completion("Hello.")]
    client = client_of(ScriptedModel(lambda _asked: answers.pop(0)), runtime)
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert turns(runtime) == []
    client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert words(runtime) == [["Hi.", "Hello."]]


def test_other_things_than_clients_are_refused(runtime: Runtime) -> None:
    with pytest.raises(InvalidInput):
        record(object(), runtime, subject="ada", conversation="talk")


def test_a_long_conversation_that_a_host_brings_along_is_stored_whole(runtime: Runtime) -> None:
    client = client_of(numbered(), runtime)
    old = [user(f"question {number}") for number in range(450)]
    client.chat.completions.create(model=MODEL, messages=old)
    assert [len(said) for said in words(runtime)] == [51, 200, 200]
    assert [text for said in words(runtime) for text in said] == [*[one["content"] for one in old], "answer 1"]
