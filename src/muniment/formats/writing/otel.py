"""One message per line in OpenTelemetry parts: the lines that `import --format otel` reads back.

Each line also has the turn of the message, the delivery of that turn, and what the view withholds of the message.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.events.message import Authority, Part, Role
from muniment.events.turn import Delivery
from muniment.formats.writing.pages import ExportedConversation, ExportedTurn, as_json
from muniment.governance.slices import RedactionItem
from muniment.governance.views import Reason


class WithheldRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason why a part of a message, a range of its text, or the whole message is withheld.

    Parts are counted from 0, including withheld ones. A range is in code points, the end not included; when the part
    has several texts, it is a range of the text at `path`, a JSON pointer.
    """

    reason: Reason
    part: int | None = None
    start: int | None = None
    end: int | None = None
    causes: tuple[str, ...] = ()
    path: str | None = None


class OtelOutputLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message."""

    conversation_id: str
    turn: str
    delivery: Delivery
    role: Role
    actor: str
    speaker_kind: str
    authority: Authority
    ts: int
    parts: list[Part]
    withheld: list[WithheldRecord] = []


def otel(export: ExportedConversation) -> Iterator[str]:
    """Yield the lines of a conversation."""
    for exported in export.turns:
        for line in _lines(export.conversation, exported):
            yield as_json(line) + "\n"


def _lines(conversation: str, exported: ExportedTurn) -> Iterator[OtelOutputLine]:
    for message in exported.turn.messages:
        yield OtelOutputLine(
            conversation_id=conversation,
            turn=exported.turn.turn,
            delivery=exported.turn.delivery,
            role=message.role,
            actor=message.speaker_id,
            speaker_kind=message.speaker_kind,
            authority=message.authority,
            ts=message.observed_ms,
            parts=message.parts,
            withheld=[_withheld(item) for item in exported.withheld_of(message)],
        )


def _withheld(item: RedactionItem) -> WithheldRecord:
    return WithheldRecord(
        reason=item.reason, part=item.part, start=item.start, end=item.end, causes=item.causes, path=item.path
    )
