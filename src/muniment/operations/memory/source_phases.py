"""What is left of the turns that memory items rest on.

Many items rest on few turns. Who asks for those of many items in one state of the log keeps a `SourcePhases`, which
looks every conversation and every turn up once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muniment.events.identity import ConversationKey, TurnId, named_message
from muniment.events.memory_items import MemoryPlane
from muniment.events.references import SourceEvidence
from muniment.governance.phases import MASKED_PHASES, Phase, phase_of
from muniment.log.port import Reader, StreamHead
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import RETELLING
from muniment.projections.change_fold import NOTHING, Changes
from muniment.space.space import Space


class ConversationNow(NamedTuple):
    """The stream of a conversation and its changes, in the reader's state of the log."""

    head: StreamHead
    changes: Changes


class SourcePlace(NamedTuple):
    """Where a turn is that something rests on, and the place of its message where it rests on one."""

    conversation: ConversationNow
    sequence: int
    message: int | None = None

    @property
    def stream(self) -> int:
        """The stream of the conversation."""
        return self.conversation.head.stream


class SourcePhases:
    """What is left of turns in one state of the log."""

    def __init__(self, space: Space, reader: Reader) -> None:
        self._transcript = space.transcript
        self._reader = reader
        self._conversations: dict[tuple[str, str], ConversationNow | None] = {}
        self._sequences: dict[tuple[str, str, str], int | None] = {}

    def place(self, source: SourceEvidence) -> SourcePlace | None:
        """Return where a turn is, or None where an archive took the place of its conversation, without it."""
        key = ConversationKey(conversation=source.conversation, channel=source.channel)
        named = None if source.message is None else named_message(source.message)
        place = self.place_of(key, source.turn)
        return place if place is None or named is None else place._replace(message=named.place)

    def place_of(self, key: ConversationKey, turn: str) -> SourcePlace | None:
        """Return where a turn of a conversation is; as `place`."""
        now = self._conversation(key)
        sequence = None if now is None else self._sequence(now, key, turn)
        return None if now is None or sequence is None else SourcePlace(now, sequence)

    def phase(self, source: SourceEvidence) -> Phase:
        """Return what is left of a turn, or of a message of it, that an item rests on."""
        place = self.place(source)
        if place is None:
            return Phase.ERASED
        changes, sequence = place.conversation.changes, place.sequence
        if place.message is not None and place.message in changes.erased.get(sequence, NOTHING):
            return Phase.ERASED
        return phase_of(sequence, changes.steps)

    def rests_on_lost(self, sources: Iterable[SourceEvidence]) -> bool:
        """Tell whether nobody is shown all the words of these turns any more; of one, a message may be gone."""
        return any(self._is_gone(source) or self._has_lost_a_message(source) for source in sources)

    def left(self, item: MemoryItem) -> list[Phase]:
        """Return what is left of each turn that an item rests on; what retells a turn needs every message of it."""
        is_retelling = item.plane in RETELLING
        return [
            Phase.ERASED if is_retelling and self._has_lost_a_message(source) else self.phase(source)
            for source in item.evidence
        ]

    def hides_retelling(self, item: MemoryItem) -> bool:
        """Tell whether an item retells turns and nobody is shown the words of some of them any more."""
        return item.plane in RETELLING and any(map(is_gone, self.left(item)))

    def hides(self, plane: MemoryPlane, sources: Iterable[SourceEvidence]) -> bool:
        """Tell whether an item of a plane could not rest on these turns: nobody is shown all that it would tell."""
        named = list(sources)
        lost = plane in RETELLING and any(map(self._has_lost_a_message, named))
        return lost or any(map(self._is_gone, named))

    def _is_gone(self, source: SourceEvidence) -> bool:
        return is_gone(self.phase(source))

    def _has_lost_a_message(self, source: SourceEvidence) -> bool:
        """Tell whether somebody erased a message of a turn, of which no single message is named."""
        place = self.place(source)
        if place is None or place.message is not None:
            return False
        return bool(place.conversation.changes.erased.get(place.sequence))

    def _conversation(self, key: ConversationKey) -> ConversationNow | None:
        names = (key.channel, key.conversation)
        if names not in self._conversations:
            stream = self._transcript.stream_of(self._reader, key)
            head = None if stream is None else self._transcript.head(self._reader, stream)
            now = None if head is None else ConversationNow(head, self._transcript.changes(self._reader, head))
            self._conversations[names] = now
        return self._conversations[names]

    def _sequence(self, now: ConversationNow, key: ConversationKey, turn: str) -> int | None:
        names = (key.channel, key.conversation, turn)
        if names not in self._sequences:
            opened = self._transcript.turn(self._reader, now.head, key, TurnId(turn))
            self._sequences[names] = None if opened is None else opened.row.turn_seq
        return self._sequences[names]


def is_gone(phase: Phase) -> bool:
    """Tell whether nobody is shown the words of a turn any more."""
    return phase is Phase.ERASED or phase in MASKED_PHASES
