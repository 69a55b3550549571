"""One message of a ChatGPT export: who speaks, and its content by `content_type`.

| content_type | part |
|---|---|
| text, code | text; a tool call where an assistant speaks to a tool (`recipient`) |
| multimodal_text | text, and images and recordings where they are kept |
| execution_output, tether_quote, tether_browsing_display, system_error | tool call response |
| thoughts, reasoning_recap | reasoning |
| user_editable_context, model_editable_context | text of the system: it is put before the user, not said by them |

What a tool says is a tool call response. Any other content is kept as JSON (`spoken.kept_as_json`). Files that a user
attached are named by their ids; citations are left out.
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
EVERYBODY = "all"  # the recipient of what is said and not called


class ChatgptAuthor(Struct, frozen=True, kw_only=True):
    """Who speaks."""

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
    """What stands beside a message."""

    attachments: list[ChatgptAttachment] | None = None
    citations: list[msgspec.Raw] | None = None


class ChatgptAttachment(Struct, frozen=True, kw_only=True):
    """A file that was attached."""

    id: str
    mime_type: str | None = None
    mimeType: str | None = None  # noqa: N815 - both spellings are in use


class _ContentBase(Struct, frozen=True, kw_only=True, tag_field="content_type"):
    """Content, told apart by its type."""


class ChatgptText(_ContentBase, frozen=True, kw_only=True, tag="text"):
    """Words."""

    parts: list[str]


class MultimodalText(_ContentBase, frozen=True, kw_only=True, tag="multimodal_text"):
    """Words, images and recordings."""

    parts: list[msgspec.Raw]


class ChatgptCode(_ContentBase, frozen=True, kw_only=True, tag="code"):
    """Code, or the arguments of a call."""

    text: str


class ExecutionOutput(_ContentBase, frozen=True, kw_only=True, tag="execution_output"):
    """What code printed."""

    text: str


class ToolFailure(_ContentBase, frozen=True, kw_only=True, tag="system_error"):
    """What a tool said when it failed."""

    name: str | None = None
    text: str | None = None


class ChatgptQuote(_ContentBase, frozen=True, kw_only=True, tag="tether_quote"):
    """A quotation from a page or a file."""

    url: str | None = None
    domain: str | None = None
    title: str | None = None
    text: str | None = None


class BrowsingDisplay(_ContentBase, frozen=True, kw_only=True, tag="tether_browsing_display"):
    """What a browser returned."""

    result: str | None = None
    summary: str | None = None


class Thought(Struct, frozen=True, kw_only=True):
    """One thought."""

    summary: str | None = None
    content: str | None = None


class Thoughts(_ContentBase, frozen=True, kw_only=True, tag="thoughts"):
    """What a model wrote for itself."""

    thoughts: list[Thought]


class ReasoningRecap(_ContentBase, frozen=True, kw_only=True, tag="reasoning_recap"):
    """How long it thought."""

    content: str


class UserContext(_ContentBase, frozen=True, kw_only=True, tag="user_editable_context"):
    """What a user has written for every conversation."""

    user_profile: str | None = None
    user_instructions: str | None = None


class ModelContext(_ContentBase, frozen=True, kw_only=True, tag="model_editable_context"):
    """What a model has noted for every conversation."""

    model_set_context: str | None = None


ToolOutput = ExecutionOutput | ToolFailure | ChatgptQuote | BrowsingDisplay
EditableContext = UserContext | ModelContext
Content = ChatgptText | MultimodalText | ChatgptCode | ToolOutput | Thoughts | ReasoningRecap | EditableContext


class ImageAsset(_ContentBase, frozen=True, kw_only=True, tag="image_asset_pointer"):
    """An image in the archive."""

    asset_pointer: str


class AudioTranscription(_ContentBase, frozen=True, kw_only=True, tag="audio_transcription"):
    """What was said aloud, as words."""

    text: str


class AudioAsset(_ContentBase, frozen=True, kw_only=True, tag="audio_asset_pointer"):
    """A recording in the archive."""

    asset_pointer: str


class RealTimeAsset(_ContentBase, frozen=True, kw_only=True, tag="real_time_user_audio_video_asset_pointer"):
    """A recording of a conversation by voice."""

    audio_asset_pointer: AudioAsset


MultimodalPiece = ImageAsset | AudioTranscription | AudioAsset | RealTimeAsset


def read_message(raw: bytes, notes: ParsingNotes) -> list[Message]:
    """Return the message, and before it what of it is kept beside."""
    read = parse_json(raw, ChatgptMessage)
    observed_ms = time_of(read.create_time, notes)
    role = read.author.role
    content: Content | None = read_or_none(read.content, Content)
    if content is None:
        said = kept_as_json(read.content, role, notes, CONTENT_TYPE)
    else:
        if isinstance(content, EditableContext):
            role = Role.SYSTEM
        said = _content_parts(content, role, read.recipient, notes)
    said.parts.extend(_attachments(read.metadata, said.parts, notes))
    if role is Role.TOOL:
        said = ParsedParts([_tool_response(part) for part in said.parts], said.beside)
    message = Message(
        role=role,
        content=said.parts,
        speaker_id=read.author.name or read.author.role,
        speaker_kind=read.author.role,
        observed_ms=observed_ms,
    )
    return [*import_message(said.beside, observed_ms), message]


def _content_parts(content: Content, role: Role, recipient: str | None, notes: ParsingNotes) -> ParsedParts:
    calls = role is Role.ASSISTANT and recipient not in {None, "", EVERYBODY}
    if isinstance(content, ChatgptText | ChatgptCode):
        words = content.parts if isinstance(content, ChatgptText) else [content.text]
        if calls:
            return ParsedParts([ToolCallPart(name=recipient or "", arguments=parse_arguments("".join(words)))], [])
        return ParsedParts([TextPart(content=one) for one in words], [])
    if isinstance(content, MultimodalText):
        return _pieces(content, role, notes)
    if isinstance(content, ToolOutput):
        return ParsedParts([ToolCallResponsePart(response=_response(content))], [])
    if isinstance(content, Thoughts):
        thoughts = ["\n\n".join(filter(None, (one.summary, one.content))) for one in content.thoughts]
        return ParsedParts([ReasoningPart(content=one) for one in thoughts], [])
    if isinstance(content, ReasoningRecap):
        return ParsedParts([ReasoningPart(content=content.content)], [])
    context = (
        (content.user_profile, content.user_instructions)
        if isinstance(content, UserContext)
        else (content.model_set_context,)
    )
    return ParsedParts([TextPart(content=one) for one in context if one], [])


def _pieces(content: MultimodalText, role: Role, notes: ParsingNotes) -> ParsedParts:
    found = ParsedParts([], [])
    for raw in content.parts:
        piece: str | MultimodalPiece | None = read_or_none(raw, str | MultimodalPiece)
        if isinstance(piece, str):
            found.parts.append(TextPart(content=piece))
        elif piece is None:
            found.extend(kept_as_json(raw, role, notes, CONTENT_PART))
        elif isinstance(piece, AudioTranscription):
            found.parts.append(TextPart(content=piece.text))
        elif isinstance(piece, ImageAsset):
            found.parts.append(UriPart(uri=piece.asset_pointer, modality="image"))
        else:
            recording = piece.audio_asset_pointer if isinstance(piece, RealTimeAsset) else piece
            found.parts.append(UriPart(uri=recording.asset_pointer, modality="audio"))
    return found


def _response(content: ToolOutput) -> str | dict[str, str]:
    if isinstance(content, ExecutionOutput):
        return content.text
    members: dict[str, str | None] = msgspec.structs.asdict(content)
    return {name: value for name, value in members.items() if value is not None}


def _tool_response(part: Part) -> Part:
    return ToolCallResponsePart(response=part.content) if isinstance(part, TextPart) else part


def _attachments(raw: msgspec.Raw, parts: list[Part], notes: ParsingNotes) -> list[Part]:
    """Return the files beside a message that its content does not show already."""
    if not is_there(raw):
        return []
    read: ChatgptMetadata | None = read_or_none(raw, ChatgptMetadata)
    if read is None:
        notes.left_out[METADATA] += 1
        return []
    notes.left_out[CITATION] += len(read.citations or [])
    shown = [part.uri for part in parts if isinstance(part, UriPart)]
    return [
        FilePart(file_id=each.id, mime_type=each.mime_type or each.mimeType)
        for each in read.attachments or []
        if not any(uri.endswith(each.id) for uri in shown)
    ]
