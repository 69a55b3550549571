"""Events, agents and services for tests of what adapts Google's Agent Development Kit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.genai import types

APP, USER = "shop", "ada"
T = TypeVar("T")


def run(awaited: Coroutine[Any, Any, T]) -> T:
    """Run to the end."""
    return asyncio.run(awaited)


def said(text: str, by: str = "user", *, at: float | None = None, **delta: Any) -> Event:
    """Return an event in which somebody says something and sets state; `__` in a name stands for a colon."""
    state = {key.replace("__", ":"): value for key, value in delta.items()}
    content = types.Content(role="user" if by == "user" else "model", parts=[types.Part(text=text)])
    moment = {} if at is None else {"timestamp": at}
    return Event(author=by, invocation_id="e-1", content=content, actions=EventActions(state_delta=state), **moment)


async def begun(service: BaseSessionService, name: str = "s", **state: Any) -> Any:
    """Create a session."""
    given_state = {key.replace("__", ":"): value for key, value in state.items()}
    return await service.create_session(app_name=APP, user_id=USER, session_id=name, state=given_state)


async def read(service: BaseSessionService, session: Session) -> Session | None:
    """Return a session as it is stored."""
    return await service.get_session(app_name=session.app_name, user_id=session.user_id, session_id=session.id)


def texts(session: Session | None) -> list[str | None]:
    """Return what is said in a session."""
    assert session is not None
    return [part.text for event in session.events if event.content for part in event.content.parts or []]


class ScriptedModel(BaseLlm):
    """A model that says what it is told to say, one answer after the other."""

    answers: list[types.Part]
    asked: list[list[str]]

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        """Say the next answer; streaming, first a partial one."""
        heard = [part.text for content in llm_request.contents for part in content.parts or [] if part.text]
        self.asked.append(heard)
        await asyncio.sleep(0)
        part = self.answers.pop(0)
        if stream and part.text:
            begun = types.Content(role="model", parts=[types.Part(text=part.text[:1])])
            yield LlmResponse(content=begun, partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def called(name: str, **args: Any) -> types.Part:
    """Return the call of a tool."""
    return types.Part(function_call=types.FunctionCall(id=f"call-{name}", name=name, args=args))


def runner_of(
    service: BaseSessionService, answers: list[types.Part], *tools: Callable[..., Any], **more: Any
) -> Runner:
    """Return a runner with an agent that says these things."""
    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel(model="scripted", answers=answers, asked=[]),
        tools=list(tools),
        output_key="answer",
    )
    return Runner(app_name=APP, agent=agent, session_service=service, **more)


async def ask(runner: Runner, session: str, text: str, user: str = USER) -> list[Event]:
    """Say something to an agent, and return what comes of it."""
    message = types.Content(role="user", parts=[types.Part(text=text)])
    return [event async for event in runner.run_async(user_id=user, session_id=session, new_message=message)]
