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
from muniment.formats.reading.spoken import (
    ABSENT,
    ParsedParts,
    ParsingNotes,
    arguments,
    aside,
    is_there,
    kept_as_json,
    read_or_none,
    time_of,
)

CONTENT_TYPE = "content_type"
CONTENT_PART = "content_part"
METADATA = "metadata"
EVERYBODY = "all"  # the recipient of what is said and not called


class Author(Struct, frozen=True, kw_only=True):
    """Who speaks."""

    role: Role
    name: str | None = None


class ChatgptMessage(Struct, frozen=True, kw_only=True):
    """A message."""

    author: Author
    content: msgspec.Raw
    create_time: Any = None
    recipient: str | None = None
    metadata: msgspec.Raw = ABSENT


class Metadata(Struct, frozen=True, kw_only=True):
    """What stands beside a message."""

    attachments: list[ChatgptAttachment] | None = None
    citations: list[msgspec.Raw] | None = None


class ChatgptAttachment(Struct, frozen=True, kw_only=True):
    """A file that was attached."""

    id: str
    mime_type: str | None = None
    mimeType: str | None = None  # noqa: N815 - both spellings are in use


class _Content(Struct, frozen=True, kw_only=True, tag_field="content_type"):
    """Content, told apart by its type."""


class ChatgptText(_Content, frozen=True, kw_only=True, tag="text"):
    """Words."""

    parts: list[str]


class Multimodal(_Content, frozen=True, kw_only=True, tag="multimodal_text"):
    """Words, images and recordings."""

    parts: list[msgspec.Raw]


class Code(_Content, frozen=True, kw_only=True, tag="code"):
    """Code, or the arguments of a call."""

    text: str


class Output(_Content, frozen=True, kw_only=True, tag="execution_output"):
    """What code printed."""

    text: str


class Failure(_Content, frozen=True, kw_only=True, tag="system_error"):
    """What a tool said when it failed."""

    name: str | None = None
    text: str | None = None


class ChatgptQuote(_Content, frozen=True, kw_only=True, tag="tether_quote"):
    """A quotation from a page or a file."""

    url: str | None = None
    domain: str | None = None
    title: str | None = None
    text: str | None = None


class Browsing(_Content, frozen=True, kw_only=True, tag="tether_browsing_display"):
    """What a browser returned."""

    result: str | None = None
    summary: str | None = None


class Thought(Struct, frozen=True, kw_only=True):
    """One thought."""

    summary: str | None = None
    content: str | None = None


class Thoughts(_Content, frozen=True, kw_only=True, tag="thoughts"):
    """What a model wrote for itself."""

    thoughts: list[Thought]


class Recap(_Content, frozen=True, kw_only=True, tag="reasoning_recap"):
    """How long it thought."""

    content: str


class UserContext(_Content, frozen=True, kw_only=True, tag="user_editable_context"):
    """What a user has written for every conversation."""

    user_profile: str | None = None
    user_instructions: str | None = None


class ModelContext(_Content, frozen=True, kw_only=True, tag="model_editable_context"):
    """What a model has noted for every conversation."""

    model_set_context: str | None = None


Returned = Output | Failure | ChatgptQuote | Browsing
Context = UserContext | ModelContext
Content = ChatgptText | Multimodal | Code | Returned | Thoughts | Recap | Context


class Picture(_Content, frozen=True, kw_only=True, tag="image_asset_pointer"):
    """An image in the archive."""

    asset_pointer: str


class Transcription(_Content, frozen=True, kw_only=True, tag="audio_transcription"):
    """What was said aloud, as words."""

    text: str


class ChatgptRecording(_Content, frozen=True, kw_only=True, tag="audio_asset_pointer"):
    """A recording in the archive."""

    asset_pointer: str


class Live(_Content, frozen=True, kw_only=True, tag="real_time_user_audio_video_asset_pointer"):
    """A recording of a conversation by voice."""

    audio_asset_pointer: ChatgptRecording


Piece = Picture | Transcription | ChatgptRecording | Live


def read_message(raw: bytes, notes: ParsingNotes) -> list[Message]:
    """Return the message, and before it what of it is kept beside."""
    read = parse_json(raw, ChatgptMessage)
    observed_ms = time_of(read.create_time, notes)
    role = read.author.role
    content: Content | None = read_or_none(read.content, Content)
    if content is None:
        said = kept_as_json(read.content, role, notes, CONTENT_TYPE)
    else:
        if isinstance(content, Context):
            role = Role.SYSTEM
        said = _said(content, role, read.recipient, notes)
    said.parts.extend(_attached(read.metadata, said.parts, notes))
    if role is Role.TOOL:
        said = ParsedParts([_returned(part) for part in said.parts], said.beside)
    message = Message(
        role=role,
        content=said.parts,
        speaker_id=read.author.name or read.author.role,
        speaker_kind=read.author.role,
        observed_ms=observed_ms,
    )
    return [*aside(said.beside, observed_ms), message]


def _said(content: Content, role: Role, recipient: str | None, notes: ParsingNotes) -> ParsedParts:
    calls = role is Role.ASSISTANT and recipient not in {None, "", EVERYBODY}
    if isinstance(content, ChatgptText | Code):
        words = content.parts if isinstance(content, ChatgptText) else [content.text]
        if calls:
            return ParsedParts([ToolCallPart(name=recipient or "", arguments=arguments("".join(words)))], [])
        return ParsedParts([TextPart(content=one) for one in words], [])
    if isinstance(content, Multimodal):
        return _pieces(content, role, notes)
    if isinstance(content, Returned):
        return ParsedParts([ToolCallResponsePart(response=_response(content))], [])
    if isinstance(content, Thoughts):
        thoughts = ["\n\n".join(filter(None, (one.summary, one.content))) for one in content.thoughts]
        return ParsedParts([ReasoningPart(content=one) for one in thoughts], [])
    if isinstance(content, Recap):
        return ParsedParts([ReasoningPart(content=content.content)], [])
    context = (
        (content.user_profile, content.user_instructions)
        if isinstance(content, UserContext)
        else (content.model_set_context,)
    )
    return ParsedParts([TextPart(content=one) for one in context if one], [])


def _pieces(content: Multimodal, role: Role, notes: ParsingNotes) -> ParsedParts:
    found = ParsedParts([], [])
    for raw in content.parts:
        piece: str | Piece | None = read_or_none(raw, str | Piece)
        if isinstance(piece, str):
            found.parts.append(TextPart(content=piece))
        elif piece is None:
            found.extend(kept_as_json(raw, role, notes, CONTENT_PART))
        elif isinstance(piece, Transcription):
            found.parts.append(TextPart(content=piece.text))
        elif isinstance(piece, Picture):
            found.parts.append(UriPart(uri=piece.asset_pointer, modality="image"))
        else:
            recording = piece.audio_asset_pointer if isinstance(piece, Live) else piece
            found.parts.append(UriPart(uri=recording.asset_pointer, modality="audio"))
    return found


def _response(content: Returned) -> str | dict[str, str]:
    if isinstance(content, Output):
        return content.text
    members: dict[str, str | None] = msgspec.structs.asdict(content)
    return {name: value for name, value in members.items() if value is not None}


def _returned(part: Part) -> Part:
    return ToolCallResponsePart(response=part.content) if isinstance(part, TextPart) else part


def _attached(raw: msgspec.Raw, parts: list[Part], notes: ParsingNotes) -> list[Part]:
    """Return the files beside a message that its content does not show already."""
    if not is_there(raw):
        return []
    read: Metadata | None = read_or_none(raw, Metadata)
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
