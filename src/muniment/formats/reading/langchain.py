"""Messages as LangChain writes them: by `messages_to_dict`, by `dumps`, or a message dumped as it is.

| written by | form |
|---|---|
| `messages_to_dict` | `{"type": "human", "data": {...}}` |
| `dumps` | `{"lc": 1, "type": "constructor", "id": [..., "HumanMessage"], "kwargs": {...}}` |
| a message | `{"type": "human", "content": ...}` |

A list of them is a conversation, also as `messages` beside `conversation_id`, `thread_id` or `session_id`; a message
alone (or as `message`) names its conversation by one of these. Blocks are those of LangChain and of the providers.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, LimitExceeded
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
    uri_part,
    with_times,
)

ARTIFACT = "artifact"
CHUNK = "Chunk"
MESSAGE = "Message"

# type of a message, also as the name of its class without "Message" -> role; the role of `chat` stands beside it
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


class LangchainItem(Struct, frozen=True, kw_only=True):
    """A conversation, or a message with the name of its conversation."""

    conversation_id: str | None = None
    thread_id: str | None = None
    session_id: str | None = None
    created_at: Any = None
    messages: list[msgspec.Raw] | None = None
    message: msgspec.Raw = ABSENT


class LangchainEnvelope(Struct, frozen=True, kw_only=True):
    """A message in any of the three forms."""

    type: str
    id: Any = None
    data: msgspec.Raw = ABSENT
    kwargs: msgspec.Raw = ABSENT


class LangchainCall(Struct, frozen=True, kw_only=True):
    """A call that a model asked for; of one that could not be read, `args` is text."""

    name: str | None = None
    args: Any = None
    id: str | None = None


class AdditionalKwargs(Struct, frozen=True, kw_only=True):
    """What a provider said beside."""

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
    """What a model wrote for itself."""

    reasoning: str


class ToolCallBlock(Struct, frozen=True, kw_only=True, tag="tool_call"):
    """A call among the blocks."""

    name: str
    args: Any = None
    id: str | None = None


class _MediaBlock(Struct, frozen=True, kw_only=True):
    """Bytes, an address or an id, in the spelling of either release."""

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
    """A film."""


class LangchainFile(_MediaBlock, frozen=True, kw_only=True, tag="file"):
    """A file."""


class ImageUrlBlock(Struct, frozen=True, kw_only=True, tag="image_url"):
    """The address of an image as plain text."""

    image_url: str


AnyMedia = LangchainImage | LangchainAudio | LangchainVideo | LangchainFile
LangchainBlock = ReasoningBlock | ToolCallBlock | AnyMedia | ImageUrlBlock


def langchain(item: bytes) -> ParsedItem:
    """Read a conversation, of which a malformed message is refused and the others are kept; or a message."""
    read = parse_json(item, LangchainItem, limit=ITEM_BYTES_MAX)
    name = read.conversation_id or read.thread_id or read.session_id
    notes = ParsingNotes()
    started_ms = time_of(read.created_at, notes)
    if read.messages is None:
        messages = _messages(bytes(read.message) if is_there(read.message) else item, notes)
        if name is None:
            raise InvalidInput(at="conversation_id", problem="missing_field")
        return ParsedItem(name, with_times(started_ms, messages), notes=notes)
    messages = []
    for place, raw in enumerate(read.messages):
        try:
            messages += _messages(bytes(raw), notes)
        except (InvalidInput, LimitExceeded) as refusal:
            notes.refuse(refusal, f"messages[{place}]")
    if not messages:
        raise InvalidInput(at="messages", problem="nothing_understood")
    return ParsedItem(name, with_times(started_ms, messages), whole=True, notes=notes)


def _messages(raw: bytes, notes: ParsingNotes) -> list[Message]:
    """Return a message, and before it what of it is kept beside."""
    kind, said = _unwrap(raw)
    role = ROLES.get(kind if kind != CHAT else (said.role or ""))
    if role is None:
        raise InvalidInput(at="type", problem="unknown_word")
    notes.left_out[ARTIFACT] += said.artifact is not None
    found = _tool_result(said) if role is Role.TOOL else _content(said, role, notes)
    message = Message(role=role, content=found.parts, speaker_id=said.name or said.role or kind, speaker_kind=role)
    return [*import_message(found.beside, 0), message]


def _unwrap(raw: bytes) -> tuple[str, LangchainMessage]:
    """Return the type of a message and its members, whoever wrote it."""
    written = parse_json(raw, LangchainEnvelope)
    if is_there(written.kwargs):
        names = written.id if isinstance(written.id, list) else []
        kind, members = str(names[-1]) if names else "", bytes(written.kwargs)
    else:
        kind, members = written.type, bytes(written.data) if is_there(written.data) else raw
    kind = kind.removesuffix(CHUNK).removesuffix(MESSAGE).lower()
    return kind, parse_json(members, LangchainMessage)


def _tool_result(said: LangchainMessage) -> ParsedParts:
    content = (
        said.content if isinstance(said.content, str | None) else [parse_json(bytes(one), Any) for one in said.content]
    )
    response = {"content": content, "status": said.status} if said.status == "error" else content
    return ParsedParts([ToolCallResponsePart(id=said.tool_call_id, response=response)], [])


def _content(said: LangchainMessage, role: Role, notes: ParsingNotes) -> ParsedParts:
    beside = said.additional_kwargs or AdditionalKwargs()
    found = ParsedParts([], [])
    if beside.reasoning_content:
        found.parts.append(ReasoningPart(content=beside.reasoning_content))
    if isinstance(said.content, str):
        found.parts.append(TextPart(content=said.content))
    else:
        for raw in said.content or []:
            _read_block(raw, role, notes, found)
    if beside.refusal:
        found.parts.append(TextPart(content=beside.refusal))
    calls = _calls(said, beside)
    named = {call.id for call in calls if isinstance(call, ToolCallPart) and call.id is not None}
    parts = [part for part in found.parts if not (isinstance(part, ToolCallPart) and part.id in named)]
    return ParsedParts([*parts, *calls], found.beside)


def _calls(said: LangchainMessage, beside: AdditionalKwargs) -> list[Part]:
    """Return the calls beside the content; as the provider spelled them only where LangChain has not read them."""
    read: list[Part] = [
        ToolCallPart(id=call.id, name=call.name or "", arguments=call.args)
        for call in [*(said.tool_calls or []), *(said.invalid_tool_calls or [])]
    ]
    if read:
        return read
    calls = [openai_call(call) for call in beside.tool_calls or []]
    if not calls and beside.function_call is not None:
        function = beside.function_call
        return [ToolCallPart(name=function.name, arguments=parse_arguments(function.arguments))]
    return calls


def _read_block(raw: msgspec.Raw, role: Role, notes: ParsingNotes, found: ParsedParts) -> None:
    """Read a block: words, a block of Anthropic, of OpenAI or of LangChain; or keep it as JSON."""
    block: str | Block | None = read_or_none(raw, str | Block)
    provided: OpenaiPart | None = read_or_none(raw, OpenaiPart) if block is None else None
    own: LangchainBlock | None = read_or_none(raw, LangchainBlock) if block is None and provided is None else None
    part = _openai_part(provided) if provided is not None else _langchain_part(own) if own is not None else None
    if isinstance(block, str):
        found.parts.append(TextPart(content=block))
    elif block is not None:
        found.parts.extend(parts_of(block, notes))
    elif part is not None:
        found.parts.append(part)
    else:
        found.extend(kept_as_json(raw, role, notes, CONTENT_BLOCK))


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
