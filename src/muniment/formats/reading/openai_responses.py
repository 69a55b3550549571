"""Items of the OpenAI Responses API: what goes in, and what comes out.

| item | message |
|---|---|
| message | its text, images and files; a refusal is text |
| reasoning | reasoning: its text, or its summary |
| function_call, custom_tool_call | a call of the assistant |
| function_call_output, custom_tool_call_output | a result, of the tool |

Any other item is kept as JSON, with the role of the tool when it is an output and of the assistant otherwise.
Neighbouring items of the assistant are one message, as they are one answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

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
)
from muniment.formats.reading.openai import ROLES, OpenaiRole
from muniment.formats.reading.parsed_item import parse_arguments, uri_part

JSON_TYPE = "application/json"
TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}

Item = Mapping[str, Any]


def responses_input(given: str | Iterable[Item]) -> list[Message]:
    """Return the messages of the input of a request; raises `request.invalid` for an item of no such form."""
    if isinstance(given, str):
        return [Message(role=Role.USER, content=[TextPart(content=given)])]
    return responses_items(given)


def responses_items(items: Iterable[Item]) -> list[Message]:
    """Return the messages of items; raises `request.invalid` for one of no such form."""
    messages: list[Message] = []
    for item in items:
        try:
            role, parts = _read(item)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InvalidInput(at="input", problem="malformed") from None
        if messages and role is Role.ASSISTANT is messages[-1].role:
            messages[-1] = Message(role=role, content=[*messages[-1].parts(), *parts])
        else:
            messages.append(Message(role=role, content=parts))
    return messages


def _read(item: Item) -> tuple[Role, list[Part]]:
    kind = item.get("type", "message")
    if kind == "message":
        content = item["content"]
        parts: list[Part] = [TextPart(content=content)] if isinstance(content, str) else list(map(_part, content))
        return ROLES[OpenaiRole(item["role"])], parts
    if kind == "reasoning":
        texts = [text["text"] for text in item.get("content") or item.get("summary") or []]
        return Role.ASSISTANT, [ReasoningPart(content=text) for text in texts]
    if kind == "function_call":
        arguments = parse_arguments(item["arguments"])
        return Role.ASSISTANT, [ToolCallPart(id=item["call_id"], name=item["name"], arguments=arguments)]
    if kind == "custom_tool_call":
        return Role.ASSISTANT, [ToolCallPart(id=item["call_id"], name=item["name"], arguments=item["input"])]
    if kind in {"function_call_output", "custom_tool_call_output"}:
        return Role.TOOL, [ToolCallResponsePart(id=item["call_id"], response=item["output"])]
    return Role.TOOL if str(kind).endswith("_output") else Role.ASSISTANT, [_json(item)]


def _part(part: Item) -> Part:
    kind = part["type"]
    if kind in TEXTS:
        return TextPart(content=part[TEXTS[kind]])
    if kind == "input_image" and part.get("image_url"):
        return uri_part(part["image_url"], "image")
    if kind in {"input_image", "input_file"} and part.get("file_id"):
        return FilePart(file_id=part["file_id"])
    if kind == "input_file" and (part.get("file_data") or part.get("file_url")):
        return uri_part(part.get("file_data") or part["file_url"], "document")
    return _json(part)


def _json(item: Item) -> BlobPart:
    return BlobPart(content=msgspec.json.encode(item), mime_type=JSON_TYPE)
