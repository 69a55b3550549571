"""OpenAI chat messages.

Either one message per line, with `conversation_id`, `thread_id` or `session_id`, or a whole chat:
`{"messages": [...]}`, with or without such an id. An unknown part refuses its line.
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
from muniment.formats.reading.parsed_item import (
    ConversationNames,
    ParsedItem,
    from_base64,
    milliseconds,
    parse_arguments,
    title_of,
    uri_part,
)


class OpenaiText(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text."""

    text: str


class OpenaiRefusal(Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """The text of a refusal."""

    refusal: str


class OpenaiImageUrl(Struct, frozen=True, kw_only=True):
    """The address of an image, or the image itself as a `data:` URL."""

    url: str


class OpenaiImage(Struct, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """An image."""

    image_url: OpenaiImageUrl


class OpenaiRecording(Struct, frozen=True, kw_only=True):
    """A recording in base64, and the name of its encoding."""

    data: str
    format: str


class OpenaiAudio(Struct, frozen=True, kw_only=True, tag_field="type", tag="input_audio"):
    """A recording."""

    input_audio: OpenaiRecording


class OpenaiAttachment(Struct, frozen=True, kw_only=True):
    """A file by id, or the file itself as a `data:` URL."""

    file_id: str | None = None
    file_data: str | None = None


class OpenaiFile(Struct, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A file."""

    file: OpenaiAttachment


OpenaiPart = OpenaiText | OpenaiRefusal | OpenaiImage | OpenaiAudio | OpenaiFile
OpenaiContent = str | list[OpenaiPart] | None


class OpenaiFunction(Struct, frozen=True, kw_only=True):
    """The function of a call; its arguments are JSON in a text."""

    name: str
    arguments: Any = None


class OpenaiCustom(Struct, frozen=True, kw_only=True):
    """The free-form tool of a call."""

    name: str
    input: Any = None


class OpenaiCall(Struct, frozen=True, kw_only=True):
    """A call of a tool."""

    id: str | None = None
    function: OpenaiFunction | None = None
    custom: OpenaiCustom | None = None


class OpenaiRole(StrEnum):
    """The roles of the OpenAI protocol."""

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
    """One message of a chat. `audio` is declared in order to refuse it: it may contain text that is nowhere else."""

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


class OpenaiItem(ConversationNames, frozen=True, kw_only=True):
    """The names of the conversation, and the messages when the item is a whole chat."""

    id: str | None = None
    title: Any = None
    messages: list[OpenaiMessage] | None = None


def openai(line: bytes) -> ParsedItem:
    """Parse a message or a whole chat."""
    item = parse_json(line, OpenaiItem, limit=ITEM_BYTES_MAX)
    conversation = item.conversation()
    if item.messages is not None:
        messages = [_message(message) for message in item.messages]
        return ParsedItem(conversation or item.id, messages, whole=True, title=title_of(item.title))
    message = _message(parse_json(line, OpenaiMessage))
    if conversation is None:
        raise InvalidInput(at="conversation_id", problem="missing_field")
    return ParsedItem(conversation, [message])


def _message(message: OpenaiMessage) -> Message:
    role = ROLES[message.role]
    return Message(
        role=role,
        content=_result(message) if role is Role.TOOL else list(_parts(message)),
        speaker_id=message.name or message.role,
        speaker_kind=role,
        observed_ms=milliseconds(message.created_at if message.created_at is not None else message.created),
    )


def _result(message: OpenaiMessage) -> list[Part]:
    content = message.content if isinstance(message.content, str | None) else msgspec.to_builtins(message.content)
    return [ToolCallResponsePart(id=message.tool_call_id, response=content)]


def _parts(message: OpenaiMessage) -> Iterable[Part]:
    if message.audio is not None:
        raise InvalidInput(at="audio", problem="unsupported_part")
    if message.reasoning_content:
        yield ReasoningPart(content=message.reasoning_content)
    if isinstance(message.content, str):
        yield TextPart(content=message.content)
    else:
        yield from map(openai_part, message.content or [])
    if message.refusal:
        yield TextPart(content=message.refusal)
    for call in message.tool_calls or []:
        yield openai_call(call)
    if message.function_call is not None:
        yield ToolCallPart(name=message.function_call.name, arguments=parse_arguments(message.function_call.arguments))


def openai_call(call: OpenaiCall) -> Part:
    """Return a call as a part."""
    if call.function is not None:
        return ToolCallPart(id=call.id, name=call.function.name, arguments=parse_arguments(call.function.arguments))
    if call.custom is not None:
        return ToolCallPart(id=call.id, name=call.custom.name, arguments=call.custom.input)
    raise InvalidInput(at="tool_calls", problem="unsupported_part")


def openai_part(part: OpenaiPart) -> Part:
    """Return a part of an OpenAI message as a part of ours."""
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
