"""Places: where in the transcripts of a space a turn or a message is."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.governance.listing import observed_ms
from muniment.kernel.times import MOMENT
from muniment.log.port import StreamHead
from muniment.projections.transcript import ReadTurn

Moment = Annotated[int, Meta(ge=0, le=OBSERVED_MS_MAX, extra=MOMENT)]  # UTC milliseconds


class Place(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn, or a message of it, and the head of its conversation when it was read.

    `revision` counts the events of the conversation, `digest` is the leaf of the newest one, in hexadecimal.
    """

    conversation: ConversationKey
    subject: str
    turn: TurnId
    sequence: int
    position: int
    observed_ms: int
    revision: int
    digest: str
    message: str | None = None


def place_of(key: ConversationKey, head: StreamHead, read: ReadTurn, message: int | None = None) -> Place:
    """Return the place of a turn that was read, or of a message of it."""
    record = read.record
    turn = record.meta.delivery.turn
    if message is None:
        observed = observed_ms(record.meta, record.time_ms)
    else:
        observed = record.meta.messages[message].observed_ms or record.time_ms
    return Place(
        conversation=key,
        subject=record.meta.actor.subject or "",
        turn=TurnId(turn),
        sequence=record.sequence,
        position=record.position,
        observed_ms=observed,
        revision=head.seq,
        digest=head.leaf.hex(),
        message=None if message is None else f"{turn}#{message}@{record.mark}",  # as `message_id`, without a call
    )
