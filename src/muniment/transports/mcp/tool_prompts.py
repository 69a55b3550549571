"""Prompts: what a person can start a conversation with, made of what the store holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mcp_types as types
from mcp.shared.exceptions import MCPError

from muniment.errors import MunimentError
from muniment.events.identity import SubjectId
from muniment.runtime.runtime import Runtime
from muniment.transports.mcp.resources import uri_of
from muniment.transports.mcp.tool_calls import NOTICE

BUDGET_TOKENS = 2000
QUOTES_MAX = 8


def _argument(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=True)


PROMPTS: dict[str, types.Prompt] = {
    "recall": types.Prompt(
        name="recall",
        title="Answer with what memory holds",
        description="Puts what memory holds of a subject before a question.",
        arguments=[_argument("subject", "Who memory is asked about."), _argument("question", "The question.")],
    ),
    "cite": types.Prompt(
        name="cite",
        title="Answer from what was said, with sources",
        description="Finds messages that answer a question, and asks for an answer that names them.",
        arguments=[_argument("question", "The question.")],
    ),
}


def got(runtime: Runtime, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Return the messages of a prompt; raises a protocol error for one that there is not, and for missing arguments."""
    prompt, make = PROMPTS.get(name), _MADE.get(name)
    if prompt is None or make is None:
        raise MCPError(types.INVALID_PARAMS, "No such prompt")
    wanted = [one.name for one in prompt.arguments or ()]
    if sorted(arguments) != sorted(wanted) or not all(value.strip() for value in arguments.values()):
        raise MCPError(types.INVALID_PARAMS, f"Wanted: {', '.join(wanted)}")
    try:
        text = make(runtime, arguments)
    except MunimentError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    return types.GetPromptResult(
        description=prompt.description,
        messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))],
    )


def _recall(runtime: Runtime, asked: Mapping[str, str]) -> str:
    block = runtime.memory.prompt(SubjectId(asked["subject"]), BUDGET_TOKENS, asked["question"])
    return f"{block.text}\n\n{asked['question']}" if block.text else asked["question"]


def _cite(runtime: Runtime, asked: Mapping[str, str]) -> str:
    found = runtime.transcripts.search(asked["question"], limit=QUOTES_MAX)
    quotes = [
        f"[{number}] {uri_of(hit.place.conversation)} turn {hit.place.turn}, {hit.role}: {hit.excerpt.text}"
        for number, hit in enumerate(found.hits, 1)
    ]
    told = "\n".join([NOTICE, *quotes]) if quotes else "The store has no message about this."
    return f"{told}\n\nAnswer from the messages above alone, and name their numbers.\n\n{asked['question']}"


_MADE: dict[str, Callable[[Runtime, Mapping[str, str]], str]] = {"recall": _recall, "cite": _cite}
