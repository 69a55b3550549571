"""One message a line in OpenTelemetry parts: the lines that `import --format otel` reads back.

Beside the message stand the turn it belongs to, what became of that turn, and what the view withholds of the message.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, Struct

from muniment.events.message import Authority, Part, Role
from muniment.events.turn import Delivery
from muniment.formats.writing.pages import ExportedConversation, ExportedTurn, as_json
from muniment.governance.slices import RedactionItem
from muniment.governance.views import Reason


class WithheldRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a part of a message, a range of its text, or the whole message is not there.

    Parts are counted from 0, withheld ones among them; a range is code points, the end not included, where
    there are several texts of the one at `path`, a JSON pointer.
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


def otel(told: ExportedConversation) -> Iterator[str]:
    """Yield the lines of a conversation."""
    for each in told.turns:
        for line in _lines(told.conversation, each):
            yield as_json(line) + "\n"


def _lines(conversation: str, told: ExportedTurn) -> Iterator[OtelOutputLine]:
    for message in told.turn.messages:
        yield OtelOutputLine(
            conversation_id=conversation,
            turn=told.turn.turn,
            delivery=told.turn.delivery,
            role=message.role,
            actor=message.speaker_id,
            speaker_kind=message.speaker_kind,
            authority=message.authority,
            ts=message.observed_ms,
            parts=[] if message.parts is UNSET else message.parts,
            withheld=[_withheld(item) for item in told.withheld_of(message)],
        )


def _withheld(item: RedactionItem) -> WithheldRecord:
    return WithheldRecord(
        reason=item.reason, part=item.part, start=item.start, end=item.end, causes=item.causes, path=item.path
    )
