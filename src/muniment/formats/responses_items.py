"""Items of the OpenAI Responses API, in and out: who says them, and what of them is which part."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

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
from muniment.formats.parted_items import FIELDS_OF_FORM, Item, SpokenItem, named_below, words_by_role

FIELDS_OF_ITEMS = (
    FIELDS_OF_FORM
    | {"environment", "execution", "namespace", "output_format", "quality", "size"}
    | named_below("content", ("detail", "file_id", "input_audio.format"))
)

# of a call: the fields of which the first is what the tool was given, and those with what it returned
GIVEN = ("arguments", "input", "action", "operation", "queries", "code")
RETURNED = ("output", "outputs", "results", "tools", "error")
CALLS = frozenset({"mcp_approval_request", "mcp_list_tools"})
ANSWERS = frozenset({"mcp_approval_response", "tool_search_output"})
REASONING = frozenset({"reasoning", "compaction"})
BESIDE_THE_ANSWER = ("annotations", "logprobs")  # what tools found, and what the model weighed
IMAGE_CALL = "image_generation_call"


def words_of_item(item: Item) -> SpokenItem:
    """Return who says an item, and its parts. What is not named here becomes text parts (`formats.parted_items`)."""
    kind = item.get("type")
    kind = kind if isinstance(kind, str) else ""
    if kind in REASONING:
        return SpokenItem(Role.ASSISTANT, list(_reasoning(item)))
    if kind.endswith("_output") or kind in ANSWERS:
        return SpokenItem(Role.TOOL, [ToolCallResponsePart(id=_id(item), response=item.get("output"))])
    if kind.endswith("_call") or kind in CALLS:
        return SpokenItem(Role.ASSISTANT, list(_call(item, kind)))
    spoken = words_by_role(item)
    return SpokenItem(spoken.role, list(_message(item.get("content"))))


def _id(item: Item) -> str | None:
    named = item.get("call_id") or item.get("approval_request_id") or item.get("id")
    return named if isinstance(named, str) else None


def _call(item: Item, kind: str) -> Iterator[Part]:
    name, place = item.get("name"), _id(item)
    given = next((item[field] for field in GIVEN if item.get(field) is not None), None)
    yield ToolCallPart(name=name if isinstance(name, str) and name else kind, id=place, arguments=given)
    for field in RETURNED:
        if item.get(field) is not None:
            yield ToolCallResponsePart(id=place, response=item[field])
    if kind == IMAGE_CALL and (image := _from_base64(item.get("result"), "image/png", "image")) is not None:
        yield image


def _reasoning(item: Item) -> Iterator[Part]:
    for field in ("summary", "content"):
        for block in _objects(item.get(field)):
            if isinstance(block.get("text"), str):
                yield ReasoningPart(content=block["text"])
    if isinstance(item.get("encrypted_content"), str):
        yield ReasoningPart(content=item["encrypted_content"])


def _message(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        yield TextPart(content=content)
    for block in _objects(content):
        for field in ("text", "refusal"):
            if isinstance(block.get(field), str):
                yield TextPart(content=block[field])
        for field, modality in (("image_url", "image"), ("file_data", None), ("file_url", None)):
            if isinstance(block.get(field), str):
                yield _addressed(block[field], modality)
        if isinstance(block.get("file_id"), str):
            yield FilePart(file_id=block["file_id"])
        for sound in _objects([block.get("input_audio")]):
            if (blob := _from_base64(sound.get("data"), f"audio/{sound.get('format')}", "audio")) is not None:
                yield blob
        for field in BESIDE_THE_ANSWER:
            if block.get(field):
                yield ToolCallResponsePart(response=block[field])


def _addressed(url: str, modality: str | None) -> Part:
    """Return the content of a `data:` URL, or the URL itself."""
    head, marked, body = url.partition(";base64,")
    if marked and head.startswith("data:"):
        return _from_base64(body, head[len("data:") :], modality) or UriPart(uri=url, modality=modality)
    return UriPart(uri=url, modality=modality)


def _from_base64(text: Any, mime_type: str, modality: str | None) -> BlobPart | None:
    """Return bytes in base64 as a blob, where they would be written like this again."""
    if not isinstance(text, str) or not text:
        return None
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    spelled = base64.b64encode(content).decode() == text
    return BlobPart(content=content, mime_type=mime_type, modality=modality) if spelled else None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))
