"""Conversations as Claude.ai exports them: `uuid` and `chat_messages`, each with blocks, attachments and files.

The blocks of a message are what it says; its `text` repeats them, and is kept only where no block holds words or one is
of an unknown type. The text extracted from an attachment is words, behind the name of the file that they come from.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, LimitExceeded
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
    with_times,
)

ATTACHMENT = "attachment"
ROLES: dict[str, Role] = {"human": Role.USER, "assistant": Role.ASSISTANT}


class ClaudeChat(Struct, frozen=True, kw_only=True):
    """A conversation."""

    uuid: str
    chat_messages: list[msgspec.Raw]
    created_at: Any = None


class ClaudeMessage(Struct, frozen=True, kw_only=True):
    """A message of it."""

    sender: str
    text: str | None = None
    content: list[msgspec.Raw] | None = None
    attachments: list[msgspec.Raw] | None = None
    files: list[msgspec.Raw] | None = None
    files_v2: list[msgspec.Raw] | None = None
    created_at: Any = None


class ClaudeAttachment(Struct, frozen=True, kw_only=True):
    """A text that was attached."""

    extracted_content: str
    file_name: str | None = None
    file_type: str | None = None


class ClaudeFile(Struct, frozen=True, kw_only=True):
    """A file that was attached; newer exports say its id."""

    file_name: str
    file_uuid: str | None = None


def claude(item: bytes) -> ParsedItem:
    """Read a conversation; a message that is malformed is refused and the others are kept."""
    chat = parse_json(item, ClaudeChat, limit=ITEM_BYTES_MAX)
    notes = ParsingNotes()
    messages: list[Message] = []
    for place, raw in enumerate(chat.chat_messages):
        try:
            messages += _messages(raw, notes)
        except (InvalidInput, LimitExceeded) as refusal:
            notes.refuse(refusal, f"chat_messages[{place}]")
    return ParsedItem(chat.uuid, with_times(time_of(chat.created_at, notes), messages), whole=True, notes=notes)


def _messages(raw: msgspec.Raw, notes: ParsingNotes) -> list[Message]:
    read = parse_json(bytes(raw), ClaudeMessage)
    role = ROLES.get(read.sender)
    if role is None:
        raise InvalidInput(at="sender", problem="unknown_word")
    observed_ms = time_of(read.created_at, notes)
    kept_before = notes.kept_as_json.total()
    said = read_blocks(read.content or [], role, notes)
    has_words = any(isinstance(part, TextPart) and not is_blank(part) for part in said.parts)
    if read.text and (not has_words or notes.kept_as_json.total() > kept_before):
        said.parts.append(TextPart(content=read.text))
    attached = _attached(read, role, notes)
    parts, beside = said.parts + attached.parts, said.beside + attached.beside
    message = Message(role=role, content=parts, speaker_id=role, speaker_kind=role, observed_ms=observed_ms)
    return [*import_message(beside, observed_ms), message]


def _attached(read: ClaudeMessage, role: Role, notes: ParsingNotes) -> ParsedParts:
    found = ParsedParts([], [])
    for raw in read.attachments or []:
        text: ClaudeAttachment | None = read_or_none(raw, ClaudeAttachment)
        if text is None:
            found.extend(kept_as_json(raw, role, notes, ATTACHMENT))
            continue
        if text.file_name:
            found.parts.append(FilePart(file_id=text.file_name, mime_type=text.file_type or None))
        found.parts.append(TextPart(content=text.extracted_content))
    for raw in read.files or read.files_v2 or []:
        file: ClaudeFile | None = read_or_none(raw, ClaudeFile)
        if file is None:
            found.extend(kept_as_json(raw, role, notes, ATTACHMENT))
        else:
            found.parts.append(FilePart(file_id=file.file_uuid or file.file_name))
    return found
