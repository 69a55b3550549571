"""What a caller sees of a space: all of it, or the part that its access is kept to (decision 0191).

Two questions decide everything. Which conversations and turns are there (`find`, `opened`): a conversation in another
channel, or without a turn of the subject, is as one that does not exist, and the turns of others are as absent. And
what is listed (`catalogue`): the same fold over those turns alone. Whose turn one is never changes, so a turn that was
found to be there may be changed in a later state of the log.

Without bounds, nothing is asked and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from muniment.errors import MunimentError, UnknownConversation, UnknownPlace
from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.access import Access
from muniment.log.port import Reader
from muniment.projections.conversation import Conversation
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.conversation_list import ConversationList
from muniment.projections.suggestions import alike, asked_for
from muniment.space.options import Progress, no_progress
from muniment.space.space import Space


class SeenPart(Struct, frozen=True, kw_only=True):
    """The part of a space, which is open and sound, that an access shows."""

    space: Space
    access: Access
    progress: Progress = no_progress

    @contextmanager
    def catalogue(self) -> Iterator[CaughtUpCatalogue]:
        """Give the list of what is seen, and a reader of the same state; who else asks waits meanwhile."""
        access = self.access
        with self.space.catalogue.caught_up(self.progress) as caught:
            if not access.bounds:
                yield caught
                return
            yield caught._replace(listing=caught.listing.part(access.subject, access.channels))

    def find(
        self, reader: Reader, key: ConversationKey, listing: ConversationList | None = None
    ) -> Conversation | None:
        """Return a conversation, or None when nothing is seen of it.

        Whoever has the catalogue already gives the listing.
        """
        transcript, access = self.space.transcript, self.access
        stream = transcript.stream_of(reader, key)
        if stream is None or (access.channels is not None and key.channel not in access.channels):
            return None
        if access.subject is None:
            return Conversation(transcript, reader, key, stream)
        if listing is not None:
            own = _own_turns(listing, stream, access.subject)
        else:
            with self.space.catalogue.caught_up(self.progress) as caught:
                own = _own_turns(caught.listing, stream, access.subject)
        conversation = Conversation(transcript, reader, key, stream, own)
        while own and own[-1] > conversation.head.turns:  # committed since
            own.pop()
        return conversation if own else None

    def opened(
        self,
        reader: Reader,
        key: ConversationKey,
        listing: ConversationList | None = None,
        *,
        at: str = "conversation",
    ) -> Conversation:
        """Return a conversation; raise `UnknownConversation` when nothing is seen of it."""
        conversation = self.find(reader, key, listing)
        if conversation is None:
            raise UnknownConversation(at=at)
        return conversation

    def require(self, key: ConversationKey, turn: TurnId | None = None, *, at: str = "turn") -> None:
        """Refuse to write about a conversation of which nothing is seen, or about a turn that is not.

        Outside the transaction that writes, which finds out what is not there at all.
        """
        if not self.access.bounds:
            return
        with self.space.ledger.reader() as reader:
            conversation = self.opened(reader, key)
            if turn is not None and conversation.turn(turn) is None:
                raise UnknownPlace(at=at)

    def suggest(self, unknown: UnknownConversation, request: Struct) -> None:
        """Add conversations that a request may have meant, of those that are seen."""
        asked = asked_for(request)
        if asked is None:
            return
        try:
            self.space.require_sound()
            with self.catalogue() as caught:
                unknown.suggestions = alike(caught.listing, asked)
        except MunimentError:
            return  # that the conversation is unknown is the news


def _own_turns(listing: ConversationList, stream: int, subject: str) -> list[int]:
    person = listing.person(subject)
    if person is None or not listing.has(stream):
        return []
    return listing.conversation(stream).people.own_turns(person)
