"""LangChain messages: written by `messages_to_dict`, by `dumps`, or as plain message objects.

| written by | form |
|---|---|
| `messages_to_dict` | `{"type": "human", "data": {...}}` |
| `dumps` | `{"lc": 1, "type": "constructor", "id": [..., "HumanMessage"], "kwargs": {...}}` |
| a message | `{"type": "human", "content": ...}` |

A list of them is a conversation, also as `messages` next to `conversation_id`, `thread_id` or `session_id`. A single
message (or `message`) names its conversation with one of these. Blocks are those of LangChain and of the providers.
"""

from __future__ import annotations

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
    UriPart,
)
from muniment.formats.reading.blocks import CONTENT_BLOCK, Block, parts_of
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.openai import OpenaiCall, OpenaiFunction, OpenaiPart, openai_call, openai_part
from muniment.formats.reading.parsed_item import (
    ABSENT,
    ConversationNames,
    ParsedItem,
    ParsedParts,
    ParsingNotes,
    from_base64,
    import_message,
    is_there,
    kept_as_json,
    parse_arguments,
    read_or_none,
    time_of,
    title_of,
    uri_part,
    with_times,
)

ARTIFACT = "artifact"
CHUNK = "Chunk"
MESSAGE = "Message"

# type of a message (or the name of its class without "Message") -> role; a `chat` message has a member `role`
ROLES: dict[str, Role] = {
    "human": Role.USER,
    "user": Role.USER,
    "ai": Role.ASSISTANT,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
CHAT = "chat"


class LangchainItem(ConversationNames, frozen=True, kw_only=True):
    """A conversation, or a message with the name of its conversation."""

    created_at: Any = None
    title: Any = None
    messages: list[msgspec.Raw] | None = None
    message: msgspec.Raw = ABSENT


class LangchainEnvelope(Struct, frozen=True, kw_only=True):
    """A message in any of the three forms."""

    type: str
    id: Any = None
    data: msgspec.Raw = ABSENT
    kwargs: msgspec.Raw = ABSENT


class LangchainCall(Struct, frozen=True, kw_only=True):
    """A call that a model requested; `args` is text when LangChain could not parse it."""

    name: str | None = None
    args: Any = None
    id: str | None = None


class AdditionalKwargs(Struct, frozen=True, kw_only=True):
    """Further members from the provider."""

    tool_calls: list[OpenaiCall] | None = None
    function_call: OpenaiFunction | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


class LangchainMessage(Struct, frozen=True, kw_only=True):
    """The members of a message."""

    content: str | list[msgspec.Raw] | None = None
    name: str | None = None
    role: str | None = None
    tool_calls: list[LangchainCall] | None = None
    invalid_tool_calls: list[LangchainCall] | None = None
    additional_kwargs: AdditionalKwargs | None = None
    tool_call_id: str | None = None
    status: str | None = None
    artifact: Any = None


class ReasoningBlock(Struct, frozen=True, kw_only=True, tag="reasoning"):
    """Reasoning of the model."""

    reasoning: str


class ToolCallBlock(Struct, frozen=True, kw_only=True, tag="tool_call"):
    """A call as a block."""

    name: str
    args: Any = None
    id: str | None = None


class _MediaBlock(Struct, frozen=True, kw_only=True):
    """Bytes, an address or an id, in the spelling of any release."""

    url: str | None = None
    base64: str | None = None
    data: str | None = None
    file_id: str | None = None
    id: str | None = None
    source_type: str | None = None
    mime_type: str | None = None
    text: str | None = None


class LangchainImage(_MediaBlock, frozen=True, kw_only=True, tag="image"):
    """An image."""


class LangchainAudio(_MediaBlock, frozen=True, kw_only=True, tag="audio"):
    """A recording."""


class LangchainVideo(_MediaBlock, frozen=True, kw_only=True, tag="video"):
    """A video."""


class LangchainFile(_MediaBlock, frozen=True, kw_only=True, tag="file"):
    """A file."""


class ImageUrlBlock(Struct, frozen=True, kw_only=True, tag="image_url"):
    """The address of an image as plain text."""

    image_url: str


AnyMedia = LangchainImage | LangchainAudio | LangchainVideo | LangchainFile
LangchainBlock = ReasoningBlock | ToolCallBlock | AnyMedia | ImageUrlBlock


def langchain(item: bytes) -> ParsedItem:
    """Parse a message or a conversation; a malformed message of a conversation is refused, the others are kept."""
    parsed = parse_json(item, LangchainItem, limit=ITEM_BYTES_MAX)
    name = parsed.conversation()
    notes = ParsingNotes()
    started_ms = time_of(parsed.created_at, notes)
    if parsed.messages is None:
        messages = langchain_messages(bytes(parsed.message) if is_there(parsed.message) else item, notes)
        if name is None:
            raise InvalidInput(at="conversation_id", problem="missing_field")
        return ParsedItem(name, with_times(started_ms, messages), notes=notes)
    messages = []
    for index, raw in enumerate(parsed.messages):
        messages += notes.read(f"messages[{index}]", langchain_messages, raw)
    if not messages:
        raise InvalidInput(at="messages", problem="nothing_understood")
    return ParsedItem(name, with_times(started_ms, messages), whole=True, notes=notes, title=title_of(parsed.title))


def role_of(kind: str, role: Any) -> Role | None:
    """Return the role of a message by its type or the name of its class, and its member `role`; None for no message."""
    kind = _type_of(kind)
    named = role if isinstance(role, str) else ""
    return ROLES.get(named if kind == CHAT else kind)


def langchain_messages(raw: bytes, notes: ParsingNotes) -> list[Message]:
    """Return a message in any of the three forms, and before it its unknown content."""
    kind, members = _unwrap(raw)
    role = role_of(kind, members.role)
    if role is None:
        raise InvalidInput(at="type", problem="unknown_word")
    notes.left_out[ARTIFACT] += members.artifact is not None
    content = _tool_result(members) if role is Role.TOOL else _content(members, role, notes)
    speaker = members.name or members.role or kind
    message = Message(role=role, content=content.parts, speaker_id=speaker, speaker_kind=role)
    return [*import_message(content.beside, 0), message]


def _unwrap(raw: bytes) -> tuple[str, LangchainMessage]:
    """Return the type of a message and its members, in any of the three forms."""
    envelope = parse_json(raw, LangchainEnvelope)
    if is_there(envelope.kwargs):
        names = envelope.id if isinstance(envelope.id, list) else []
        kind, members = str(names[-1]) if names else "", bytes(envelope.kwargs)
    else:
        kind, members = envelope.type, bytes(envelope.data) if is_there(envelope.data) else raw
    return _type_of(kind), parse_json(members, LangchainMessage)


def _type_of(name: str) -> str:
    """Return the type of a message by it, or by the name of the class."""
    return name.removesuffix(CHUNK).removesuffix(MESSAGE).lower()


def _tool_result(message: LangchainMessage) -> ParsedParts:
    content = message.content
    result = content if isinstance(content, str | None) else [parse_json(bytes(raw), Any) for raw in content]
    response = {"content": result, "status": message.status} if message.status == "error" else result
    return ParsedParts([ToolCallResponsePart(id=message.tool_call_id, response=response)], [])


def _content(message: LangchainMessage, role: Role, notes: ParsingNotes) -> ParsedParts:
    additional = message.additional_kwargs or AdditionalKwargs()
    parsed = ParsedParts([], [])
    if additional.reasoning_content:
        parsed.parts.append(ReasoningPart(content=additional.reasoning_content))
    if isinstance(message.content, str):
        parsed.parts.append(TextPart(content=message.content))
    else:
        for raw in message.content or []:
            _read_block(raw, role, notes, parsed)
    if additional.refusal:
        parsed.parts.append(TextPart(content=additional.refusal))
    calls = _calls(message, additional)
    call_ids = {call.id for call in calls if isinstance(call, ToolCallPart) and call.id is not None}
    parts = [part for part in parsed.parts if not (isinstance(part, ToolCallPart) and part.id in call_ids)]
    return ParsedParts([*parts, *calls], parsed.beside)


def _calls(message: LangchainMessage, additional: AdditionalKwargs) -> list[Part]:
    """Return the calls outside the content: those that LangChain has parsed, else those of the provider."""
    parsed: list[Part] = [
        ToolCallPart(id=call.id, name=call.name or "", arguments=call.args)
        for call in [*(message.tool_calls or []), *(message.invalid_tool_calls or [])]
    ]
    if parsed:
        return parsed
    calls = [openai_call(call) for call in additional.tool_calls or []]
    if not calls and additional.function_call is not None:
        function = additional.function_call
        return [ToolCallPart(name=function.name, arguments=parse_arguments(function.arguments))]
    return calls


def _read_block(raw: msgspec.Raw, role: Role, notes: ParsingNotes, parsed: ParsedParts) -> None:
    """Add a block: text, a block of Anthropic, of OpenAI or of LangChain; any other is kept as JSON."""
    block: str | Block | None = read_or_none(raw, str | Block)
    provided: OpenaiPart | None = read_or_none(raw, OpenaiPart) if block is None else None
    own: LangchainBlock | None = read_or_none(raw, LangchainBlock) if block is None and provided is None else None
    part = _openai_part(provided) if provided is not None else _langchain_part(own) if own is not None else None
    if isinstance(block, str):
        parsed.parts.append(TextPart(content=block))
    elif block is not None:
        parsed.parts.extend(parts_of(block, notes))
    elif part is not None:
        parsed.parts.append(part)
    else:
        parsed.extend(kept_as_json(raw, role, notes, CONTENT_BLOCK))


def _openai_part(block: OpenaiPart) -> Part | None:
    try:
        return openai_part(block)
    except InvalidInput:
        return None


def _langchain_part(block: LangchainBlock) -> Part | None:
    if isinstance(block, ReasoningBlock):
        return ReasoningPart(content=block.reasoning)
    if isinstance(block, ToolCallBlock):
        return ToolCallPart(id=block.id, name=block.name, arguments=block.args)
    if isinstance(block, ImageUrlBlock):
        return uri_part(block.image_url, "image")
    return _media_part(block, str(type(block).__struct_config__.tag))


def _media_part(medium: AnyMedia, modality: str) -> Part | None:
    inline = medium.base64 if medium.base64 is not None else medium.data
    stored = medium.file_id or (medium.id if medium.source_type == "id" else None)
    if inline is not None:
        try:
            content = from_base64(inline)
        except InvalidInput:
            return None
        return BlobPart(content=content, mime_type=medium.mime_type, modality=modality)
    if medium.url is not None:
        return UriPart(uri=medium.url, mime_type=medium.mime_type, modality=modality)
    if stored is not None:
        return FilePart(file_id=stored, mime_type=medium.mime_type, modality=modality)
    return TextPart(content=medium.text) if medium.text is not None else None
