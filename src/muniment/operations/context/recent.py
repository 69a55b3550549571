"""The newest turns of a conversation, read until a budget is full, and the system text with which it begins.

Turns are read from the newest on in one snapshot of the log, and a little further than fits, so that calls and results
that belong together are seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import UnknownConversation
from muniment.events.records import TurnMeta
from muniment.governance.judgement import needs_content
from muniment.governance.listing import spans
from muniment.governance.phases import Phase
from muniment.log.port import StreamHead
from muniment.operations.context.cost import Meter, RemainingBudget
from muniment.operations.context.fit import Fitted, Rules, fit, system_lines
from muniment.operations.context.pairs import PAIR_TURNS_MAX, Unit, units
from muniment.operations.context.prompt import CONTEXT_TURNS_MAX, MissingReason, PromptRequest, SystemText
from muniment.operations.context.prompt_lines import TurnLines, collapse_markers, is_wanted, turn_lines
from muniment.operations.context.shapes import WRITINGS, ShapeFormat
from muniment.projections.conversation import Conversation
from muniment.space.space import Space

BATCH_TURNS = 32  # read at first; each further batch is twice as large, until one has more than fit


class Layout(NamedTuple):
    """A context to fill: the request, how its lines are counted, and the whole budget."""

    request: PromptRequest
    meter: Meter
    budget: RemainingBudget

    @property
    def shape(self) -> ShapeFormat:
        """How the messages are written."""
        return WRITINGS[self.request.shape]

    def without(self, system: Sequence[str]) -> RemainingBudget:
        """Return the budget without some system text."""
        return self.budget.without(self.meter.cost(system_lines(system)).room)


class Recent(NamedTuple):
    """The newest turns as units, as many as were read; nothing for a conversation that begins.

    `leaves` are those of the turns by sequence; `system` is the system text that is in whatever turns fit, or
    `system_miss` why there is none.
    """

    conversation: Conversation | None
    system_miss: MissingReason
    system: tuple[str, ...] = ()
    units: Sequence[Unit] = ()
    leaves: Mapping[int, bytes] = {}

    @property
    def turns(self) -> int:
        """How many turns the conversation has."""
        return 0 if self.conversation is None else len(self.conversation.sequences)

    @property
    def head(self) -> StreamHead | None:
        """The head of the conversation."""
        return None if self.conversation is None else self.conversation.head

    def before(self, sequence: int) -> int:
        """Return how many turns there are before a sequence."""
        return 0 if self.conversation is None else bisect_left(self.conversation.sequences, sequence)

    def first(self, fitted: Fitted) -> int:
        """Return the sequence of the oldest turn that fits; one after the last when none does."""
        fitting = self.units[fitted.first :]
        if fitting or self.conversation is None:
            return fitting[0].turns[0].sequence if fitting else 1
        return self.conversation.head.turns + 1

    def fit(self, layout: Layout, room: RemainingBudget) -> Fitted:
        """Return how many of the units fit into a part of the budget."""
        return fit(self.units, room, Rules(layout.meter, layout.shape.user_first, self.system))


def read_recent(session: Session, layout: Layout) -> Recent:
    """Read turns from the newest on until there are more than fit, and the system text of the first one."""
    request, leaves, space = layout.request, dict[int, bytes](), session.space
    keeps_system = request.composition.system is SystemText.KEEP
    recent = Recent(None, MissingReason.NOTHING_THERE if keeps_system else MissingReason.NOT_ASKED)
    with space.ledger.reader() as reader:
        conversation = session.seen.find(reader, request.conversation)
        if conversation is None and request.composition.begins:
            return recent
        if conversation is None:
            raise UnknownConversation(at="conversation")
        recent = recent._replace(conversation=conversation, leaves=leaves)
        sequences, read = conversation.sequences, partial(_read, space, request, conversation, leaves)
        if keeps_system and sequences:
            system = tuple(dict.fromkeys(text for turn in read(sequences[:1]) for text in turn.system))
            if layout.budget.holds(layout.meter.cost(system_lines(system))):
                recent = recent._replace(system=system)
            else:
                recent = recent._replace(system_miss=MissingReason.NO_ROOM)
        room, carries = (
            layout.without(recent.system),
            layout.shape.carries(files=request.composition.file_tokens is not None),
        )
        turns: list[TurnLines] = []
        first, batch = len(sequences), BATCH_TURNS
        while True:
            last, first = first, max(0, first - batch)
            turns = [*read(sequences[first:last]), *turns]
            recent = recent._replace(units=units(collapse_markers(turns), carries))
            oldest = recent.before(recent.first(recent.fit(layout, room)))
            if first == 0 or oldest - first >= PAIR_TURNS_MAX or len(turns) >= CONTEXT_TURNS_MAX:
                return recent
            batch = PAIR_TURNS_MAX if oldest > first else 2 * batch


def _read(
    space: Space,
    request: PromptRequest,
    conversation: Conversation,
    leaves: dict[int, bytes],
    sequences: Sequence[int],
) -> list[TurnLines]:
    def needed(phase: Phase, meta: TurnMeta) -> bool:
        return is_wanted(phase, request.composition) and needs_content(request.view, phase, meta)

    page = [read for first, last in spans(sequences) for read in conversation.page(first, last, needed)]
    leaves.update((read.record.sequence, read.opened.row.leaf) for read in page)
    detection = space.detection.view(request.view)
    return [turn_lines(read.record, request.view, detection, request.composition) for read in page]
