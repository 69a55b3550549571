"""Conversations that somebody may have meant who named one that is not there.

First those of the same id in another channel, and what reads as `channel/conversation`; then those whose ids are alike,
of the most recent ones. Only what is listed is suggested.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

import msgspec
from msgspec import Struct

from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey
from muniment.governance.listing import LifecycleFilter
from muniment.projections.conversation_list import ConversationList

SUGGESTIONS_MAX = 3
COMPARED_MAX = 1000  # of the most recent conversations
LISTED_ANYHOW = LifecycleFilter.ACTIVE_AND_ARCHIVED


def asked_for(request: Struct) -> ConversationKey | None:
    """Return the conversation that a request names, or None."""
    members = msgspec.structs.asdict(request)
    for value in members.values():
        if isinstance(value, ConversationKey):
            return value
    for names in (members, *(msgspec.structs.asdict(value) for value in members.values() if isinstance(value, Struct))):
        conversation = names.get("conversation", names.get("name"))
        if isinstance(conversation, str):
            channel = names.get("channel") or DEFAULT_CHANNEL
            return ConversationKey(conversation=ConversationId(conversation), channel=Channel(channel))
    return None


def alike(listing: ConversationList, asked: ConversationKey) -> tuple[ConversationKey, ...]:
    """Return listed conversations whose names are like those that were asked for."""
    names = (asked.conversation, asked.conversation.partition("/")[2])
    listed = listing.entries(LISTED_ANYHOW, None, None, COMPARED_MAX)
    found: dict[ConversationKey, None] = {}
    by_folded: dict[str, list[ConversationKey]] = {}
    for entry in listed:
        key = ConversationKey(conversation=ConversationId(entry.conversation), channel=Channel(entry.channel))
        if entry.conversation in names:
            found[key] = None
        by_folded.setdefault(entry.conversation.casefold(), []).append(key)
    for key in _close(by_folded, asked.conversation.casefold()):
        found[key] = None
    return tuple(found)[:SUGGESTIONS_MAX]


def _close(by_folded: dict[str, list[ConversationKey]], asked: str) -> Iterator[ConversationKey]:
    for name in get_close_matches(asked, by_folded, SUGGESTIONS_MAX):
        yield from by_folded[name]
