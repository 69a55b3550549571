"""Requests to the Messages API and their responses, as somebody logged them.

- a request: `{"model", "system", "messages", ...}`, with or without `conversation_id`, `thread_id` or `session_id`;
- a response: `{"type": "message", "role": "assistant", "content", ...}`, which answers the request before it, or that
  of the same conversation;
- both: `{"request": {...}, "response": {...}}`;
- a message alone, `{"role", "content"}`, which names its conversation.

A request repeats the conversation so far; `continuing` joins those that continue each other. What a tool returned comes
in a message of the user there and is a message of the tool here. `created_at` or `timestamp` beside a request is the
time of what it adds.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.binding import parse_json
from muniment.events.message import Message, Part, Role, TextPart, ToolCallResponsePart
from muniment.formats.reading.blocks import read_blocks
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import (
    ABSENT,
    ParsedItem,
    ParsedParts,
    ParsingNotes,
    import_message,
    is_there,
    time_of,
)

ERROR_RESPONSE = "error_response"
MARKS = frozenset({"system", "request", "response", "anthropic_version", "stop_sequences", "stop_reason"})


class AnthropicRequest(Struct, frozen=True, kw_only=True):
    """What was asked of a model."""

    messages: list[msgspec.Raw]
    system: str | list[msgspec.Raw] | None = None


class AnthropicItem(Struct, frozen=True, kw_only=True):
    """Any of the forms."""

    conversation_id: str | None = None
    thread_id: str | None = None
    session_id: str | None = None
    created_at: Any = None
    timestamp: Any = None
    type: str | None = None
    role: str | None = None
    messages: msgspec.Raw = ABSENT
    request: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class ApiMessage(Struct, frozen=True, kw_only=True):
    """A message of a request, or a response."""

    role: Role
    content: str | list[msgspec.Raw]


def anthropic(item: bytes) -> ParsedItem:
    """Read a request, a response, both, or a message; one of its messages that is malformed is refused."""
    read = parse_json(item, AnthropicItem, limit=ITEM_BYTES_MAX)
    name = read.conversation_id or read.thread_id or read.session_id
    notes = ParsingNotes()
    observed_ms = time_of(read.timestamp if read.created_at is None else read.created_at, notes)
    asked, answered = is_there(read.request), is_there(read.response)
    if not asked and not answered and read.type == "error" and is_there(read.error):
        notes.left_out[ERROR_RESPONSE] += 1
        return ParsedItem(name, [], notes=notes)
    if not asked and not is_there(read.messages):
        answers = read.type == "message" or (read.role is None and answered)
        if name is None and not answers:
            raise InvalidInput(at="conversation_id", problem="missing_field")
        raw = bytes(read.response) if answered else item
        return ParsedItem(name, _messages(raw, observed_ms, notes), notes=notes, answers=answers)
    request = parse_json(bytes(read.request) if asked else item, AnthropicRequest, limit=ITEM_BYTES_MAX)
    messages: list[Message] = []
    for place, raw_message in enumerate(request.messages):
        try:
            messages += _messages(bytes(raw_message), observed_ms, notes)
        except (InvalidInput, LimitExceeded) as refusal:
            notes.refuse(refusal, f"messages[{place}]")
    if answered:
        messages += _response(bytes(read.response), observed_ms, notes)
    return ParsedItem(
        name, messages, whole=True, system=tuple(_system(request.system, observed_ms, notes)), notes=notes
    )


def is_marked(item: bytes) -> bool:
    """Tell whether an item can only be of this format, and not of another one that has messages too."""
    members = parse_json(item, dict[str, msgspec.Raw], limit=ITEM_BYTES_MAX)
    return not MARKS.isdisjoint(members) or bytes(members.get("type", b"")) == b'"message"'


def _response(raw: bytes, observed_ms: int, notes: ParsingNotes) -> list[Message]:
    if parse_json(raw, AnthropicItem).type == "error":
        notes.left_out[ERROR_RESPONSE] += 1
        return []
    try:
        return _messages(raw, observed_ms, notes)
    except (InvalidInput, LimitExceeded) as refusal:
        notes.refuse(refusal, "response")
        return []


def _system(given: str | list[msgspec.Raw] | None, observed_ms: int, notes: ParsingNotes) -> list[Message]:
    if not given:
        return []
    said = (
        ParsedParts([TextPart(content=given)], []) if isinstance(given, str) else read_blocks(given, Role.SYSTEM, notes)
    )
    return [*import_message(said.beside, observed_ms), _message(Role.SYSTEM, said.parts, observed_ms)]


def _messages(raw: bytes, observed_ms: int, notes: ParsingNotes) -> list[Message]:
    """Return a message, before it the results of tools that it brings, and what of it is kept beside."""
    read = parse_json(raw, ApiMessage)
    if isinstance(read.content, str):
        return [_message(read.role, [TextPart(content=read.content)], observed_ms)]
    said = read_blocks(read.content, read.role, notes)
    results: list[Part] = []
    if read.role is Role.USER:
        results = [part for part in said.parts if isinstance(part, ToolCallResponsePart)]
    rest = [part for part in said.parts if not any(part is result for result in results)]
    messages = import_message(said.beside, observed_ms)
    if results:
        messages.append(_message(Role.TOOL, results, observed_ms))
    if rest:
        messages.append(_message(read.role, rest, observed_ms))
    return messages


def _message(role: Role, parts: list[Part], observed_ms: int) -> Message:
    return Message(role=role, content=parts, speaker_id=role, speaker_kind=role, observed_ms=observed_ms)
