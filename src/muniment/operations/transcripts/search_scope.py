"""The scope of a search: the conversations that it names, as streams of the log."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import UnknownConversation
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey
from muniment.governance.listing import LISTED
from muniment.governance.phases import Phase
from muniment.log.port import Reader
from muniment.operations.transcripts.hits import SearchScope
from muniment.search.filters import ResolvedScope
from muniment.search.query import FilterName, Query
from muniment.space.seen_part import SeenPart


def resolved_scope(session: Session, within: SearchScope, query: Query, reader: Reader) -> ResolvedScope:
    """Return a scope with the streams of the conversations that it and the query name; raises for an unknown one."""
    channel, streams = within.channel or DEFAULT_CHANNEL, None
    if within.conversation is not None:
        stream = _stream(session.seen, reader, within.conversation, channel)
        if stream is None:
            raise UnknownConversation(at="within.conversation")
        streams = frozenset({stream})
    elif within.channel is not None or session.access.channels is not None:
        with session.seen.catalogue() as caught:
            listing = caught.listing
            streams = frozenset(listing.streams() if within.channel is None else listing.streams_of(within.channel))
    names = [part.text for part in query.filters if part.name is FilterName.IN]
    return ResolvedScope(
        streams=streams,
        named={name: _named(session.seen, reader, name, channel) for name in names} if names else {},
        role=within.role,
        speaker=within.speaker,
        from_ms=within.from_ms,
        until_ms=within.until_ms,
        archived=Phase.ARCHIVED in LISTED[within.lifecycle],
    )


def _named(seen: SeenPart, reader: Reader, name: str, channel: str) -> int:
    """Return the stream of a conversation that a query names, as `conversation` or `channel/conversation`."""
    stream = _stream(seen, reader, name, channel)
    other_channel, slash, conversation = name.partition("/")
    if stream is None and slash:
        stream = _stream(seen, reader, conversation, other_channel)
    if stream is None:
        raise UnknownConversation(at="query")
    return stream


def _stream(seen: SeenPart, reader: Reader, conversation: str, channel: str) -> int | None:
    key = ConversationKey(conversation=ConversationId(conversation), channel=Channel(channel))
    found = seen.find(reader, key)
    return None if found is None else found.stream
