"""An entry of the feed before it has its id: the event of the log that it is of, and its number in that."""

from __future__ import annotations

from typing import NamedTuple

from muniment.events.changes import TurnSpan, span_of
from muniment.evidence.header import Header
from muniment.log.port import SealedRow
from muniment.operations.events.space_event import SpaceEvent


class NumberedEvent(NamedTuple):
    """An entry without its id, and its number in the event; whether a receipt of the event tells nothing hidden."""

    number: int
    event: SpaceEvent
    is_provable: bool = False


def entries_of(row: SealedRow, header: Header) -> TurnSpan:
    """Return the entries of its stream that an event is about: itself, or those that it changes."""
    return TurnSpan(row.turn_seq, row.turn_seq) if row.turn_seq is not None else span_of(header.about)
