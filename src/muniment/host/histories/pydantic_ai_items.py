"""Messages of Pydantic AI as items of a history, and back: exactly, as `ModelMessagesTypeAdapter` writes them.

A request may have words of several speakers in one: system text, a prompt of the user, results of tools. Each of them
is an item, so that nobody is said to have said what another said.

| in a message | item |
|---|---|
| instructions | one of the system, with what else is told of the message |
| parts of a request that follow each other and are of one role | one of that role |
| a response | one of the assistant |
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from muniment.events.message import (
    BlobPart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.formats.parted_items import FIELDS_OF_FORM, Item, SpokenItem, named_below

OF_PART = FIELDS_OF_FORM - {"author", "name"} | {"outcome", "scope", "state", "tool_call_id", "tool_kind"}
FORM = (
    FIELDS_OF_FORM
    | {"canonical_system", "provider_url", "state"}
    | named_below("parts", OF_PART)
    | named_below("parts.content", ("identifier", "media_type", "file_id"))
)
JOINED = "joined"  # the kind of an item whose parts belong to the message before it
URL = "-url"
URL_SAFE = str.maketrans("-_", "+/")

# kind of a part of a request -> who says it; everything else is told by the host
ROLES: Mapping[str, Role] = {
    "user-prompt": Role.USER,
    "speech": Role.USER,
    "tool-return": Role.TOOL,
    "retry-prompt": Role.TOOL,
    "retry-feedback": Role.TOOL,
}


def items_of(messages: Sequence[ModelMessage]) -> list[Item]:
    """Return messages as items."""
    dumped = json.loads(ModelMessagesTypeAdapter.dump_json(list(messages)))
    return [item for message in dumped for item in _items_of_message(_with_plain_base64(message))]


def messages_of(items: Sequence[Item]) -> list[ModelMessage]:
    """Return the messages that items are of."""
    messages: list[Item] = []
    for item in items:
        if item["kind"] != JOINED:
            messages.append(item)
        elif messages:  # an item may be taken from a history without the one before it
            messages[-1]["parts"] += item["parts"]
    return ModelMessagesTypeAdapter.validate_json(json.dumps(messages))


def words_of_item(item: Item) -> SpokenItem:
    """Return who says an item, and the parts of it."""
    if item["kind"] == "response":
        role = Role.ASSISTANT
    else:
        role = _role_of(item["parts"][0]) if item["parts"] else Role.SYSTEM
    return SpokenItem(role, [part for each in item["parts"] for part in _parts_of(each)])


def _items_of_message(message: Item) -> Iterator[Item]:
    parts = message["parts"]
    if message["kind"] == "response":
        yield message
        return
    groups = [list(group) for _, group in groupby(parts, _role_of)]
    if message.get("instructions") or not groups:
        groups = [[], *groups]
    yield {**message, "parts": groups[0]}
    for group in groups[1:]:
        yield {"kind": JOINED, "parts": group}


def _role_of(part: Item) -> Role:
    return ROLES.get(part["part_kind"], Role.SYSTEM)


def _parts_of(part: Item) -> Iterator[Part]:
    """Yield what a part says; a text that is in none of these is found by itself."""
    kind = part["part_kind"]
    if kind.endswith("tool-call"):
        yield ToolCallPart(name=part["tool_name"], id=part["tool_call_id"], arguments=part["args"])
    elif kind.endswith("tool-return"):
        yield ToolCallResponsePart(id=part["tool_call_id"], response=part["content"])
    elif kind == "thinking" and part["content"]:
        yield ReasoningPart(content=part["content"])
    elif "content" in part:
        contents = part["content"] if isinstance(part["content"], list) else [part["content"]]
        for content in contents:
            yield from _content_parts(content)


def _content_parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str) and content:
        yield TextPart(content=content)
    elif isinstance(content, dict) and str(content.get("kind")).endswith(URL):
        modality = content["kind"].removesuffix(URL)
        yield UriPart(uri=content["url"], mime_type=content.get("media_type"), modality=modality)
    elif isinstance(content, dict) and content.get("kind") == "binary":
        yield BlobPart(content=base64.b64decode(content["data"]), mime_type=content.get("media_type"))


def _with_plain_base64(value: Any) -> Any:
    """Return a value with bytes spelled in the usual alphabet, which is read as well as the one for addresses."""
    if isinstance(value, list):
        return [_with_plain_base64(each) for each in value]
    if not isinstance(value, dict):
        return value
    value = {name: _with_plain_base64(each) for name, each in value.items()}
    if value.get("kind") == "binary" and isinstance(value.get("data"), str):
        value["data"] = value["data"].translate(URL_SAFE)
    return value
