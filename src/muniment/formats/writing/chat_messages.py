"""Turns as a view shows them, as the plain messages of a chat: of OpenAI, of the Messages API, or of LangChain.

What `Turn.from_openai` and its kin have read comes back as it was, but for: a list of one text, which comes back as
that text; refusals and developer roles, which are text and system here; names and times of messages, which stand in the
turn; signatures of reasoning; and JSON arguments in a text, which come back in its normal form. What the view withholds
is absent. Nothing here calls anybody.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
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
from muniment.formats.writing.openai import chat_messages, content_of, text_of
from muniment.governance.slices import SliceMessage, SliceTurn

ChatMessage = dict[str, Any]
FAILED = frozenset({"content", "is_error"})  # how a result that is an error was kept
LANGCHAIN_TYPES = {Role.USER: "human", Role.ASSISTANT: "ai", Role.SYSTEM: "system", Role.TOOL: "tool"}


def openai_messages(turns: Iterable[SliceTurn]) -> list[ChatMessage]:
    """Return the messages of turns as an OpenAI chat; a tool result is a message of its own."""
    return _each(turns, chat_messages)


def anthropic_messages(turns: Iterable[SliceTurn]) -> list[ChatMessage]:
    """Return the messages of turns for the Messages API: tool results and what the user says next are one message.

    System text is not among them: the API takes it beside its messages.
    """
    joined: list[ChatMessage] = []
    after_result = False
    for role, blocks in (one for turn in turns for message in turn.messages for one in _anthropic(message)):
        if after_result and role is Role.USER:
            joined[-1]["content"] += blocks
        else:
            joined.append({"role": "user" if role is Role.TOOL else role.value, "content": blocks})
        after_result = role is Role.TOOL
    for message in joined:
        match message["content"]:
            case [{"type": "text", "text": text}]:
                message["content"] = text
    return joined


def langchain_messages(turns: Iterable[SliceTurn]) -> list[ChatMessage]:
    """Return the messages of turns as LangChain's plain message objects; a tool result is a message of its own."""
    return _each(turns, _langchain)


def _each(turns: Iterable[SliceTurn], write: Callable[[SliceMessage], Iterator[ChatMessage]]) -> list[ChatMessage]:
    return [written for turn in turns for message in turn.messages for written in write(message)]


def _anthropic(message: SliceMessage) -> Iterator[tuple[Role, list[ChatMessage]]]:
    if message.parts and message.role is not Role.SYSTEM:
        yield message.role, [_block(part) for part in message.parts]


def _block(part: Part) -> ChatMessage:
    match part:
        case TextPart():
            return {"type": "text", "text": part.content}
        case ReasoningPart():
            return {"type": "thinking", "thinking": part.content}
        case ToolCallPart():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case ToolCallResponsePart():
            return _result(part)
        case BlobPart():
            data = base64.b64encode(part.content).decode()
            return _file(part, {"type": "base64", "media_type": part.mime_type or "", "data": data})
        case FilePart():
            return _file(part, {"type": "file", "file_id": part.file_id})
        case UriPart():
            return _file(part, {"type": "url", "url": part.uri})
        case AttachmentPart():
            return {"type": "text", "text": f"[{part}]"}


def _result(part: ToolCallResponsePart) -> ChatMessage:
    result, failed = part.response, False
    if isinstance(result, dict) and result.keys() == FAILED and result["is_error"] is True:
        result, failed = result["content"], True
    block: ChatMessage = {"type": "tool_result", "tool_use_id": part.id}
    if result is not None:
        block["content"] = result if isinstance(result, str | list) else text_of(result)
    return {**block, "is_error": True} if failed else block


def _file(part: BlobPart | FilePart | UriPart, source: ChatMessage) -> ChatMessage:
    is_image = part.modality == "image" or (part.mime_type or "").startswith("image/")
    return {"type": "image" if is_image else "document", "source": source}


def _langchain(message: SliceMessage) -> Iterator[ChatMessage]:
    results = [part for part in message.parts if isinstance(part, ToolCallResponsePart)]
    rest = [part for part in message.parts if not isinstance(part, ToolCallResponsePart)]
    for part in results:
        result, failed = part.response, False
        if isinstance(result, dict) and result.keys() == {"content", "status"} and result["status"] == "error":
            result, failed = result["content"], True
        content = result if isinstance(result, str | list) else text_of(result)
        told: ChatMessage = {"type": "tool", "tool_call_id": part.id, "content": content}
        yield {**told, "status": "error"} if failed else told
    if not rest:
        return
    said = [part for part in rest if not isinstance(part, ReasoningPart | ToolCallPart)]
    written: ChatMessage = {"type": LANGCHAIN_TYPES[message.role], "content": content_of(said) or ""}
    thoughts = [part.content for part in rest if isinstance(part, ReasoningPart)]
    if thoughts:
        written["additional_kwargs"] = {"reasoning_content": "\n\n".join(thoughts)}
    calls = [
        {"name": part.name, "args": part.arguments, "id": part.id, "type": "tool_call"}
        for part in rest
        if isinstance(part, ToolCallPart)
    ]
    yield {**written, "tool_calls": calls} if calls else written
