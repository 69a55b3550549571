"""One message a line, its parts in the OpenTelemetry vocabulary.

`conversation_id`, `role`, `parts`; optionally `actor` (who spoke) and `ts` (UTC milliseconds). Lines that we exported
say more: `turn` and `delivery` of the turn that the line belongs to, `speaker_kind`, `authority`, and what was
`withheld` of it.
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
    """Read a message."""
    read = parse_json(line, OtelInputLine)
    message = Message(
        role=read.role,
        content=read.parts,
        authority=read.authority,
        speaker_id=read.actor or read.role,
        speaker_kind=read.speaker_kind or read.role,
        observed_ms=read.ts or 0,
    )
    notes = ParsingNotes()
    notes.left_out["withheld"] += len(read.withheld)
    named = None if read.turn is None else NamedTurn(read.turn, read.delivery)
    return ParsedItem(read.conversation_id, [message], named=named, notes=notes)
