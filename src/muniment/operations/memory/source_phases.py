"""What is left of the turns that memory items rest on."""

from __future__ import annotations

from collections.abc import Iterable

from muniment.events.identity import ConversationKey, TurnId, named_message
from muniment.events.references import SourceEvidence
from muniment.governance.phases import MASKED_PHASES, Phase, phase_of
from muniment.log.port import Reader
from muniment.projections.change_fold import NOTHING
from muniment.space.space import Space


def source_phase(space: Space, reader: Reader, source: SourceEvidence) -> Phase:
    """Return what is left of a turn, or of a message of it, that an item rests on."""
    transcript = space.transcript
    key = ConversationKey(conversation=source.conversation, channel=source.channel)
    stream = transcript.stream_of(reader, key)
    head = None if stream is None else transcript.head(reader, stream)
    opened = None if head is None else transcript.turn(reader, head, key, TurnId(source.turn))
    if head is None or opened is None or opened.row.turn_seq is None:
        return Phase.ERASED  # an archive took its place, without this turn
    changes = transcript.changes(reader, head)
    named = None if source.message is None else named_message(source.message)
    if named is not None and named.place in changes.erased.get(opened.row.turn_seq, NOTHING):
        return Phase.ERASED
    return phase_of(opened.row.turn_seq, changes.steps)


def is_gone(phase: Phase) -> bool:
    """Tell whether nobody is shown the words of a turn any more."""
    return phase is Phase.ERASED or phase in MASKED_PHASES


def rests_on_gone(space: Space, reader: Reader, sources: Iterable[SourceEvidence]) -> bool:
    """Tell whether nobody is shown the words of one of these turns any more."""
    return any(is_gone(source_phase(space, reader, source)) for source in sources)
