"""A conversation as one state of the log has it: opened once in an operation, then asked as often as needed.

`opened` refuses a conversation that does not exist; `find` returns None for it. Who knows the stream already makes the
`Conversation` itself. For a caller who is kept to some turns `space.seen_part` makes it, and the others are as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from muniment.errors import UnknownConversation, UnknownPlace
from muniment.events.identity import ConversationKey, TurnId, conversation_mark
from muniment.events.records import TurnMeta
from muniment.governance.detection.detection import ViewDetection
from muniment.governance.listing import has_any, only
from muniment.governance.phases import Phase, PhaseRun, runs
from muniment.governance.profiles import NO_BUDGET, Budget
from muniment.governance.slices import RedactionItem, SliceTurn, cut
from muniment.governance.views import View
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import Reader
from muniment.projections.change_fold import Changes
from muniment.projections.transcript import ReadTurn, Transcript, no_words

TURNS_AT_A_TIME = 64  # what was opened of them is released before the next ones are read


class Conversation:
    """One conversation, read from one state of the log. Its head is proved; its changes are read when needed.

    `sequences` are those of the turns that there are for whoever asks, ascending; mostly all up to the head.
    """

    def __init__(
        self,
        transcript: Transcript,
        reader: Reader,
        key: ConversationKey,
        stream: int,
        seen: Sequence[int] | None = None,
    ) -> None:
        self._transcript = transcript
        self.reader = reader
        self.key = key
        self.stream = stream
        self.head = transcript.head(reader, stream)
        self.is_whole = seen is None
        self.sequences: Sequence[int] = range(1, self.head.turns + 1) if seen is None else seen

    @cached_property
    def mark(self) -> str:
        """What the ids of its messages have of it."""
        return conversation_mark(self.key.channel, self.key.conversation)

    @cached_property
    def changes(self) -> Changes:
        """Everything that was said of its turns after they were committed."""
        return self._transcript.changes(self.reader, self.head)

    def turn(self, turn: TurnId) -> OpenedEvent | None:
        """Return the commit of a turn by its id, or None when the conversation has no such turn."""
        return self._seen(self._transcript.turn(self.reader, self.head, self.key, turn))

    def turn_meant(self, text: TurnId) -> OpenedEvent | None:
        """Return the commit of a turn by its id, or by the id of one of its messages; None when there is neither."""
        return self._seen(self._transcript.turn_meant(self.reader, self.head, self.key, text))

    def _seen(self, opened: OpenedEvent | None) -> OpenedEvent | None:
        return None if opened is None or opened.row.turn_seq not in self.sequences else opened

    def phases(self, turns: int) -> list[PhaseRun]:
        """Return the phases of the turns that there are, as they were when the conversation had so many turns."""
        whole = runs(turns, self.changes.steps)
        return whole if self.is_whole else list(only(whole, self.sequences))

    def steps(self) -> int:
        """Return how many lifecycle events there are of these turns."""
        steps = self.changes.steps
        return len(steps) if self.is_whole else sum(has_any(self.sequences, step.first, step.last) for step in steps)

    def sequence_of(self, turn: TurnId) -> int | None:
        """Return the sequence of a turn by its id, or by the id of one of its messages; None when there is neither."""
        opened = self.turn_meant(turn)
        return None if opened is None else opened.row.turn_seq

    def known_turn(self, turn: TurnId, *, at: str = "turn") -> tuple[int, OpenedEvent]:
        """Return sequence and commit of a turn by its id alone; raise `UnknownPlace` when there is no such turn.

        What hides, reveals or erases a turn asks here: the id of a message must not stand for the whole turn.
        """
        opened = self.turn(turn)
        if opened is None or opened.row.turn_seq is None:
            raise UnknownPlace(at=at)
        return opened.row.turn_seq, opened

    def at(self, sequence: int) -> ReadTurn:
        """Return a turn by its sequence, without its words."""
        (read,) = self.page(sequence, sequence, no_words)
        return read

    def read(self, opened: OpenedEvent, wanted: Callable[[Phase, TurnMeta], bool]) -> ReadTurn:
        """Return the turn of a commit; its words where they are wanted."""
        return self._transcript.read_opened(opened, self.changes, self.mark, wanted)

    def page(self, first: int, last: int, wanted: Callable[[Phase, TurnMeta], bool]) -> list[ReadTurn]:
        """Return the turns `first` to `last`, all of them; the words only of those that are wanted."""
        return self._transcript.page(self.reader, self.head, first, last, wanted)

    def shown(self, first: int, last: int, view: View) -> list[ReadTurn]:
        """Return the turns `first` to `last` with all that a view needs: words, and attributes with their values."""
        return self._transcript.shown(self.reader, self.head, first, last, view)


def find(transcript: Transcript, reader: Reader, key: ConversationKey) -> Conversation | None:
    """Return a conversation, or None when the space has no such conversation."""
    stream = transcript.stream_of(reader, key)
    return None if stream is None else Conversation(transcript, reader, key, stream)


def opened(transcript: Transcript, reader: Reader, key: ConversationKey, *, at: str = "conversation") -> Conversation:
    """Return a conversation; raise `UnknownConversation` when the space has no such conversation."""
    conversation = find(transcript, reader, key)
    if conversation is None:
        raise UnknownConversation(at=at)
    return conversation


def shown_turns(
    conversation: Conversation,
    spans: Iterable[tuple[int, int]],
    view: View,
    detection: ViewDetection,
    budget: Budget = NO_BUDGET,
) -> tuple[list[SliceTurn], list[RedactionItem]]:
    """Return the turns of spans (first and last sequence) as a view shows them, and what is withheld of them."""
    turns: list[SliceTurn] = []
    items: list[RedactionItem] = []
    limits = (budget.host_refs_per_turn, budget.attributes_per_turn)
    for low, high in spans:
        for first in range(low, high + 1, TURNS_AT_A_TIME):
            for read in conversation.shown(first, min(high, first + TURNS_AT_A_TIME - 1), view):
                turn, withheld = cut(read.record, view, *limits, detection=detection)
                turns.append(turn)
                items += withheld
    return turns, items
