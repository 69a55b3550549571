"""Memory of Google's Agent Development Kit: found by its words, once, until it is deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

import muniment
from muniment import RedactionReason, Runtime, View
from muniment.host.adk_memory import MunimentMemory
from muniment.host.histories.adk_places import memory_like
from muniment.host.histories.item_history import ItemHistory
from muniment.operations.transcripts.redact import Passage
from tests.host.adk import APP, USER, run, said


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


async def found(service: MunimentMemory, query: str, user: str = USER, app: str = APP) -> list[MemoryEntry]:
    """Search."""
    entries: list[MemoryEntry] = (await service.search_memory(app_name=app, user_id=user, query=query)).memories
    return entries


def words(entries: list[MemoryEntry]) -> list[str | None]:
    """Return what memories say."""
    return [part.text for entry in entries for part in entry.content.parts or []]


def talk() -> Session:
    """Return a session about lamps and chairs."""
    events = [
        said("The lamp is green.", at=1_700_000_000.0),
        said("I have noted the green lamp.", "clerk"),
        said("Chairs?"),
    ]
    return Session(id="s", app_name=APP, user_id=USER, events=events)


def test_what_was_added_is_found_once_and_by_its_user_alone(runtime: Runtime) -> None:
    async def play() -> None:
        service, session = MunimentMemory(runtime), talk()
        assert await found(service, "lamp") == []
        for _ in range(2):
            await service.add_session_to_memory(session)
        entries = await found(service, 'Which -lamp is "from: green?')
        assert sorted(map(str, words(entries))) == ["I have noted the green lamp.", "The lamp is green."]
        first = next(entry for entry in entries if entry.author == "user")
        assert (first.id, first.timestamp) == (session.events[0].id, "2023-11-14T22:13:20+00:00")
        assert await found(service, "lamp", user="bob") == []
        assert await found(service, "lamp", app="other") == []
        assert await found(service, "?!") == []

    run(play())


def test_events_and_memories_are_added_one_by_one(runtime: Runtime) -> None:
    async def play() -> None:
        service = MunimentMemory(runtime)
        await service.add_events_to_memory(
            app_name=APP, user_id=USER, events=[said("A red chair."), said("")], custom_metadata={"ttl": 5}
        )
        content = types.Content(role="user", parts=[types.Part(text="A blue chair.")])
        memory = MemoryEntry(id="m1", content=content, author="notes", timestamp="2026-01-02T03:04:05+00:00")
        for _ in range(2):
            await service.add_memory(app_name=APP, user_id=USER, memories=[memory])
        entries = {entry.author: entry for entry in await found(service, "chair")}
        assert entries["user"].custom_metadata == {"ttl": 5}
        assert entries["notes"] == memory

    run(play())


def test_a_deleted_memory_does_not_come_back(runtime: Runtime) -> None:
    async def play() -> None:
        service, session = MunimentMemory(runtime), talk()
        await service.delete_memory(app_name=APP, user_id=USER, memory_id="nothing")
        await service.add_session_to_memory(session)
        await service.delete_memory(app_name=APP, user_id=USER, memory_id=session.events[0].id)
        await service.add_session_to_memory(session)
        assert words(await found(service, "lamp")) == ["I have noted the green lamp."]

    run(play())


def test_what_the_model_may_not_see_is_not_found(runtime: Runtime) -> None:
    async def play() -> None:
        service, session = MunimentMemory(runtime), talk()
        await service.add_session_to_memory(session)
        key = ItemHistory(runtime, memory_like(APP, USER)).key
        passage = Passage(turn=session.events[0].id, message=0, part=0, start=12, end=17)
        runtime.transcripts.redact(key, passage, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada")
        assert "The lamp is [redacted: legal]." in words(await found(service, "lamp"))
        assert words(await found(service, "green")) == ["I have noted the green lamp."]

    run(play())


@pytest.mark.parametrize(
    "query", ["a b", "I?", "x" * 3000, " ".join(f"word{number}" for number in range(900)), "AND OR NOT", "from:ada\0 -"]
)
def test_any_message_is_a_question(runtime: Runtime, query: str) -> None:
    """ADK searches with what a user has written, whatever that is; a long one by its end."""

    async def play() -> None:
        service = MunimentMemory(runtime)
        assert await found(service, query) == []
        await service.add_session_to_memory(talk())
        assert await found(service, query) == []
        assert len(await found(service, f"{query} about the lamp")) == 2

    run(play())
