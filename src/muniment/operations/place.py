"""Places: where in the transcripts of a space something stands."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import ConversationKey, TurnId, message_id
from muniment.events.records import TurnMeta
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.governance.listing import observed_ms
from muniment.governance.phases import Phase
from muniment.log.port import Reader, StreamHead
from muniment.projections.transcript import ReadTurn, Transcript

Moment = Annotated[int, Meta(ge=0, le=OBSERVED_MS_MAX)]  # UTC milliseconds


class Place(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn, or a message of it, and the head of its conversation when it was found there.

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
        message=None if message is None else message_id(TurnId(turn), message),
    )


def turn_at(transcript: Transcript, reader: Reader, head: StreamHead, sequence: int) -> ReadTurn:
    """Return a turn of a conversation without its words."""
    (read,) = transcript.page(reader, head, sequence, sequence, _no_words)
    return read


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
