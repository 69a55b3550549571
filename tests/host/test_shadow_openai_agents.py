"""Shadow mode of sessions of the OpenAI Agents SDK: of one that loses something, one that hangs, and ours."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import SQLiteSession

import muniment
from muniment import Runtime
from muniment.host import shadowed_call
from muniment.host.openai_agents import MunimentSession
from muniment.host.shadow import SESSION_CALLS, shadowed
from muniment.host.shadowed_call import DifferenceKind, shadow


def test_a_session_of_the_agents_sdk_is_shadowed() -> None:
    class Ours(SQLiteSession):
        """Stands in for an adapter of ours: it loses what is about tea."""

        def __init__(self, session_id: str, *, shadow_of: Any) -> None:
            super().__init__(session_id)
            shadow(self, shadow_of, SESSION_CALLS)

        async def add_items(self, items: list[Any]) -> None:
            await super().add_items([item for item in items if "tea" not in str(item)])

    async def run() -> None:
        old = SQLiteSession("talk")
        kept: Any = Ours("talk", shadow_of=old)
        assert isinstance(kept, SQLiteSession)
        assert list(inspect.signature(kept.get_items).parameters) == list(inspect.signature(old.get_items).parameters)
        items = [{"role": "user", "content": text} for text in ("coffee", "tea", "milk")]
        await kept.add_items(items)
        assert await kept.get_items() == items
        assert await kept.get_items(limit=1) == items[-1:]
        assert await kept.pop_item() == items[-1]
        [found] = kept.shadow.report().differences
        assert (found.kind, found.call, found.place, found.old) == (
            DifferenceKind.MISSING,
            "get_items",
            "[1]",
            items[1],
        )
        assert len(await kept.shadow.acompare("get_items")) == 1
        await kept.clear_session()
        assert await kept.get_items() == await old.get_items() == []
        assert await kept.shadow.acompare("get_items") == []

    asyncio.run(run())


def test_an_asynchronous_store_of_ours_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowed_call, "OURS_SECONDS_MAX", 0.05)

    class Ours(SQLiteSession):
        async def get_items(self, limit: int | None = None) -> Any:  # noqa: ARG002 - as the SDK names it
            await asyncio.sleep(3600)

    async def run() -> None:
        kept: Any = Ours("talk")
        shadow(kept, SQLiteSession("talk"), SESSION_CALLS)
        assert await asyncio.wait_for(kept.get_items(), 5) == []
        assert [one.reason for one in kept.shadow.report().differences] == ["TimeoutError"]

    asyncio.run(run())


def test_our_session_is_a_shadow_without_differences() -> None:
    async def run(runtime: Runtime) -> None:
        kept: Any = shadowed(MunimentSession("talk", runtime, subject="ada"), shadow_of=SQLiteSession("talk"))
        assert MunimentSession in type(kept).__mro__
        items = [{"role": "user", "content": text} for text in "abc"]
        await kept.add_items(items)
        await kept.add_items(items)
        assert await kept.get_items() == [*items, *items]
        assert await kept.get_items(2) == items[-2:]
        assert await kept.pop_item() == items[-1]
        assert len(await kept.get_items()) == 5
        await kept.clear_session()
        assert await kept.get_items() == []
        assert kept.shadow.report().same
        assert await kept.shadow.acompare("get_items") == []

    with muniment.open("memory:") as runtime:
        asyncio.run(run(runtime))
