"""What memory items rest on: what is left of a turn that one names, and which turns a request may name."""

from __future__ import annotations

from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.events.identity import ConversationKey, SubjectId, TurnId, named_message
from muniment.events.memory_items import MemoryPlane
from muniment.events.references import SourceEvidence
from muniment.governance.phases import MASKED_PHASES, Phase, phase_of
from muniment.log.port import Reader
from muniment.memory.candidate import ItemSource
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import REFERENCES
from muniment.operations.provenance.derivations import (
    Derivation,
    PreparedDerivation,
    check_derivation,
    prepared_derivation,
)
from muniment.projections.change_fold import NOTHING
from muniment.space.space import Space


class Derived(NamedTuple):
    """The item that was derived from something: its id, its plane, and whose it is."""

    item: str
    plane: MemoryPlane
    subject: SubjectId


def known_to(session: Session, item: MemoryItem) -> bool:
    """Tell whether the caller may know of an item: it is of a subject that the caller may speak for."""
    return session.access.subject in {None, item.subject}


def stream_of(reader: Reader, item: MemoryItem) -> int:
    """Return the stream that an item is in."""
    row = reader.sealed(item.position)
    assert row is not None, "the item was read from it"
    return row.stream


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


def derived_from(
    session: Session, reader: Reader, whose: Derived, source: ItemSource, at: str, now_ms: int
) -> PreparedDerivation:
    """Return the link from an item to a turn, checked against that; `at` is its path in the request."""
    given = Derivation(
        plane=REFERENCES[whose.plane],
        key=whose.item,
        subject=whose.subject,
        conversation=source.conversation,
        turn=source.turn,
        message=source.message,
    )
    check_derivation(session, given, at)
    return prepared_derivation(session.space, reader, given, at, now_ms)
