"""The messages of a conversation as a `BaseChatMessageHistory`, which LangChain keeps for older programs."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from muniment.events.name_types import DEFAULT_CHANNEL
from muniment.events.turn import Turn
from muniment.host.histories.langchain_items import items_of, langchain_history, messages_of
from muniment.host.off_loop import off_loop
from muniment.runtime.runtime import Runtime


class EvidenceChatHistory(BaseChatMessageHistory):
    """The messages of one conversation, oldest first, exactly as they were added; what was redacted has markers.

    Each `add_messages` is one turn, durable when it returns; equal messages are added again. `clear` masks the turns
    that are there: nothing is destroyed, and `Runtime.lifecycle.erase` does that.
    """

    def __init__(self, store: Runtime, *, subject: str, conversation: str, channel: str = DEFAULT_CHANNEL) -> None:
        turn = Turn(turn="", subject=subject, messages=[], conversation=conversation, channel=channel)
        self._items = langchain_history(store, turn)

    @property
    def messages(self) -> list[BaseMessage]:  # as in the stores of LangChain
        """All messages."""
        return messages_of(self._items.newest())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages as one turn."""
        _ = self._items.append(items_of(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages as one turn; when the caller is cancelled, what has begun ends."""
        await off_loop(self.add_messages, messages)

    def clear(self) -> None:
        """Mask all turns that the conversation has now."""
        _ = self._items.clear()
