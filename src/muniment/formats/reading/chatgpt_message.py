"""One message of a ChatGPT export: its author, and its content by `content_type`.

| content_type | part |
|---|---|
| text, code | text; a tool call when the `recipient` of an assistant is a tool |
| multimodal_text | text, and the addresses of images and recordings |
| execution_output, tether_quote, tether_browsing_display, system_error | tool call response |
| thoughts, reasoning_recap | reasoning |
| user_editable_context, model_editable_context | system text, which is inserted before the user's messages |

Text of a tool is a tool call response. Any other content is kept as JSON (`parsed_item.kept_as_json`). Attached files
are named by their ids; citations are omitted.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from muniment.events.binding import parse_json
from muniment.events.message import (
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
from muniment.formats.reading.blocks import CITATION
from muniment.formats.reading.parsed_item import (
    ABSENT,
    ParsedParts,
    ParsingNotes,
    import_message,
    is_there,
    kept_as_json,
    parse_arguments,
    read_or_none,
    time_of,
)

CONTENT_TYPE = "content_type"
CONTENT_PART = "content_part"
METADATA = "metadata"
EVERYBODY = "all"  # the recipient of a message that is no call


class ChatgptAuthor(Struct, frozen=True, kw_only=True):
    """The author of a message."""

    role: Role
    name: str | None = None


class ChatgptMessage(Struct, frozen=True, kw_only=True):
    """A message."""

    author: ChatgptAuthor
    content: msgspec.Raw
    create_time: Any = None
    recipient: str | None = None
    metadata: msgspec.Raw = ABSENT


class ChatgptMetadata(Struct, frozen=True, kw_only=True):
    """The metadata of a message."""

    attachments: list[ChatgptAttachment] | None = None
    citations: list[msgspec.Raw] | None = None


class ChatgptAttachment(Struct, frozen=True, kw_only=True):
    """An attached file."""

    id: str
    mime_type: str | None = None
    mimeType: str | None = None  # noqa: N815 - both spellings are in use


class _ContentBase(Struct, frozen=True, kw_only=True, tag_field="content_type"):
    """Content, distinguished by its type."""


class ChatgptText(_ContentBase, frozen=True, kw_only=True, tag="text"):
    """Text."""

    parts: list[str]


class MultimodalText(_ContentBase, frozen=True, kw_only=True, tag="multimodal_text"):
    """Text, images and recordings."""

    parts: list[msgspec.Raw]


class ChatgptCode(_ContentBase, frozen=True, kw_only=True, tag="code"):
    """Code, or the arguments of a call."""

    text: str


class ExecutionOutput(_ContentBase, frozen=True, kw_only=True, tag="execution_output"):
    """The output of code."""

    text: str


class ToolFailure(_ContentBase, frozen=True, kw_only=True, tag="system_error"):
    """The error of a tool."""

    name: str | None = None
    text: str | None = None


class ChatgptQuote(_ContentBase, frozen=True, kw_only=True, tag="tether_quote"):
    """A quotation from a page or a file."""

    url: str | None = None
    domain: str | None = None
    title: str | None = None
    text: str | None = None


class BrowsingDisplay(_ContentBase, frozen=True, kw_only=True, tag="tether_browsing_display"):
    """The result of a browser."""

    result: str | None = None
    summary: str | None = None


class Thought(Struct, frozen=True, kw_only=True):
    """One thought."""

    summary: str | None = None
    content: str | None = None


class Thoughts(_ContentBase, frozen=True, kw_only=True, tag="thoughts"):
    """Reasoning of the model."""

    thoughts: list[Thought]


class ReasoningRecap(_ContentBase, frozen=True, kw_only=True, tag="reasoning_recap"):
    """A summary of the reasoning, such as its duration."""

    content: str


class UserContext(_ContentBase, frozen=True, kw_only=True, tag="user_editable_context"):
    """Instructions of a user for every conversation."""

    user_profile: str | None = None
    user_instructions: str | None = None


class ModelContext(_ContentBase, frozen=True, kw_only=True, tag="model_editable_context"):
    """Notes of a model for every conversation."""

    model_set_context: str | None = None


ToolOutput = ExecutionOutput | ToolFailure | ChatgptQuote | BrowsingDisplay
EditableContext = UserContext | ModelContext
Content = ChatgptText | MultimodalText | ChatgptCode | ToolOutput | Thoughts | ReasoningRecap | EditableContext


class ImageAsset(_ContentBase, frozen=True, kw_only=True, tag="image_asset_pointer"):
    """An image in the archive."""

    asset_pointer: str


class AudioTranscription(_ContentBase, frozen=True, kw_only=True, tag="audio_transcription"):
    """The text of a recording."""

    text: str


class AudioAsset(_ContentBase, frozen=True, kw_only=True, tag="audio_asset_pointer"):
    """A recording in the archive."""

    asset_pointer: str


class RealTimeAsset(_ContentBase, frozen=True, kw_only=True, tag="real_time_user_audio_video_asset_pointer"):
    """A recording of a spoken conversation."""

    audio_asset_pointer: AudioAsset


MultimodalPiece = ImageAsset | AudioTranscription | AudioAsset | RealTimeAsset


def read_message(raw: bytes, notes: ParsingNotes) -> list[Message]:
    """Return the message, and before it its unknown content."""
    parsed = parse_json(raw, ChatgptMessage)
    observed_ms = time_of(parsed.create_time, notes)
    role = parsed.author.role
    content: Content | None = read_or_none(parsed.content, Content)
    if content is None:
        parts = kept_as_json(parsed.content, role, notes, CONTENT_TYPE)
    else:
        if isinstance(content, EditableContext):
            role = Role.SYSTEM
        parts = _content_parts(content, role, parsed.recipient, notes)
    parts.parts.extend(_attachments(parsed.metadata, parts.parts, notes))
    if role is Role.TOOL:
        parts = ParsedParts([_tool_response(part) for part in parts.parts], parts.beside)
    message = Message(
        role=role,
        content=parts.parts,
        speaker_id=parsed.author.name or parsed.author.role,
        speaker_kind=parsed.author.role,
        observed_ms=observed_ms,
    )
    return [*import_message(parts.beside, observed_ms), message]


def _content_parts(content: Content, role: Role, recipient: str | None, notes: ParsingNotes) -> ParsedParts:
    is_call = role is Role.ASSISTANT and recipient not in {None, "", EVERYBODY}
    if isinstance(content, ChatgptText | ChatgptCode):
        texts = content.parts if isinstance(content, ChatgptText) else [content.text]
        if is_call:
            return ParsedParts([ToolCallPart(name=recipient or "", arguments=parse_arguments("".join(texts)))], [])
        return ParsedParts([TextPart(content=text) for text in texts], [])
    if isinstance(content, MultimodalText):
        return _pieces(content, role, notes)
    if isinstance(content, ToolOutput):
        return ParsedParts([ToolCallResponsePart(response=_response(content))], [])
    if isinstance(content, Thoughts):
        thoughts = ["\n\n".join(filter(None, (thought.summary, thought.content))) for thought in content.thoughts]
        return ParsedParts([ReasoningPart(content=text) for text in thoughts], [])
    if isinstance(content, ReasoningRecap):
        return ParsedParts([ReasoningPart(content=content.content)], [])
    context = (
        (content.user_profile, content.user_instructions)
        if isinstance(content, UserContext)
        else (content.model_set_context,)
    )
    return ParsedParts([TextPart(content=text) for text in context if text], [])


def _pieces(content: MultimodalText, role: Role, notes: ParsingNotes) -> ParsedParts:
    parsed = ParsedParts([], [])
    for raw in content.parts:
        piece: str | MultimodalPiece | None = read_or_none(raw, str | MultimodalPiece)
        if isinstance(piece, str):
            parsed.parts.append(TextPart(content=piece))
        elif piece is None:
            parsed.extend(kept_as_json(raw, role, notes, CONTENT_PART))
        elif isinstance(piece, AudioTranscription):
            parsed.parts.append(TextPart(content=piece.text))
        elif isinstance(piece, ImageAsset):
            parsed.parts.append(UriPart(uri=piece.asset_pointer, modality="image"))
        else:
            recording = piece.audio_asset_pointer if isinstance(piece, RealTimeAsset) else piece
            parsed.parts.append(UriPart(uri=recording.asset_pointer, modality="audio"))
    return parsed


def _response(content: ToolOutput) -> str | dict[str, str]:
    if isinstance(content, ExecutionOutput):
        return content.text
    members: dict[str, str | None] = msgspec.structs.asdict(content)
    return {name: value for name, value in members.items() if value is not None}


def _tool_response(part: Part) -> Part:
    return ToolCallResponsePart(response=part.content) if isinstance(part, TextPart) else part


def _attachments(raw: msgspec.Raw, parts: list[Part], notes: ParsingNotes) -> list[Part]:
    """Return the attached files that the content does not contain."""
    if not is_there(raw):
        return []
    metadata: ChatgptMetadata | None = read_or_none(raw, ChatgptMetadata)
    if metadata is None:
        notes.left_out[METADATA] += 1
        return []
    notes.left_out[CITATION] += len(metadata.citations or [])
    uris = [part.uri for part in parts if isinstance(part, UriPart)]
    return [
        FilePart(file_id=file.id, mime_type=file.mime_type or file.mimeType)
        for file in metadata.attachments or []
        if not any(uri.endswith(file.id) for uri in uris)
    ]
