"""What an event of the log is to a caller: nothing, or one entry for each turn or item that it is about.

Entries are numbered, in ascending order: the number is the sequence of the turn or the number of the item, so that a
feed goes on in the middle of a large change. What the caller may not know of yields nothing, so that neither a count
nor a gap tells of it. Everything is judged as of now, by the view, the rights and the state of the turn or item, as a
page of a transcript or a list of items is.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.declaration.session import Session
from muniment.events.attributes import AttributeRecorded
from muniment.events.changes import REPLACED, Custody, Transition, TurnRedacted, TurnSpan
from muniment.events.disclosures import AccessRefused
from muniment.events.identity import message_id
from muniment.events.records import EventKind
from muniment.evidence.header import Header
from muniment.governance.views import SHOWS_ORIGIN
from muniment.log.port import EventRow, Reader, SealedRow
from muniment.operations.events.item_events import ItemEvents
from muniment.operations.events.numbered_event import NumberedEvent, entries_of
from muniment.operations.events.seen_turns import FeedScope, SeenTurn, SeenTurns
from muniment.operations.events.space_event import (
    MESSAGE_ERASED,
    OPERATOR_TOPICS,
    TOPICS,
    TURN_ERASED,
    EventTopic,
    SpaceEvent,
)
from muniment.projections.conversation import Conversation

ONLY_ENTRY = 1  # the number of an event that is about no turn and no item
CUSTODY = frozenset(Custody)
# kind -> the topics beside its own that its events may be of
SEVERAL_TOPICS: dict[str, frozenset[EventTopic]] = {
    EventKind.TURN_LIFECYCLE: frozenset({EventTopic.ERASURES, EventTopic.GOVERNANCE}),
    EventKind.ITEM_RETIRED: frozenset({EventTopic.ERASURES}),
}


class EventJudge:
    """Tells the events of one state of the log as one caller sees them through one view."""

    def __init__(self, session: Session, reader: Reader, scope: FeedScope) -> None:
        self._session = session
        self._space = session.space
        self._reader = reader
        self._view = scope.view
        self._topics = scope.topics
        self._others = scope.others
        self._turns = SeenTurns(session, reader, scope)
        self._items = ItemEvents(session, reader, scope.view)

    def is_news(self, row: EventRow) -> bool:
        """Tell whether an event may be news, by its kind and its stream alone."""
        if row.stream in self._others:
            return False
        topic, also = TOPICS.get(row.kind), SEVERAL_TOPICS.get(row.kind)
        if topic not in self._topics and (also is None or also.isdisjoint(self._topics)):
            return False
        return topic is not EventTopic.MEMORY or not self._items.is_of_others(row.stream)

    def told(self, position: int, after: int) -> Iterator[NumberedEvent]:
        """Yield the entries of an event whose numbers are greater than `after`."""
        row = self._reader.sealed(position)
        assert row is not None, "the same snapshot has listed it"
        header, _ = self._space.ledger.header(row)
        topic = _topic(row, header)
        if topic not in self._topics:
            return
        if topic in OPERATOR_TOPICS:
            yield from self._operation(row, header, topic, after)
        elif TOPICS[row.kind] is EventTopic.MEMORY:
            yield from self._items.told(row, header, topic, after)
        else:
            yield from self._of_turns(row, header, topic, after)

    # --- turns --------------------------------------------------------------------------------------------------------

    def _of_turns(self, row: SealedRow, header: Header, topic: EventTopic, after: int) -> Iterator[NumberedEvent]:
        """Tell a commit, or a change of one or more turns."""
        conversation, is_erasure = self._turns.conversation(row.stream), topic is EventTopic.ERASURES
        if conversation is None or not (is_erasure or self._turns.is_current(conversation)):
            return
        span = entries_of(row, header)
        is_provable = is_erasure and self._turns.sees_all(conversation, span)
        last = conversation.head.turns if span.last is None else span.last
        earlier = _earlier(conversation, row) if is_erasure and not span.is_single else []
        for turn in self._turns.turns(conversation, max(span.first, after + 1), last):
            if any(gone.includes(turn.sequence) for gone in earlier):
                continue
            told = self._erased(row, header, conversation, turn) if is_erasure else self._turn(row, header, turn)
            if told is not None:
                yield NumberedEvent(turn.sequence, told, is_provable)

    def _turn(self, row: SealedRow, header: Header, turn: SeenTurn) -> SpaceEvent | None:
        conversation = self._turns.conversation(row.stream)
        assert conversation is not None, "the turn is in it"
        meta = None if row.turn_seq is not None else self._space.ledger.open(row).meta
        if isinstance(meta, TurnRedacted) and self._view not in {*meta.views, *SHOWS_ORIGIN}:
            return None
        shown, withheld = self._turns.shown(conversation, turn.sequence)
        attribute = meta.attribute.id if isinstance(meta, AttributeRecorded) else None
        if attribute is not None and all(each.id != attribute for each in shown.attributes):
            return None
        return SpaceEvent(
            id="",
            type=str(row.kind),
            topic=EventTopic.TRANSCRIPT,
            position=row.position,
            time_ms=row.time,
            action=header.reason,
            channel=conversation.key.channel,
            conversation=conversation.key.conversation,
            turn=turn.turn,
            sequence=turn.sequence,
            message=_message(header, conversation, turn),
            attribute=attribute,
            shown=shown,
            withheld=withheld,
        )

    def _erased(self, row: SealedRow, header: Header, conversation: Conversation, turn: SeenTurn) -> SpaceEvent:
        message = _message(header, conversation, turn)
        return SpaceEvent(
            id="",
            type=TURN_ERASED if message is None else MESSAGE_ERASED,
            topic=EventTopic.ERASURES,
            position=row.position,
            time_ms=row.time,
            channel=conversation.key.channel,
            conversation=conversation.key.conversation,
            turn=turn.turn,
            sequence=turn.sequence,
            message=message,
            subject=turn.subject,
            leaf=row.leaf.hex(),
            replaced=REPLACED in header.refs or None,
        )

    # --- the space ----------------------------------------------------------------------------------------------------

    def _operation(self, row: SealedRow, header: Header, topic: EventTopic, after: int) -> Iterator[NumberedEvent]:
        """Tell what an operator looks at; the operations of its group say the rest about this position."""
        if after >= ONLY_ENTRY:
            return
        meta = self._space.ledger.open(row).meta
        conversation = self._turns.conversation(row.stream) if row.kind == EventKind.TURN_LIFECYCLE else None
        told = SpaceEvent(
            id="",
            type=str(row.kind),
            topic=topic,
            position=row.position,
            time_ms=row.time,
            action=header.reason,
            channel=None if conversation is None else conversation.key.channel,
            conversation=None if conversation is None else conversation.key.conversation,
            operation=meta.denial.operation if isinstance(meta, AccessRefused) else None,
        )
        yield NumberedEvent(ONLY_ENTRY, told)


def _topic(row: SealedRow, header: Header) -> EventTopic:
    """Return the topic of an event: of a change in the lifecycle, it depends on which one that is."""
    if row.kind in SEVERAL_TOPICS and header.reason == Transition.ERASE:
        return EventTopic.ERASURES
    if row.kind in SEVERAL_TOPICS and header.reason in CUSTODY:
        return EventTopic.GOVERNANCE
    return TOPICS[row.kind]


def _earlier(conversation: Conversation, row: SealedRow) -> list[TurnSpan]:
    """Return the turns that were erased before an erasure of several, which names them again."""
    return [erasure.span for erasure in conversation.changes.erasures if erasure.position < row.position]


def _message(header: Header, conversation: Conversation, turn: SeenTurn) -> str | None:
    place = header.refs.get("message")
    return None if place is None else message_id(conversation.mark, turn.turn, place)
