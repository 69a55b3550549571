"""The export of Claude.ai: conversations with `uuid` and `chat_messages`, which have blocks, attachments and files.

The blocks of a message are its content; its `text` repeats them, and is kept only when no block has text or one is of
an unknown type. The text extracted from an attachment is a text part after the name of the file.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.events.binding import parse_json
from muniment.events.message import FilePart, Message, Role, TextPart, is_blank
from muniment.formats.reading.blocks import read_blocks
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import (
    ParsedItem,
    ParsedParts,
    ParsingNotes,
    import_message,
    kept_as_json,
    read_or_none,
    time_of,
    title_of,
    with_times,
)

ATTACHMENT = "attachment"
ROLES: dict[str, Role] = {"human": Role.USER, "assistant": Role.ASSISTANT}


class ClaudeChat(Struct, frozen=True, kw_only=True):
    """A conversation."""

    uuid: str
    chat_messages: list[msgspec.Raw]
    created_at: Any = None
    name: Any = None


class ClaudeMessage(Struct, frozen=True, kw_only=True):
    """A message of a conversation."""

    sender: str
    text: str | None = None
    content: list[msgspec.Raw] | None = None
    attachments: list[msgspec.Raw] | None = None
    files: list[msgspec.Raw] | None = None
    files_v2: list[msgspec.Raw] | None = None
    created_at: Any = None


class ClaudeAttachment(Struct, frozen=True, kw_only=True):
    """An attached text."""

    extracted_content: str
    file_name: str | None = None
    file_type: str | None = None


class ClaudeFile(Struct, frozen=True, kw_only=True):
    """An attached file; newer exports have its id."""

    file_name: str
    file_uuid: str | None = None


def claude(item: bytes) -> ParsedItem:
    """Parse a conversation; a malformed message is refused and the others are kept."""
    chat = parse_json(item, ClaudeChat, limit=ITEM_BYTES_MAX)
    notes = ParsingNotes()
    messages: list[Message] = []
    for index, raw in enumerate(chat.chat_messages):
        messages += notes.read(f"chat_messages[{index}]", _messages, raw)
    return ParsedItem(
        chat.uuid,
        with_times(time_of(chat.created_at, notes), messages),
        whole=True,
        notes=notes,
        title=title_of(chat.name),
    )


def _messages(raw: bytes, notes: ParsingNotes) -> list[Message]:
    parsed = parse_json(raw, ClaudeMessage)
    role = ROLES.get(parsed.sender)
    if role is None:
        raise InvalidInput(at="sender", problem="unknown_word")
    observed_ms = time_of(parsed.created_at, notes)
    kept_before = notes.kept_as_json.total()
    content = read_blocks(parsed.content or [], role, notes)
    has_text = any(isinstance(part, TextPart) and not is_blank(part) for part in content.parts)
    if parsed.text and (not has_text or notes.kept_as_json.total() > kept_before):
        content.parts.append(TextPart(content=parsed.text))
    content.extend(_attachments(parsed, role, notes))
    message = Message(role=role, content=content.parts, speaker_id=role, speaker_kind=role, observed_ms=observed_ms)
    return [*import_message(content.beside, observed_ms), message]


def _attachments(message: ClaudeMessage, role: Role, notes: ParsingNotes) -> ParsedParts:
    parsed = ParsedParts([], [])
    for raw in message.attachments or []:
        text: ClaudeAttachment | None = read_or_none(raw, ClaudeAttachment)
        if text is None:
            parsed.extend(kept_as_json(raw, role, notes, ATTACHMENT))
            continue
        if text.file_name:
            parsed.parts.append(FilePart(file_id=text.file_name, mime_type=text.file_type or None))
        parsed.parts.append(TextPart(content=text.extracted_content))
    for raw in message.files or message.files_v2 or []:
        file: ClaudeFile | None = read_or_none(raw, ClaudeFile)
        if file is None:
            parsed.extend(kept_as_json(raw, role, notes, ATTACHMENT))
        else:
            parsed.parts.append(FilePart(file_id=file.file_uuid or file.file_name))
    return parsed
