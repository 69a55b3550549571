"""Searching a whole space for a text."""

from __future__ import annotations

from functools import partial

from msgspec.structs import asdict

from muniment.declaration.session import Session
from muniment.errors import LimitExceeded
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey, TurnId
from muniment.governance.phases import MASKED_PHASES
from muniment.governance.redaction import withheld_from
from muniment.governance.views import View
from muniment.operations.page import binding
from muniment.operations.redactions.found_places import FoundPassage, PendingRedaction, SearchedSpace, SoughtText
from muniment.operations.redactions.matching import finder_of
from muniment.operations.redactions.occurrences import Extent, Occurrence, is_withheld, occurrences
from muniment.operations.transcripts.redact import Passage
from muniment.projections.conversation import TURNS_AT_A_TIME, Conversation, opened
from muniment.projections.conversation_catalogue import CaughtUpCatalogue

PLACES_MAX = 10_000  # of one search
PROGRESS_STAGE = "search"


def search_all(session: Session, sought: SoughtText, views: list[View]) -> SearchedSpace:
    """Search everything in scope, in one state of the log."""
    space, hidden_from = session.space, withheld_from(frozenset(views))
    find, detection = finder_of(sought.text, sought.matching), space.detection.view(View.RAW_OWNER)
    passages: list[FoundPassage] = []
    pending: list[PendingRedaction] = []
    masked = 0
    with space.catalogue.caught_up(session.progress) as caught:
        reader = caught.reader
        conversations = _in_scope(session, sought, caught)
        for done, conversation in enumerate(conversations):
            for first in range(1, conversation.head.turns + 1, TURNS_AT_A_TIME):
                last = min(conversation.head.turns, first + TURNS_AT_A_TIME - 1)
                for read in conversation.shown(first, last, View.RAW_OWNER):
                    record = read.record
                    masked += record.phase in MASKED_PHASES
                    place = partial(_passage, conversation.key, TurnId(record.meta.delivery.turn), record.sequence)
                    for one in occurrences(record, find, detection):
                        can_be = one.extent is not Extent.ATTRIBUTE
                        already = can_be and is_withheld(one.target, record.redactions, hidden_from)
                        passages.append(place(one, already=already))
                        if can_be and not already:
                            pending.append(PendingRedaction(conversation.stream, record.sequence, one.target))
                    if len(passages) > PLACES_MAX:
                        raise LimitExceeded(at="sought", problem="too_many_places", limit=PLACES_MAX)
            session.progress(PROGRESS_STAGE, done + 1, len(conversations))
        request = sought.spelled(hidden_from)
        return SearchedSpace(
            size=reader.frontier().size,
            bound=binding(session, reader, request),
            views=hidden_from,
            passages=passages,
            pending=pending,
            masked_turns=masked,
        )


def _in_scope(session: Session, sought: SoughtText, caught: CaughtUpCatalogue) -> list[Conversation]:
    transcript, reader = session.space.transcript, caught.reader
    if sought.conversation is not None:
        key = ConversationKey(conversation=sought.conversation, channel=sought.channel or DEFAULT_CHANNEL)
        return [opened(transcript, reader, key, at="sought.conversation")]
    listing = caught.listing
    streams = listing.streams() if sought.channel is None else listing.streams_of(sought.channel)
    names = {stream: listing.conversation(stream).names for stream in streams}
    keys = {
        stream: ConversationKey(conversation=ConversationId(name.conversation), channel=Channel(name.channel))
        for stream, name in names.items()
    }
    return [Conversation(transcript, reader, keys[stream], stream) for stream in streams]


def _passage(key: ConversationKey, turn: TurnId, sequence: int, one: Occurrence, *, already: bool) -> FoundPassage:
    return FoundPassage(
        conversation=key,
        turn=turn,
        sequence=sequence,
        extent=one.extent,
        passage=Passage(turn=turn, **asdict(one.target)),
        excerpt=one.excerpt,
        already=already,
        attribute=one.attribute,
    )
