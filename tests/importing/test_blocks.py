"""Blocks, and the messages of Claude, of the Messages API and of LangChain that are made of them."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from muniment.errors import InvalidInput
from muniment.events.message import (
    BlobPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.formats.reading.anthropic import anthropic
from muniment.formats.reading.blocks import read_blocks
from muniment.formats.reading.claude import claude
from muniment.formats.reading.langchain import langchain
from muniment.formats.reading.parsed_item import ParsedItem, ParsingNotes

PIXEL = base64.b64encode(b"pixel").decode()
INLINE = {"type": "base64", "media_type": "image/png", "data": PIXEL}


def packed(value: object) -> bytes:
    return json.dumps(value).encode()


def parts_of(*blocks: object, role: Role = Role.ASSISTANT, notes: ParsingNotes | None = None) -> list[Part]:
    return read_blocks([msgspec.Raw(packed(block)) for block in blocks], role, notes or ParsingNotes()).parts


@pytest.mark.parametrize(
    ("block", "parts"),
    [
        ({"type": "text", "text": "a", "citations": None}, [TextPart(content="a")]),
        ({"type": "thinking", "thinking": "t", "signature": "s"}, [ReasoningPart(content="t")]),
        ({"type": "redacted_thinking", "data": "xyz"}, [ReasoningPart(content="xyz")]),
        (
            {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            [ToolCallPart(id="1", name="f", arguments={"a": 1})],
        ),
        ({"type": "server_tool_use", "id": "1", "name": "f"}, [ToolCallPart(id="1", name="f")]),
        ({"type": "mcp_tool_use", "id": "1", "name": "f"}, [ToolCallPart(id="1", name="f")]),
        (
            {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "r"}]},
            [ToolCallResponsePart(id="1", response=[{"type": "text", "text": "r"}])],
        ),
        (
            {"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": True},
            [ToolCallResponsePart(id="1", response={"content": "no", "is_error": True})],
        ),
        ({"type": "web_search_tool_result", "content": []}, [ToolCallResponsePart(response=[])]),
        (
            {"type": "image", "source": INLINE},
            [BlobPart(content=b"pixel", mime_type="image/png", modality="image")],
        ),
        ({"type": "image", "source": {"type": "url", "url": "u"}}, [UriPart(uri="u", modality="image")]),
        (
            {"type": "document", "source": {"type": "file", "file_id": "f"}, "context": "c"},
            [TextPart(content="c"), FilePart(file_id="f", modality="document")],
        ),
        ({"type": "document", "source": {"type": "text", "data": "words"}}, [TextPart(content="words")]),
        ({"type": "container_upload", "file_id": "f"}, [FilePart(file_id="f")]),
    ],
)
def test_blocks_become_parts_by_their_type(block: dict[str, Any], parts: list[Part]) -> None:
    assert parts_of(block) == parts


def test_omitted_content_is_counted_by_kind() -> None:
    notes = ParsingNotes()
    parts_of({"type": "text", "text": "a", "citations": [{}, {}]}, notes=notes)
    parts_of({"type": "thinking", "thinking": "t", "signature": "s", "summaries": [{}]}, notes=notes)
    parts_of({"type": "document", "source": INLINE, "title": "t"}, notes=notes)
    assert notes.left_out == {"citation": 2, "signature": 1, "thinking_summary": 1, "title": 1}


@pytest.mark.parametrize("block", [{"type": "new"}, {"type": "text"}, {"type": "image", "source": {}}, "bare", 3])
def test_a_block_that_is_not_known_is_kept_as_json(block: object) -> None:
    notes = ParsingNotes()
    found = read_blocks([msgspec.Raw(packed(block))], Role.ASSISTANT, notes)
    (blob,) = found.beside
    assert (found.parts, json.loads(blob.content)) == ([], block)
    assert notes.kept_as_json == {"content_block": 1}


def test_bytes_that_are_no_base64_refuse_their_message() -> None:
    with pytest.raises(InvalidInput, match="not base64"):
        parts_of({"type": "image", "source": INLINE | {"data": "*"}})


# --- Claude -----------------------------------------------------------------------------------------------------------


def of_claude(**members: object) -> ParsedItem:
    message = {"sender": "human", "text": "", "content": [], "created_at": "2026-01-01T00:00:00Z", **members}
    return claude(packed({"uuid": "c", "chat_messages": [message]}))


def only(spoken: ParsedItem) -> Message:
    (message,) = spoken.messages
    return message


def test_the_text_of_a_message_is_used_when_no_block_has_text() -> None:
    block = {"type": "text", "text": "a"}
    assert only(of_claude(text="a", content=[block])).parts() == [TextPart(content="a")]
    assert only(of_claude(text="a", content=[{"type": "thinking", "thinking": "t"}])).parts() == [
        ReasoningPart(content="t"),
        TextPart(content="a"),
    ]
    assert only(of_claude(text="a", content=None)).parts() == [TextPart(content="a")]
    unknown = only(of_claude(text="b", content=[block, {"type": "new"}])).parts()
    assert [unknown[0], unknown[-1]] == [TextPart(content="a"), TextPart(content="b")]


def test_attachments_are_text_after_their_names_and_files_are_named() -> None:
    attachments = [
        {"file_name": "a.csv", "file_type": "text/csv", "extracted_content": "1,2"},
        {"file_name": "", "extracted_content": "pasted"},
    ]
    spoken = of_claude(attachments=attachments, files=[{"file_name": "b.png", "file_uuid": "u-1"}, {"file_name": "c"}])
    assert only(spoken).parts() == [
        FilePart(file_id="a.csv", mime_type="text/csv"),
        TextPart(content="1,2"),
        TextPart(content="pasted"),
        FilePart(file_id="u-1"),
        FilePart(file_id="c"),
    ]
    newer = of_claude(files=None, files_v2=[{"file_name": "c"}])
    assert only(newer).parts() == [FilePart(file_id="c")]


def test_attachments_of_an_unknown_shape_are_kept_as_json() -> None:
    spoken = of_claude(attachments=[{"name": "x"}], files=[{"blob": 1}])
    parts = only(spoken).parts()
    assert [json.loads(part.content) for part in parts if isinstance(part, BlobPart)] == [{"name": "x"}, {"blob": 1}]
    assert spoken.notes is not None
    assert spoken.notes.kept_as_json == {"attachment": 2}


def test_a_malformed_message_of_claude_is_refused_with_its_index() -> None:
    spoken = claude(packed({"uuid": "c", "chat_messages": [{"text": "a"}, 3, {"sender": "human", "text": "b"}]}))
    assert only(spoken).parts() == [TextPart(content="b")]
    assert spoken.notes is not None
    assert [(one.at, one.problem) for one in spoken.notes.refused] == [
        ("chat_messages[0].sender", "missing_field"),
        ("chat_messages[1]", "wrong_type"),
    ]


# --- the Messages API -------------------------------------------------------------------------------------------------


def test_results_of_tools_are_messages_of_the_tool() -> None:
    """There they come in a message of the user, and would start a turn."""
    result = {"type": "tool_result", "tool_use_id": "1", "content": "r"}
    asked = {"role": "user", "content": [result, {"type": "text", "text": "and?"}]}
    spoken = anthropic(packed({"messages": [asked, {"role": "user", "content": [result]}]}))
    assert [(message.role, message.parts()) for message in spoken.messages] == [
        (Role.TOOL, [ToolCallResponsePart(id="1", response="r")]),
        (Role.USER, [TextPart(content="and?")]),
        (Role.TOOL, [ToolCallResponsePart(id="1", response="r")]),
    ]


@pytest.mark.parametrize(
    ("item", "conversation", "roles", "whole", "answers"),
    [
        ({"messages": [{"role": "user", "content": "q"}]}, None, ["user"], True, False),
        ({"thread_id": "t", "messages": []}, "t", [], True, False),
        ({"request": {"messages": [{"role": "user", "content": "q"}]}}, None, ["user"], True, False),
        (
            {
                "conversation_id": "c",
                "request": {"messages": [{"role": "user", "content": "q"}]},
                "response": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "a"}]},
            },
            "c",
            ["user", "assistant"],
            True,
            False,
        ),
        ({"type": "message", "role": "assistant", "content": "a"}, None, ["assistant"], False, True),
        ({"response": {"role": "assistant", "content": "a"}}, None, ["assistant"], False, True),
        ({"session_id": "s", "role": "user", "content": "q"}, "s", ["user"], False, False),
        ({"type": "error", "error": {}}, None, [], False, False),
    ],
)
def test_requests_and_responses_are_distinguished(
    item: dict[str, Any], conversation: str | None, roles: list[str], whole: bool, answers: bool
) -> None:
    spoken = anthropic(packed(item))
    assert (spoken.conversation, spoken.whole, spoken.answers) == (conversation, whole, answers)
    assert [message.role for message in spoken.messages] == roles


@pytest.mark.parametrize(
    ("response", "refused", "left_out"),
    [
        ({"type": "error", "error": {}}, [], {"error_response": 1}),
        ({"type": "message", "role": "nobody", "content": ""}, [("response.role", "unknown_word")], {}),
    ],
)
def test_a_response_that_says_nothing_leaves_its_request(
    response: object, refused: list[Any], left_out: dict[str, int]
) -> None:
    item = {"request": {"messages": [{"role": "user", "content": "q"}]}, "response": response}
    spoken = anthropic(packed(item))
    assert len(spoken.messages) == 1
    assert spoken.notes is not None
    assert [(one.at, one.problem) for one in spoken.notes.refused] == refused
    assert +spoken.notes.left_out == left_out


def test_the_time_of_a_request_is_that_of_its_messages() -> None:
    asked = {"messages": [{"role": "user", "content": "q"}], "system": [{"type": "text", "text": "s"}, {"type": "x"}]}
    spoken = anthropic(packed({**asked, "timestamp": 1_700_000_000}))
    assert {message.observed_ms for message in (*spoken.system, *spoken.messages)} == {1_700_000_000_000}
    assert [message.speaker_id for message in spoken.system] == ["import", "system"]
    later = anthropic(packed({**asked, "timestamp": 1_700_000_000, "created_at": 1_700_000_001}))
    assert later.messages[0].observed_ms == 1_700_000_001_000


@pytest.mark.parametrize("item", [{"role": "user", "content": "q"}, {"request": {}}, {"type": "error"}])
def test_an_item_that_is_no_request_is_refused(item: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="missing"):
        anthropic(packed(item))


# --- LangChain --------------------------------------------------------------------------------------------------------


def lang(**members: object) -> ParsedItem:
    return langchain(packed({"session_id": "s", "type": "ai", **members}))


@pytest.mark.parametrize(
    ("kind", "role"),
    [("human", "user"), ("ai", "assistant"), ("system", "system"), ("tool", "tool"), ("function", "tool")],
)
def test_the_three_forms_of_a_message_say_the_same(kind: str, role: str) -> None:
    members: dict[str, Any] = {
        "content": "a",
        "name": "n",
        "additional_kwargs": {},
        "response_metadata": {},
        "id": None,
    }
    named = f"{'AI' if kind == 'ai' else kind.capitalize()}Message"
    forms = [
        {"type": kind, "data": {**members, "type": kind}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", named], "kwargs": members},
        {"type": kind, **members},
        {"type": f"{named}Chunk", **members},
    ]
    messages = langchain(packed({"messages": forms})).messages
    assert len(messages) == 4
    assert all(message == messages[0] for message in messages)
    assert (messages[0].role, messages[0].speaker_id) == (role, "n")


def test_a_chat_message_has_the_role_next_to_it() -> None:
    message = only(lang(type="chat", role="user", content="a"))
    assert (message.role, message.speaker_id) == (Role.USER, "user")


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ("a", TextPart(content="a")),
        ({"type": "text", "text": "a"}, TextPart(content="a")),
        ({"type": "thinking", "thinking": "t"}, ReasoningPart(content="t")),
        ({"type": "reasoning", "reasoning": "t"}, ReasoningPart(content="t")),
        ({"type": "tool_call", "id": "1", "name": "f", "args": [1]}, ToolCallPart(id="1", name="f", arguments=[1])),
        ({"type": "image_url", "image_url": {"url": "u"}}, UriPart(uri="u", modality="image")),
        ({"type": "image_url", "image_url": "u"}, UriPart(uri="u", modality="image")),
        ({"type": "image", "url": "u", "mime_type": "m"}, UriPart(uri="u", mime_type="m", modality="image")),
        ({"type": "audio", "source_type": "base64", "data": PIXEL}, BlobPart(content=b"pixel", modality="audio")),
        ({"type": "video", "base64": PIXEL}, BlobPart(content=b"pixel", modality="video")),
        ({"type": "file", "source_type": "id", "id": "f"}, FilePart(file_id="f", modality="file")),
        ({"type": "file", "file_id": "f"}, FilePart(file_id="f", modality="file")),
        ({"type": "file", "source_type": "text", "text": "a"}, TextPart(content="a")),
        ({"type": "file", "file": {"file_id": "f"}}, FilePart(file_id="f")),
    ],
)  # fmt: skip
def test_blocks_of_langchain_and_of_the_providers_become_parts(block: object, part: Part) -> None:
    assert only(lang(content=[block])).parts() == [part]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "new"},
        {"type": "file"},
        {"type": "audio", "data": "*"},
        {"type": "input_audio", "input_audio": {"data": "*", "format": "wav"}},
    ],
)
def test_blocks_that_are_not_known_are_kept_as_json(block: object) -> None:
    spoken = lang(content=[block])
    (blob,) = spoken.messages[0].parts()
    assert isinstance(blob, BlobPart)
    assert json.loads(blob.content) == block


def test_a_call_that_is_listed_twice_is_imported_once() -> None:
    call = {"id": "1", "name": "f", "args": {"a": 1}, "type": "tool_call"}
    raw = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    block = {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}
    part = ToolCallPart(id="1", name="f", arguments={"a": 1})
    beside = {"additional_kwargs": {"tool_calls": [raw]}}
    assert only(lang(content=[block], tool_calls=[call], **beside)).parts() == [part]
    assert only(lang(content=None, **beside)).parts() == [part]
    assert only(lang(content=[block])).parts() == [part]
    broken = {"id": "2", "name": None, "args": "{", "error": "e", "type": "invalid_tool_call"}
    assert only(lang(tool_calls=[], invalid_tool_calls=[broken])).parts() == [
        ToolCallPart(id="2", name="", arguments="{")
    ]
    older = {"additional_kwargs": {"function_call": {"name": "f", "arguments": '{"a": 1}'}}}
    assert only(lang(**older)).parts() == [ToolCallPart(name="f", arguments={"a": 1})]


def test_what_a_provider_says_beside_is_kept() -> None:
    spoken = lang(content="a", additional_kwargs={"refusal": "no", "reasoning_content": "t"}, artifact=[1])
    assert only(spoken).parts() == [ReasoningPart(content="t"), TextPart(content="a"), TextPart(content="no")]
    assert spoken.notes is not None
    assert spoken.notes.left_out == {"artifact": 1}


@pytest.mark.parametrize(
    ("members", "response"),
    [
        ({"content": "r"}, "r"),
        ({"content": [{"type": "text", "text": "r"}]}, [{"type": "text", "text": "r"}]),
        ({"content": "no", "status": "error"}, {"content": "no", "status": "error"}),
        ({"content": None}, None),
    ],
)
def test_what_a_tool_of_langchain_returned_keeps_its_call_and_shape(members: dict[str, Any], response: object) -> None:
    message = only(lang(type="tool", tool_call_id="1", **members))
    assert message.parts() == [ToolCallResponsePart(id="1", response=response)]


def test_a_conversation_of_langchain_keeps_its_good_messages() -> None:
    messages = [{"type": "human", "content": "a"}, {"type": "remove"}, {"type": "constructor", "kwargs": {}}]
    spoken = langchain(packed({"thread_id": "t", "messages": messages, "created_at": 1_700_000_000}))
    assert (spoken.conversation, spoken.whole, only(spoken).observed_ms) == ("t", True, 1_700_000_000_000)
    assert spoken.notes is not None
    assert [(one.at, one.problem) for one in spoken.notes.refused] == [
        ("messages[1].type", "unknown_word"),
        ("messages[2].type", "unknown_word"),
    ]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"messages": []}, "nothing_understood"),
        ({"messages": [{"role": "user"}]}, "nothing_understood"),
        ({"type": "human", "content": "a"}, "missing_field"),
        ({"session_id": "s", "type": "nobody"}, "unknown_word"),
    ],
)
def test_an_item_that_is_not_of_langchain_is_refused(item: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        langchain(packed(item))
    assert refusal.value.problem == problem


def test_a_message_can_be_in_a_row_of_its_conversation() -> None:
    spoken = langchain(packed({"session_id": "s", "message": {"type": "human", "data": {"content": "a"}}}))
    assert (spoken.conversation, spoken.whole, only(spoken).parts()) == ("s", False, [TextPart(content="a")])
