"""Pydantic AI: a capability commits each run as a turn; the next run gets its history from the store."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import muniment
from muniment.host.pydantic_ai import EvidenceCapability, ModelMessageHistory

LINES = ["At the depot in Lyon.", "Tomorrow, before noon."]


def scripted(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Say the next line, in place of a model."""
    return ModelResponse(parts=[TextPart(LINES.pop(0))])


async def talk(runtime: Any) -> None:
    """Ask twice; the second run is told what was said in the first."""
    agent: Agent = Agent(FunctionModel(scripted), capabilities=[EvidenceCapability(runtime, subject="ada")])
    history = ModelMessageHistory(runtime, subject="ada", conversation="parcel-7")
    for question in ("Where is my parcel?", "When does it arrive?"):
        known = await history.messages()
        print((await agent.run(question, conversation_id="parcel-7", message_history=known)).output)
    assert len(await history.messages()) == 4


with muniment.open("memory:") as store:
    asyncio.run(talk(store))
