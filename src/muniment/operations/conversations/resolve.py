"""Resolve: from a name to a conversation.

What it means is the first of these that is there:

1. the conversation that the name is a chat id of, for a subject (in the channel that was given, or the default one);
2. the conversation whose id it is, in that channel;
3. the conversation that lists print like this: `channel/conversation`.

The first two are what a turn means that names a chat and no conversation.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import Corrupt, UnknownConversation
from muniment.events.identity import (
    Channel,
    ConversationId,
    ConversationKey,
    SubjectId,
    check_name,
    parse_spelled,
)
from muniment.log.port import Reader
from muniment.projections.transcript import Transcript


class NamedBy(StrEnum):
    """What a name was: the id of a chat, the id of a conversation, or channel and conversation."""

    CHAT = "chat"
    CONVERSATION = "conversation"
    CHANNEL_AND_CONVERSATION = "channel_and_conversation"


class ResolvedConversation(Struct, frozen=True, kw_only=True):
    """The conversation that a name means, and what the name was. `turns` counts all of them, whatever their state."""

    conversation: ConversationKey
    by: NamedBy
    turns: int


def resolve(session: Session, name: str, subject: SubjectId | None, channel: Channel) -> ResolvedConversation:
    """Return the conversation that a name means; raise `UnknownConversation` when there is none."""
    check_name(name, at="name")
    check_name(channel, at="channel")
    if subject is not None:
        check_name(subject, at="subject")
        session.access.require_subjects(subject)
    transcript, seen = session.space.transcript, session.seen
    with session.space.ledger.reader() as reader:
        meant: list[tuple[NamedBy, ConversationKey]] = []
        if subject is not None and (stream := transcript.stream_of_alias(reader, subject, channel, name)) is not None:
            meant.append((NamedBy.CHAT, key_of_stream(transcript, reader, stream)))
        meant.append((NamedBy.CONVERSATION, ConversationKey(conversation=ConversationId(name), channel=channel)))
        printed = parse_spelled(name)
        if printed is not None:
            key = ConversationKey(conversation=printed[1], channel=printed[0])
            meant.append((NamedBy.CHANNEL_AND_CONVERSATION, key))
        for by, key in meant:
            conversation = seen.find(reader, key)
            if conversation is not None:
                return ResolvedConversation(conversation=key, by=by, turns=len(conversation.sequences))
            if by is NamedBy.CHAT and transcript.stream_of(reader, key) is None:
                raise Corrupt(at="conversation", problem="lookup_missing")
    raise UnknownConversation(at="name")


def key_of_stream(transcript: Transcript, reader: Reader, stream: int) -> ConversationKey:
    """Return the names of the conversation that a stream holds."""
    row = reader.sealed(stream)
    if row is None:
        raise Corrupt(at=f"position {stream}", problem="rows_missing")
    names = transcript.names(row)
    return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
