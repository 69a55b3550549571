"""All conversations of a channel, for adapters that list what is in them."""

from __future__ import annotations

from muniment.errors import CursorStale
from muniment.events.identity import ConversationKey
from muniment.governance.listing import LifecycleFilter
from muniment.operations.conversations.listed import ConversationFilter
from muniment.runtime.runtime import Runtime

PAGE_CONVERSATIONS = 100
ALL = ConversationFilter()


def conversations_of_channel(
    runtime: Runtime, channel: str, lifecycle: LifecycleFilter, only: ConversationFilter = ALL
) -> list[ConversationKey]:
    """Return the conversations of a channel, in a state of the store that held still while they were listed."""
    while True:
        found, cursor = list[ConversationKey](), None
        try:
            while True:
                page = runtime.conversations.list_(channel, lifecycle, PAGE_CONVERSATIONS, cursor, only)
                found += [
                    ConversationKey(conversation=entry.conversation, channel=entry.channel)
                    for entry in page.conversations
                ]
                if (cursor := page.next_cursor) is None:
                    return found
        except CursorStale:  # others wrote meanwhile
            continue
