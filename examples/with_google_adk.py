"""Google ADK: a session service keeps every event as a turn; a deleted session is erased, with a receipt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.genai.types import Content, Part

import muniment
from muniment.host.adk_sessions import MunimentSessions


class Scripted(BaseLlm):
    """Say the lines of a script, in place of a model."""

    lines: list[str]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        """Say the next line."""
        yield LlmResponse(content=Content(role="model", parts=[Part(text=self.lines.pop(0))]))


async def talk(sessions: MunimentSessions) -> None:
    """Ask twice, read the session back, and delete it."""
    who = {"app_name": "shop", "user_id": "ada", "session_id": "parcel-7"}
    model = Scripted(model="scripted", lines=["At the depot in Lyon.", "Tomorrow, before noon."])
    runner = Runner(app_name="shop", agent=LlmAgent(name="desk", model=model), session_service=sessions)
    await sessions.create_session(**who)
    for question in ("Where is my parcel?", "When does it arrive?"):
        asked = Content(role="user", parts=[Part(text=question)])
        async for event in runner.run_async(user_id="ada", session_id="parcel-7", new_message=asked):
            print(event.content.parts[0].text)
    session = await sessions.get_session(**who)
    assert session is not None
    assert len(session.events) == 4
    await sessions.delete_session(**who)
    assert await sessions.get_session(**who) is None


logging.getLogger("google_adk").setLevel(logging.ERROR)  # a script counts no tokens
with muniment.open("memory:") as runtime:
    asyncio.run(talk(MunimentSessions(runtime)))
