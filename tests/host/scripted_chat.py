"""A chat model that follows rules instead of a network, and what its agents are tested with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

Rule = Callable[[Sequence[BaseMessage]], AIMessage]


def adds_or_echoes(messages: Sequence[BaseMessage]) -> AIMessage:
    """Ask for `add` when the user says "add", tell its result, and repeat anything else."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"It is {last.text}.")
    if isinstance(last, HumanMessage) and last.text.startswith("add"):
        return AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "call-1"}])
    return AIMessage(f"You said: {last.text}")


class ScriptedChat(BaseChatModel):
    """Answers by a rule, and keeps the prompts."""

    rule: Rule = adds_or_echoes
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> ScriptedChat:
        """Do nothing: the rule knows the tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.prompts.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.rule(messages))])


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
