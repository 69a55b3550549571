"""OpenAI Agents SDK: two runs share a session; then the store tells what was said, and one item is taken back."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import muniment
from muniment import ConversationKey
from muniment.host.openai_agents import MunimentSession


class Scripted(Model):
    """Say the lines of a script, in place of a model."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        """Say the next line."""
        text = ResponseOutputText(type="output_text", text=self._lines.pop(0), annotations=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Refuse: the script is not streamed."""
        raise NotImplementedError


async def talk(session: MunimentSession) -> None:
    """Ask twice; the second run is told what was said in the first."""
    agent = Agent(name="desk", model=Scripted("At the depot in Lyon.", "Tomorrow, before noon."))
    for question in ("Where is my parcel?", "When does it arrive?"):
        print((await Runner.run(agent, question, session=session)).final_output)
    assert len(await session.get_items()) == 4
    await session.pop_item()
    assert len(await session.get_items()) == 3


set_tracing_disabled(True)
with muniment.open("memory:") as runtime:
    asyncio.run(talk(MunimentSession("parcel-7", runtime, subject="ada")))
    page = runtime.transcripts.replay(ConversationKey(conversation="parcel-7"))
    print(f"{len(page.turns)} turns; what was popped is hidden, and can still be proved")
