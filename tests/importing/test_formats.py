"""What the lines of foreign files are understood as."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from muniment.errors import InvalidInput, MunimentError
from muniment.events.message import (
    BlobPart,
    FilePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.formats.reading.import_format import PARSERS, PROTOCOLS, Format, sniff

PIXEL = base64.b64encode(b"pixel").decode()


def openai(**members: object) -> Message:
    """Return the message that an OpenAI line with these members stands for."""
    spoken = PARSERS[Format.OPENAI](json.dumps({"conversation_id": "c", "role": "user", **members}).encode())
    (message,) = spoken.messages
    return message


def test_every_format_but_auto_has_a_parser_and_a_protocol() -> None:
    assert set(PARSERS) == set(PROTOCOLS) == set(Format) - {Format.AUTO}


def test_a_line_of_parts_is_imported_unchanged() -> None:
    parts = [
        {"type": "text", "content": "Hello"},
        {"type": "tool_call", "id": "1", "name": "look", "arguments": {"deep": [1, 2.5, None]}},
        {"type": "tool_call_response", "id": "1", "response": ["found"]},
    ]
    given = {"corpus": "x", "conversation_id": "c", "seq": 4, "role": "assistant", "actor": "agent", "ts": 1234}
    spoken = PARSERS[Format.OTEL](json.dumps(given | {"parts": parts}).encode())
    assert spoken.conversation == "c"
    assert spoken.messages == [
        Message(
            role=Role.ASSISTANT,
            content=[
                TextPart(content="Hello"),
                ToolCallPart(id="1", name="look", arguments={"deep": [1, 2.5, None]}),
                ToolCallResponsePart(id="1", response=["found"]),
            ],
            speaker_id="agent",
            speaker_kind="assistant",
            observed_ms=1234,
        )
    ]


@pytest.mark.parametrize(
    ("spelt", "role"),
    [
        ("system", Role.SYSTEM),
        ("developer", Role.SYSTEM),
        ("user", Role.USER),
        ("assistant", Role.ASSISTANT),
        ("tool", Role.TOOL),
        ("function", Role.TOOL),
    ],
)
def test_roles_are_translated_and_the_speaker_keeps_the_original(spelt: str, role: Role) -> None:
    message = openai(role=spelt, content="x")
    assert (message.role, message.speaker_id, message.speaker_kind) == (role, spelt, role)
    assert openai(role=spelt, name="nadia", content="x").speaker_id == "nadia"


@pytest.mark.parametrize(
    ("members", "parts"),
    [
        ({"content": "Hello"}, [TextPart(content="Hello")]),
        ({"content": [{"type": "text", "text": "Hello"}]}, [TextPart(content="Hello")]),
        ({"content": [{"type": "refusal", "refusal": "No"}]}, [TextPart(content="No")]),
        ({"content": None, "refusal": "No"}, [TextPart(content="No")]),
        ({"content": "A", "reasoning_content": "Hm"}, [ReasoningPart(content="Hm"), TextPart(content="A")]),
        (
            {"content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}]},
            [UriPart(uri="https://example.org/a.png", modality="image")],
        ),
        (
            {"content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
            [BlobPart(content=b"pixel", mime_type="image/png", modality="image")],
        ),
        (
            {"content": [{"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}}]},
            [BlobPart(content=b"pixel", mime_type="audio/wav", modality="audio")],
        ),
        ({"content": [{"type": "file", "file": {"file_id": "f-1"}}]}, [FilePart(file_id="f-1")]),
        (
            {"content": [{"type": "file", "file": {"file_data": f"data:;base64,{PIXEL}", "filename": "x"}}]},
            [BlobPart(content=b"pixel")],
        ),
        (
            {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}]},
            [ToolCallPart(id="1", name="look", arguments={"a": 1})],
        ),
        (
            {"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": {"a": 1}}}]},
            [ToolCallPart(id="1", name="look", arguments={"a": 1})],
        ),
        (
            {"tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "run", "input": "{"}}]},
            [ToolCallPart(id="1", name="run", arguments="{")],
        ),
        (
            {"function_call": {"name": "look", "arguments": "{broken"}},
            [ToolCallPart(name="look", arguments="{broken")],
        ),
        (
            {"function_call": {"name": "look", "arguments": "123456789012345678901234567890"}},
            [ToolCallPart(name="look", arguments="123456789012345678901234567890")],
        ),
        ({"content": None}, []),
    ],
)
def test_what_an_openai_message_says_becomes_parts(members: dict[str, Any], parts: list[Any]) -> None:
    assert openai(role="assistant", **members).parts() == parts


@pytest.mark.parametrize(
    ("content", "response"),
    [("found", "found"), (None, None), ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}])],
)
def test_the_result_of_a_tool_keeps_its_call_and_its_shape(content: object, response: object) -> None:
    message = openai(role="tool", tool_call_id="1", content=content)
    assert message.parts() == [ToolCallResponsePart(id="1", response=response)]


@pytest.mark.parametrize(
    ("member", "ms"),
    [
        ({}, 0),
        ({"created_at": 1_700_000_000}, 1_700_000_000_000),
        ({"created": 1_700_000_000.5}, 1_700_000_000_500),
        ({"created_at": 1_700_000_000_123}, 1_700_000_000_123),
        ({"created_at": "2023-11-14T22:13:20Z"}, 1_700_000_000_000),
        ({"created_at": "2023-11-14T22:13:20"}, 1_700_000_000_000),
    ],
)
def test_times_are_understood_in_the_units_that_are_in_use(member: dict[str, Any], ms: int) -> None:
    assert openai(content="x", **member).observed_ms == ms


@pytest.mark.parametrize("name", ["conversation_id", "thread_id", "session_id"])
def test_a_message_alone_names_its_conversation(name: str) -> None:
    spoken = PARSERS[Format.OPENAI](json.dumps({name: "c", "role": "user", "content": "x"}).encode())
    assert (spoken.conversation, spoken.whole) == ("c", False)


@pytest.mark.parametrize("name", ["conversation_id", "thread_id", "session_id", "id", None])
def test_a_whole_chat_may_name_its_conversation(name: str | None) -> None:
    chat = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], "model": "m"}
    spoken = PARSERS[Format.OPENAI](json.dumps(chat | ({name: "c"} if name else {})).encode())
    assert (spoken.conversation, spoken.whole) == ("c" if name else None, True)
    assert [message.role for message in spoken.messages] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"role": "nobody"}, "unknown_word"),
        ({"content": 4}, "wrong_type"),
        ({"content": [{"type": "video", "video": "x"}]}, "unknown_word"),
        ({"content": [{"type": "file", "file": {}}]}, "missing_field"),
        ({"content": [{"type": "input_audio", "input_audio": {"data": "*", "format": "wav"}}]}, "not_base64"),
        ({"audio": {"id": "a"}}, "unsupported_part"),
        ({"tool_calls": [{"id": "1", "type": "other"}]}, "unsupported_part"),
        ({"created_at": "yesterday"}, "malformed"),
    ],
)
def test_what_is_not_understood_is_refused_and_not_dropped(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        openai(**members)
    assert refusal.value.problem == problem


def test_a_message_alone_without_a_conversation_is_refused() -> None:
    with pytest.raises(InvalidInput, match="conversation_id"):
        PARSERS[Format.OPENAI](b'{"role":"user","content":"x"}')


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ({"conversation_id": "c", "role": "user", "parts": []}, Format.OTEL),
        ({"conversation_id": "c", "role": "user", "content": "x"}, Format.OPENAI),
        ({"messages": []}, Format.OPENAI),
    ],
)
def test_the_format_is_detected_from_the_first_line(line: dict[str, Any], found: Format) -> None:
    assert sniff(json.dumps(line).encode())[0] is found


@pytest.mark.parametrize(
    ("line", "problem"), [(b"{", "not_json"), (b'{"a":1}', "unknown_format"), (b"3", "unknown_format")]
)
def test_a_line_of_no_format_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(MunimentError) as refusal:
        sniff(line)
    assert refusal.value.problem == problem
