"""A conversation as one JSON document with the messages of an OpenAI chat, which `import --format openai` reads back.

`messages` contains only messages, so that a host can send them to a model. `withheld` lists what is withheld, by turn,
message and part, with the reason. In this format a tool result is always a separate message.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from muniment.events.message import (
    AttachmentPart,
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
from muniment.formats.writing.pages import ExportedConversation, as_json
from muniment.governance.slices import RedactionItem, SliceMessage

IMAGE = "image"
AUDIO = "audio/"


def openai(export: ExportedConversation) -> Iterator[str]:
    """Yield the pieces of the document."""
    names = {"conversation_id": export.conversation, "channel": export.channel, "view": export.view}
    yield as_json(names)[:-1] + ',"messages":['
    separator = "\n"
    withheld: list[RedactionItem] = []
    for exported in export.turns:
        withheld += exported.items
        for message in exported.turn.messages:
            for chat_message in chat_messages(message):
                yield separator + as_json(chat_message)
                separator = ",\n"
    yield '\n],"withheld":['
    separator = "\n"
    for item in withheld:
        yield separator + as_json(item)
        separator = ",\n"
    yield "\n]}\n"


def chat_messages(message: SliceMessage) -> Iterator[dict[str, Any]]:
    """Yield the chat messages of a message, which is divided before and after each tool result."""
    if message.redacted:
        return
    waiting: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCallResponsePart):
            yield from _chat_message(message.role, waiting)
            waiting = []
            yield {"role": Role.TOOL, "tool_call_id": part.id, "content": text_of(part.response)}
        else:
            waiting.append(part)
    yield from _chat_message(message.role, waiting)


def _chat_message(role: Role, parts: list[Part]) -> Iterator[dict[str, Any]]:
    if not parts:
        return
    chat_message: dict[str, Any] = {"role": role, "content": content_of([part for part in parts if _is_content(part)])}
    thoughts = [part.content for part in parts if isinstance(part, ReasoningPart)]
    calls = [_call(part) for part in parts if isinstance(part, ToolCallPart)]
    if thoughts:
        chat_message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        chat_message["tool_calls"] = calls
    yield chat_message


def _is_content(part: Part) -> bool:
    return not isinstance(part, ReasoningPart | ToolCallPart)


def content_of(parts: Sequence[Part]) -> str | list[dict[str, Any]] | None:
    """Return the content of a chat message: a text, or its blocks."""
    if not parts:
        return None
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].content
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, BlobPart):
        return _blob(part)
    if isinstance(part, FilePart):
        return {"type": "file", "file": {"file_id": part.file_id}}
    if isinstance(part, UriPart):
        if part.modality == IMAGE:
            return {"type": "image_url", "image_url": {"url": part.uri}}
        return {"type": "file", "file": {"file_data": part.uri}}
    if isinstance(part, AttachmentPart):
        return {"type": "text", "text": f"[{part}]"}
    assert isinstance(part, TextPart), "any other part is no content"
    return {"type": "text", "text": part.content}


def _blob(part: BlobPart) -> dict[str, Any]:
    data = base64.b64encode(part.content).decode()
    mime = part.mime_type or ""
    if mime.startswith(AUDIO):
        return {"type": "input_audio", "input_audio": {"data": data, "format": mime.removeprefix(AUDIO)}}
    address = f"data:{mime};base64,{data}"
    if part.modality == IMAGE or mime.startswith(f"{IMAGE}/"):
        return {"type": "image_url", "image_url": {"url": address}}
    return {"type": "file", "file": {"file_data": address}}


def _call(part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.name, "arguments": as_json(part.arguments)}
    return {"id": part.id, "type": "function", "function": function}


def text_of(response: Any) -> str:
    """Return the result of a tool as text."""
    return response if isinstance(response, str) else as_json(response)
