"""What a line of a foreign file says: one table from the name of a format to the parser of a line.

- `otel`: one message a line, its parts in the OpenTelemetry vocabulary: `conversation_id`, `role`, `parts`, and
  optionally `actor` (who spoke) and `ts` (UTC milliseconds).
- `openai`: chat messages as that protocol spells them; either one a line with `conversation_id`, `thread_id` or
  `session_id` beside it, or a whole chat a line: `{"messages": [...]}`, with or without such an id.

What a part says is never dropped: a part that is not understood refuses its line. Members of a line beside the message
(token counts, names of models, indexes) are not evidence of what was said, and are passed over.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, MunimentError, NotCanonical
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
    UriPart,
)
from muniment.events.turn import Protocol
from muniment.kernel.canonical import scan

SECONDS_BEFORE = 10**11  # a smaller time is in seconds, a larger one in milliseconds


class Format(StrEnum):
    """How the lines of a file are to be read; `auto` goes by the first line that is understood."""

    AUTO = "auto"
    OTEL = "otel"
    OPENAI = "openai"


class Spoken(NamedTuple):
    """What a line says: messages of a conversation. `whole`: they are the conversation from its beginning."""

    conversation: str | None
    messages: list[Message]
    whole: bool = False


# --- OpenTelemetry parts ----------------------------------------------------------------------------------------------


class OtelLine(Struct, frozen=True, kw_only=True):
    """One message with its parts."""

    conversation_id: str
    role: Role
    parts: list[Part]
    actor: str | None = None
    ts: int | None = None


def _otel(line: bytes) -> Spoken:
    read = parse_json(line, OtelLine)
    message = Message(
        role=read.role,
        content=read.parts,
        speaker_id=read.actor or read.role,
        speaker_kind=read.role,
        observed_ms=read.ts or 0,
    )
    return Spoken(read.conversation_id, [message])


# --- OpenAI chat ------------------------------------------------------------------------------------------------------


class OpenaiText(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class OpenaiRefusal(Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """Words that refuse."""

    refusal: str


class OpenaiAddress(Struct, frozen=True, kw_only=True):
    """Where an image is, or the image itself as a `data:` address."""

    url: str


class OpenaiImage(Struct, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """An image."""

    image_url: OpenaiAddress


class OpenaiSound(Struct, frozen=True, kw_only=True):
    """Base64 of a recording, and the name of its encoding."""

    data: str
    format: str


class OpenaiAudio(Struct, frozen=True, kw_only=True, tag_field="type", tag="input_audio"):
    """A recording."""

    input_audio: OpenaiSound


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


def _openai(line: bytes) -> Spoken:
    names = parse_json(line, OpenaiNames)
    conversation = names.conversation_id or names.thread_id or names.session_id
    if names.messages is not None:
        return Spoken(conversation or names.id, [_message(one) for one in names.messages], whole=True)
    message = _message(parse_json(line, OpenaiMessage))
    if conversation is None:
        raise InvalidInput(at="conversation_id", problem="missing_field")
    return Spoken(conversation, [message])


def _message(read: OpenaiMessage) -> Message:
    role = ROLES[read.role]
    return Message(
        role=role,
        content=_result(read) if role is Role.TOOL else list(_parts(read)),
        speaker_id=read.name or read.role,
        speaker_kind=role,
        observed_ms=_milliseconds(read.created_at if read.created_at is not None else read.created),
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
        yield from map(_part, read.content or [])
    if read.refusal:
        yield TextPart(content=read.refusal)
    for call in read.tool_calls or []:
        yield _call(call)
    if read.function_call is not None:
        yield ToolCallPart(name=read.function_call.name, arguments=_arguments(read.function_call.arguments))


def _call(call: OpenaiCall) -> Part:
    if call.function is not None:
        return ToolCallPart(id=call.id, name=call.function.name, arguments=_arguments(call.function.arguments))
    if call.custom is not None:
        return ToolCallPart(id=call.id, name=call.custom.name, arguments=call.custom.input)
    raise InvalidInput(at="tool_calls", problem="unsupported_part")


def _arguments(given: Any) -> Any:
    """Return the value that arguments stand for; text that is no canonical JSON stays the text that it is."""
    if not isinstance(given, str):
        return given
    try:
        value = msgspec.json.decode(given)
        scan(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError, NotCanonical):
        return given
    return value


def _part(part: OpenaiPart) -> Part:
    if isinstance(part, OpenaiText):
        return TextPart(content=part.text)
    if isinstance(part, OpenaiRefusal):
        return TextPart(content=part.refusal)
    if isinstance(part, OpenaiImage):
        return _address(part.image_url.url, "image")
    if isinstance(part, OpenaiAudio):
        sound = part.input_audio
        return BlobPart(content=_base64(sound.data), mime_type=f"audio/{sound.format}", modality="audio")
    if part.file.file_id is not None:
        return FilePart(file_id=part.file.file_id)
    if part.file.file_data is not None:
        return _address(part.file.file_data, None)
    raise InvalidInput(at="file", problem="missing_field")


def _address(url: str, modality: str | None) -> Part:
    """Return what stands inline in a `data:` address, or the address; nothing is ever fetched."""
    head, comma, body = url.partition(",")
    if not head.startswith("data:") or not comma or not head.endswith(";base64"):
        return UriPart(uri=url, modality=modality)
    mime = head.removeprefix("data:").removesuffix(";base64") or None
    return BlobPart(content=_base64(body), mime_type=mime, modality=modality)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(at="content", problem="not_base64") from None


def _milliseconds(given: float | str | None) -> int:
    """Return UTC milliseconds of a time in seconds, in milliseconds or in ISO 8601; 0 when none is given."""
    if given is None:
        return 0
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given)
        except ValueError:
            raise InvalidInput(at="created_at", problem="malformed") from None
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
    return int(given * 1000 if abs(given) < SECONDS_BEFORE else given)


# --- the table --------------------------------------------------------------------------------------------------------

Parser = Callable[[bytes], Spoken]

PARSERS: dict[Format, Parser] = {Format.OTEL: _otel, Format.OPENAI: _openai}
PROTOCOLS: dict[Format, Protocol] = {Format.OTEL: Protocol.NATIVE, Format.OPENAI: Protocol.OPENAI_CHAT}


def sniff(line: bytes) -> tuple[Format, Spoken]:
    """Return the first format that understands a line, and what it says."""
    parse_json(line, msgspec.Raw)  # what is no JSON is no line of any format
    for name, parser in PARSERS.items():
        try:
            return name, parser(line)
        except MunimentError:
            continue
    raise InvalidInput(at="line", problem="unknown_format")
