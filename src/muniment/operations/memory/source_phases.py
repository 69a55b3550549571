"""What is left of the turns that memory items rest on."""

from __future__ import annotations

from typing import NamedTuple

from muniment.events.identity import ConversationKey, TurnId, named_message
from muniment.events.references import SourceEvidence
from muniment.governance.phases import MASKED_PHASES, Phase, phase_of
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import RETELLING
from muniment.projections.change_fold import NOTHING
from muniment.space.space import Space


class SourcePlace(NamedTuple):
    """Where the source of an item is: its stream, its turn by sequence, and the message by place if it names one."""

    stream: int
    turn: int
    message: int | None


def place_of(space: Space, reader: Reader, source: SourceEvidence) -> SourcePlace | None:
    """Return where a source is, or None where an archive took the place of the conversation, without this turn."""
    transcript = space.transcript
    key = ConversationKey(conversation=source.conversation, channel=source.channel)
    stream = transcript.stream_of(reader, key)
    head = None if stream is None else transcript.head(reader, stream)
    opened = None if head is None else transcript.turn(reader, head, key, TurnId(source.turn))
    if head is None or opened is None or opened.row.turn_seq is None:
        return None
    named = None if source.message is None else named_message(source.message)
    return SourcePlace(head.stream, opened.row.turn_seq, None if named is None else named.place)


def source_phase(space: Space, reader: Reader, source: SourceEvidence) -> Phase:
    """Return what is left of a turn, or of a message of it, that an item rests on."""
    place = place_of(space, reader, source)
    if place is None:
        return Phase.ERASED
    changes = space.transcript.changes(reader, space.transcript.head(reader, place.stream))
    if place.message is not None and place.message in changes.erased.get(place.turn, NOTHING):
        return Phase.ERASED
    return phase_of(place.turn, changes.steps)


def is_source_gone(space: Space, reader: Reader, item: MemoryItem) -> bool:
    """Tell whether nobody is shown the words of some turn that an item rests on any more."""
    return any(is_gone(source_phase(space, reader, source)) for source in item.meta.evidence)


def is_retelling_hidden(space: Space, reader: Reader, item: MemoryItem) -> bool:
    """Tell whether an item retells turns and nobody is shown the words of some of them any more."""
    return item.plane in RETELLING and is_source_gone(space, reader, item)


def is_gone(phase: Phase) -> bool:
    """Tell whether nobody is shown the words of a turn any more."""
    return phase is Phase.ERASED or phase in MASKED_PHASES
