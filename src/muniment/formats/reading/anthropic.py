"""Logs of requests to the Messages API and their responses.

- a request: `{"model", "system", "messages", ...}`, with or without `conversation_id`, `thread_id` or `session_id`;
- a response: `{"type": "message", "role": "assistant", "content", ...}`, which answers the previous request, or that of
  the same conversation;
- both: `{"request": {...}, "response": {...}}`;
- one message, `{"role", "content"}`, which names its conversation.

A request repeats the conversation so far; `continuations` joins the requests of a conversation. A tool result is part
of a user message in the API and a message of the tool here. `created_at` or `timestamp` of a request is the time of the
messages that it adds.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.events.binding import parse_json
from muniment.events.message import Message, Part, Role, TextPart, ToolCallResponsePart
from muniment.formats.reading.blocks import read_blocks
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import (
    ABSENT,
    ConversationNames,
    ParsedItem,
    ParsingNotes,
    import_message,
    is_there,
    time_of,
)

ERROR_RESPONSE = "error_response"
MARKS = frozenset({"system", "request", "response", "anthropic_version", "stop_sequences", "stop_reason"})


class AnthropicRequest(Struct, frozen=True, kw_only=True):
    """A request to a model."""

    messages: list[msgspec.Raw]
    system: str | list[msgspec.Raw] | None = None


class AnthropicItem(ConversationNames, frozen=True, kw_only=True):
    """An item in any of the forms."""

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
    """Parse a request, a response, both, or a message; a malformed message is refused and the others are kept."""
    parsed = parse_json(item, AnthropicItem, limit=ITEM_BYTES_MAX)
    name = parsed.conversation()
    notes = ParsingNotes()
    observed_ms = time_of(parsed.timestamp if parsed.created_at is None else parsed.created_at, notes)
    read_message = partial(_messages, observed_ms)
    has_request, has_response = is_there(parsed.request), is_there(parsed.response)
    if not has_request and not has_response and parsed.type == "error" and is_there(parsed.error):
        notes.left_out[ERROR_RESPONSE] += 1
        return ParsedItem(name, [], notes=notes)
    if not has_request and not is_there(parsed.messages):
        answers = parsed.type == "message" or (parsed.role is None and has_response)
        if name is None and not answers:
            raise InvalidInput(at="conversation_id", problem="missing_field")
        raw = bytes(parsed.response) if has_response else item
        return ParsedItem(name, read_message(raw, notes), notes=notes, answers=answers)
    request = parse_json(bytes(parsed.request) if has_request else item, AnthropicRequest, limit=ITEM_BYTES_MAX)
    messages: list[Message] = []
    for index, raw_message in enumerate(request.messages):
        messages += notes.read(f"messages[{index}]", read_message, raw_message)
    if has_response:
        if parse_json(bytes(parsed.response), AnthropicItem).type == "error":
            notes.left_out[ERROR_RESPONSE] += 1
        else:
            messages += notes.read("response", read_message, parsed.response)
    return ParsedItem(
        name, messages, whole=True, system=tuple(_system(request.system, observed_ms, notes)), notes=notes
    )


def is_marked(item: bytes) -> bool:
    """Return whether an item is of this format and not of another one that has messages."""
    members = parse_json(item, dict[str, msgspec.Raw], limit=ITEM_BYTES_MAX)
    return not MARKS.isdisjoint(members) or bytes(members.get("type", b"")) == b'"message"'


def _system(given: str | list[msgspec.Raw] | None, observed_ms: int, notes: ParsingNotes) -> list[Message]:
    if not given:
        return []
    if isinstance(given, str):
        return [_message(Role.SYSTEM, [TextPart(content=given)], observed_ms)]
    content = read_blocks(given, Role.SYSTEM, notes)
    return [*import_message(content.beside, observed_ms), _message(Role.SYSTEM, content.parts, observed_ms)]


def _messages(observed_ms: int, raw: bytes, notes: ParsingNotes) -> list[Message]:
    """Return a message; before it its unknown content and the tool results that it contains."""
    parsed = parse_json(raw, ApiMessage)
    if isinstance(parsed.content, str):
        return [_message(parsed.role, [TextPart(content=parsed.content)], observed_ms)]
    content = read_blocks(parsed.content, parsed.role, notes)
    results: list[Part] = []
    if parsed.role is Role.USER:
        results = [part for part in content.parts if isinstance(part, ToolCallResponsePart)]
    rest = [part for part in content.parts if not any(part is result for result in results)]
    messages = import_message(content.beside, observed_ms)
    if results:
        messages.append(_message(Role.TOOL, results, observed_ms))
    if rest:
        messages.append(_message(parsed.role, rest, observed_ms))
    return messages


def _message(role: Role, parts: list[Part], observed_ms: int) -> Message:
    return Message(role=role, content=parts, speaker_id=role, speaker_kind=role, observed_ms=observed_ms)
