"""Items of the Responses API as messages."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import InvalidInput
from muniment.events.message import (
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.formats.reading.openai_responses import responses_input, responses_items


def user(part: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [part]}


@pytest.mark.parametrize(
    ("item", "role", "part"),
    [
        ({"role": "developer", "content": "d"}, Role.SYSTEM, TextPart(content="d")),
        (user({"type": "input_text", "text": "t"}), Role.USER, TextPart(content="t")),
        (user({"type": "input_image", "image_url": "http://i"}), Role.USER, UriPart(uri="http://i", modality="image")),
        (user({"type": "input_file", "file_id": "f"}), Role.USER, FilePart(file_id="f")),
        (
            user({"type": "input_file", "file_data": "data:text/plain;base64,aGk="}),
            Role.USER,
            BlobPart(content=b"hi", mime_type="text/plain", modality="document"),
        ),
        (
            {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            Role.ASSISTANT,
            TextPart(content="no"),
        ),
        (
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "r"}], "summary": []},
            Role.ASSISTANT,
            ReasoningPart(content="r"),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"},
            Role.ASSISTANT,
            ToolCallPart(id="c", name="n", arguments="i"),
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": "o"},
            Role.TOOL,
            ToolCallResponsePart(id="c", response="o"),
        ),
        (
            {"type": "web_search_call", "id": "w"},
            Role.ASSISTANT,
            BlobPart(content=b'{"type":"web_search_call","id":"w"}', mime_type="application/json"),
        ),
        (
            {"type": "shell_call_output", "id": "s"},
            Role.TOOL,
            BlobPart(content=b'{"type":"shell_call_output","id":"s"}', mime_type="application/json"),
        ),
    ],
)
def test_an_item_is_a_message(item: dict[str, Any], role: Role, part: Part) -> None:
    [message] = responses_items([item])
    assert (message.role, message.parts()) == (role, [part])


def test_an_answer_of_several_items_is_one_message() -> None:
    """As it is one answer, however it is sent again."""
    texts = [{"role": "assistant", "content": text} for text in "ab"]
    assert [len(message.parts()) for message in responses_items([*texts, {"role": "user", "content": "c"}])] == [2, 1]


def test_a_text_is_what_the_user_says() -> None:
    assert [(message.role, message.parts()) for message in responses_input("Hi.")] == [
        (Role.USER, [TextPart(content="Hi.")])
    ]


@pytest.mark.parametrize("item", [{"role": "user"}, {"role": "nobody", "content": "x"}, {"type": "function_call"}, 3])
def test_an_item_of_no_such_form_is_refused(item: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        responses_items([item])
    assert refused.value.problem == "malformed"
