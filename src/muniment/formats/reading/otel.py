"""One message per line, its parts in the OpenTelemetry vocabulary.

`conversation_id`, `role`, `parts`; optionally `actor` (the speaker) and `ts` (UTC milliseconds). Lines of our exports
also have `turn` and `delivery` of their turn, `speaker_kind`, `authority`, and what was `withheld`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from muniment.events.binding import parse_json
from muniment.events.message import Authority, Message, Part, Role
from muniment.events.turn import Delivery
from muniment.formats.reading.parsed_item import NamedTurn, ParsedItem, ParsingNotes


class OtelInputLine(Struct, frozen=True, kw_only=True):
    """One message with its parts."""

    conversation_id: str
    role: Role
    parts: list[Part]
    actor: str | None = None
    ts: int | None = None
    turn: str | None = None
    delivery: Delivery | None = None
    speaker_kind: str | None = None
    authority: Authority | None = None
    withheld: list[Any] = []


def otel(line: bytes) -> ParsedItem:
    """Parse a message."""
    parsed = parse_json(line, OtelInputLine)
    message = Message(
        role=parsed.role,
        content=parsed.parts,
        authority=parsed.authority,
        speaker_id=parsed.actor or parsed.role,
        speaker_kind=parsed.speaker_kind or parsed.role,
        observed_ms=parsed.ts or 0,
    )
    notes = ParsingNotes()
    notes.left_out["withheld"] += len(parsed.withheld)
    named = None if parsed.turn is None else NamedTurn(parsed.turn, parsed.delivery)
    return ParsedItem(parsed.conversation_id, [message], named=named, notes=notes)
