"""Shadow mode of chat histories of LangChain."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the group `host-langchain` is not installed")

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage

from muniment.host.shadow import CHAT_HISTORY_CALLS
from muniment.host.shadowed_call import DifferenceKind, shadow


def test_a_chat_history_of_langchain_is_shadowed() -> None:
    class Ours(BaseChatMessageHistory):
        def __init__(self, shadow_of: Any = None) -> None:
            self.kept: list[Any] = []
            if shadow_of is not None:
                shadow(self, shadow_of, CHAT_HISTORY_CALLS)

        @property
        def messages(self) -> list[Any]:
            return list(self.kept)

        def add_messages(self, messages: Any) -> None:
            self.kept += messages

        def clear(self) -> None:
            self.kept = []

    async def run() -> None:
        kept: Any = Ours(shadow_of=Ours())
        kept.add_user_message("tea")
        await kept.aadd_messages([AIMessage("milk")])
        assert [one.content for one in kept.messages] == ["tea", "milk"]
        assert kept.shadow.report().same
        kept.shadow.ours.kept.pop()
        await kept.aget_messages()
        [found] = kept.shadow.report().differences
        assert (found.kind, found.place) == (DifferenceKind.MISSING, "[1]")

    asyncio.run(run())
