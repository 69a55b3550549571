"""Chat messages as the OpenAI protocol spells them.

Either one a line with `conversation_id`, `thread_id` or `session_id` beside it, or a whole chat: `{"messages": [...]}`,
with or without such an id. A part that is not understood refuses its line.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.events.binding import parse_json
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
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import ParsedItem, from_base64, milliseconds, parse_arguments, uri_part


class OpenaiText(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class OpenaiRefusal(Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """Words that refuse."""

    refusal: str


class OpenaiImageUrl(Struct, frozen=True, kw_only=True):
    """Where an image is, or the image itself as a `data:` address."""

    url: str


class OpenaiImage(Struct, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """An image."""

    image_url: OpenaiImageUrl


class OpenaiAudioData(Struct, frozen=True, kw_only=True):
    """Base64 of a recording, and the name of its encoding."""

    data: str
    format: str


class OpenaiAudio(Struct, frozen=True, kw_only=True, tag_field="type", tag="input_audio"):
    """A recording."""

    input_audio: OpenaiAudioData


class OpenaiAttachment(Struct, frozen=True, kw_only=True):
    """A file by id, or the file itself as a `data:` address."""

    file_id: str | None = None
    file_data: str | None = None


class OpenaiFile(Struct, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A file."""

    file: OpenaiAttachment


OpenaiPart = OpenaiText | OpenaiRefusal | OpenaiImage | OpenaiAudio | OpenaiFile
OpenaiContent = str | list[OpenaiPart] | None


class OpenaiFunction(Struct, frozen=True, kw_only=True):
    """The function that a call names; its arguments are JSON in a text."""

    name: str
    arguments: Any = None


class OpenaiCustom(Struct, frozen=True, kw_only=True):
    """The free-form tool that a call names."""

    name: str
    input: Any = None


class OpenaiCall(Struct, frozen=True, kw_only=True):
    """A call of a tool."""

    id: str | None = None
    function: OpenaiFunction | None = None
    custom: OpenaiCustom | None = None


class OpenaiRole(StrEnum):
    """Who speaks, in that protocol."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    FUNCTION = "function"


ROLES: dict[OpenaiRole, Role] = {
    OpenaiRole.SYSTEM: Role.SYSTEM,
    OpenaiRole.DEVELOPER: Role.SYSTEM,
    OpenaiRole.USER: Role.USER,
    OpenaiRole.ASSISTANT: Role.ASSISTANT,
    OpenaiRole.TOOL: Role.TOOL,
    OpenaiRole.FUNCTION: Role.TOOL,
}


class OpenaiMessage(Struct, frozen=True, kw_only=True):
    """One message of a chat. `audio` is declared to be refused: it may hold words that nothing else says."""

    role: OpenaiRole
    content: OpenaiContent = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[OpenaiCall] | None = None
    function_call: OpenaiFunction | None = None
    tool_call_id: str | None = None
    audio: Any = None
    created_at: float | str | None = None
    created: float | str | None = None


class OpenaiNames(Struct, frozen=True, kw_only=True):
    """The ids that name a conversation, in order of preference, and whether the line is a whole chat."""

    conversation_id: str | None = None
    thread_id: str | None = None
    session_id: str | None = None
    id: str | None = None
    messages: list[OpenaiMessage] | None = None


def openai(line: bytes) -> ParsedItem:
    """Read a message or a whole chat."""
    names = parse_json(line, OpenaiNames, limit=ITEM_BYTES_MAX)
    conversation = names.conversation_id or names.thread_id or names.session_id
    if names.messages is not None:
        return ParsedItem(conversation or names.id, [_message(one) for one in names.messages], whole=True)
    message = _message(parse_json(line, OpenaiMessage))
    if conversation is None:
        raise InvalidInput(at="conversation_id", problem="missing_field")
    return ParsedItem(conversation, [message])


def _message(read: OpenaiMessage) -> Message:
    role = ROLES[read.role]
    return Message(
        role=role,
        content=_result(read) if role is Role.TOOL else list(_parts(read)),
        speaker_id=read.name or read.role,
        speaker_kind=role,
        observed_ms=milliseconds(read.created_at if read.created_at is not None else read.created),
    )


def _result(read: OpenaiMessage) -> list[Part]:
    content = read.content if isinstance(read.content, str | None) else msgspec.to_builtins(read.content)
    return [ToolCallResponsePart(id=read.tool_call_id, response=content)]


def _parts(read: OpenaiMessage) -> Iterable[Part]:
    if read.audio is not None:
        raise InvalidInput(at="audio", problem="unsupported_part")
    if read.reasoning_content:
        yield ReasoningPart(content=read.reasoning_content)
    if isinstance(read.content, str):
        yield TextPart(content=read.content)
    else:
        yield from map(openai_part, read.content or [])
    if read.refusal:
        yield TextPart(content=read.refusal)
    for call in read.tool_calls or []:
        yield openai_call(call)
    if read.function_call is not None:
        yield ToolCallPart(name=read.function_call.name, arguments=parse_arguments(read.function_call.arguments))


def openai_call(call: OpenaiCall) -> Part:
    """Return what a call is in our vocabulary."""
    if call.function is not None:
        return ToolCallPart(id=call.id, name=call.function.name, arguments=parse_arguments(call.function.arguments))
    if call.custom is not None:
        return ToolCallPart(id=call.id, name=call.custom.name, arguments=call.custom.input)
    raise InvalidInput(at="tool_calls", problem="unsupported_part")


def openai_part(part: OpenaiPart) -> Part:
    """Return what a part of an OpenAI message is in our vocabulary."""
    if isinstance(part, OpenaiText):
        return TextPart(content=part.text)
    if isinstance(part, OpenaiRefusal):
        return TextPart(content=part.refusal)
    if isinstance(part, OpenaiImage):
        return uri_part(part.image_url.url, "image")
    if isinstance(part, OpenaiAudio):
        sound = part.input_audio
        return BlobPart(content=from_base64(sound.data), mime_type=f"audio/{sound.format}", modality="audio")
    if part.file.file_id is not None:
        return FilePart(file_id=part.file.file_id)
    if part.file.file_data is not None:
        return uri_part(part.file.file_data, None)
    raise InvalidInput(at="file", problem="missing_field")
