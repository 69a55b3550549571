"""Conversations and turns that a caller may know of, looked up for one page of a feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import Corrupt
from muniment.events.changes import TurnSpan
from muniment.events.identity import Channel, ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.records import ConversationOpened, TurnMeta
from muniment.governance.profiles import Budget
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.events.space_event import EventTopic
from muniment.projections.conversation import Conversation, shown_turns

BATCH = 500
FEW = 1000  # events that are looked at sooner than all conversations are


class FeedScope(NamedTuple):
    """What a feed is about, and how it is shown: the conversations of a channel, or one of them, or all.

    `others` are streams of conversations in which the caller has no turn; nothing of them is looked at.
    """

    view: View
    topics: frozenset[EventTopic]
    channel: Channel | None
    conversation: ConversationId | None
    budget: Budget
    others: frozenset[int] = frozenset()


def streams_of_others(session: Session, events: int) -> frozenset[int]:
    """Return the conversations in which a caller that is kept to a subject has no turn, before so many are looked at.

    The catalogue is at least as new as a state of the log that was read before, and whose a turn is never changes.
    """
    subject = session.access.subject
    if subject is None or events < FEW:
        return frozenset()
    with session.space.catalogue.caught_up(session.progress) as caught:
        listing = caught.listing
        person = listing.person(subject)
        return frozenset(
            stream for stream in listing.streams() if person not in listing.conversation(stream).people.owned
        )


class SeenTurn(NamedTuple):
    """A turn that the caller may know of."""

    turn: TurnId
    sequence: int
    subject: SubjectId | None


class SeenTurns:
    """The conversations of a space in one state of its log, as far as a caller sees them."""

    def __init__(self, session: Session, reader: Reader, scope: FeedScope) -> None:
        self._session = session
        self._space = session.space
        self._reader = reader
        self._scope = scope
        self._found: dict[int, Conversation | None] = {}
        self._shown: dict[tuple[int, int], tuple[SliceTurn, list[RedactionItem]]] = {}

    def conversation(self, stream: int) -> Conversation | None:
        """Return the conversation of a stream, or None where the caller does not see it; also a former one."""
        if stream not in self._found:
            self._found[stream] = self._opened(stream)
        return self._found[stream]

    def is_current(self, conversation: Conversation) -> bool:
        """Tell whether the conversation is still in this stream: no archive took its place."""
        return self._space.transcript.stream_of(self._reader, conversation.key) == conversation.stream

    def _opened(self, stream: int) -> Conversation | None:
        row = self._reader.sealed(stream)
        if row is None:
            raise Corrupt(at=f"stream {stream}", problem="rows_missing")
        meta = self._space.ledger.open(row).meta
        if not isinstance(meta, ConversationOpened):
            return None
        scope = self._scope
        is_wanted = scope.channel in {None, meta.channel} and scope.conversation in {None, meta.conversation}
        if not is_wanted or not self._session.access.shows_channel(meta.channel):
            return None
        key = ConversationKey(conversation=ConversationId(meta.conversation), channel=Channel(meta.channel))
        return Conversation(self._space.transcript, self._reader, key, stream)

    def turns(self, conversation: Conversation, first: int, last: int) -> Iterator[SeenTurn]:
        """Yield the turns of a range that the caller may know of; their words are not read."""
        access = self._session.access
        for start in range(first, last + 1, BATCH):
            rows = self._reader.turns(conversation.stream, start, min(last, start + BATCH - 1))
            for opened in self._space.ledger.open_turns(rows):
                assert isinstance(opened.meta, TurnMeta), "rows of turns have this body"
                subject = opened.meta.actor.subject
                if access.shows_subject(subject):
                    whose = None if subject is None else SubjectId(subject)
                    yield SeenTurn(TurnId(opened.meta.delivery.turn), opened.row.turn_seq or 0, whose)

    def sees_all(self, conversation: Conversation, span: TurnSpan) -> bool:
        """Tell whether the caller may know of every turn of a span; of a long one only who is not kept to a subject."""
        last = conversation.head.turns if span.last is None else span.last
        if self._session.access.subject is None:
            return True
        count = last - span.first + 1
        return count <= BATCH and sum(1 for _ in self.turns(conversation, span.first, last)) == count

    def shown(self, conversation: Conversation, sequence: int) -> tuple[SliceTurn, list[RedactionItem]]:
        """Return a turn as the view shows it now, and what is withheld of it."""
        place = (conversation.stream, sequence)
        if place not in self._shown:
            view = self._scope.view
            detection = self._space.detection.view(view)
            turns, items = shown_turns(conversation, [(sequence, sequence)], view, detection, self._scope.budget)
            self._shown[place] = turns[0], items
        return self._shown[place]
