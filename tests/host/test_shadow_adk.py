"""Shadow mode of session services of Google's Agent Development Kit: of one that loses a session, and of ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService, InMemorySessionService

import muniment
from muniment import Runtime
from muniment.host.adk_sessions import MunimentSessions
from muniment.host.shadow import SESSION_SERVICE_CALLS, shadowed
from muniment.host.shadowed_call import DifferenceKind, shadow


def test_a_session_service_of_google_adk_is_shadowed() -> None:
    """Appending changes the session that it is given: each service appends to its own."""

    async def run() -> None:
        kept: Any = InMemorySessionService()
        shadow(kept, InMemorySessionService(), SESSION_SERVICE_CALLS)
        made = await kept.create_session(app_name="app", user_id="ada", state={"count": 1})
        for number in range(3):
            await kept.append_event(made, Event(author="user", invocation_id=str(number)))
        assert len(made.events) == 3
        name = {"app_name": "app", "user_id": "ada", "session_id": made.id}
        assert len((await kept.get_session(**name)).events) == 3
        assert [one.id for one in (await kept.list_sessions(app_name="app", user_id="ada")).sessions] == [made.id]
        assert kept.shadow.report().same
        await kept.shadow.ours.delete_session(**name)
        await kept.get_session(**name)
        [found] = kept.shadow.report().differences
        assert (found.kind, found.call) == (DifferenceKind.MISSING, "get_session")

    asyncio.run(run())


def test_our_session_service_is_the_shadow_of_one_in_a_database() -> None:
    """What the old service notes in a session to know what it has stored says nothing to ours."""

    async def run(runtime: Runtime) -> None:
        old = DatabaseSessionService("sqlite+aiosqlite:///:memory:")
        kept: Any = shadowed(MunimentSessions(runtime), shadow_of=old)
        made = await kept.create_session(app_name="app", user_id="ada")
        for number in range(2):
            await kept.append_event(made, Event(author="user", invocation_id=str(number)))
        again = await kept.get_session(app_name="app", user_id="ada", session_id=made.id)
        await kept.append_event(session=again, event=Event(author="user", invocation_id="2"))
        again = await kept.get_session(app_name="app", user_id="ada", session_id=made.id)
        assert len(again.events) == 3
        assert kept.shadow.report().differences == []
        assert kept.shadow.report().same
        await old.close()

    with muniment.open("memory:") as runtime:
        asyncio.run(run(runtime))
