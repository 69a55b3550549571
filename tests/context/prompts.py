"""Prompts to test with: contexts read back without the code that made them, and conversations drawn at will."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st

from muniment.events.identity import ConversationId, TurnId
from muniment.events.message import Authority, BlobPart, Message, Part, ReasoningPart, Role, TextPart
from muniment.events.message import ToolCallPart as Call
from muniment.events.message import ToolCallResponsePart as Result
from muniment.events.turn import Delivery, Turn
from muniment.operations.context.prompt import Composition, Context, Gaps, Shape, SystemText
from tests.turns import SUBJECT, TALK


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()


# --- reading contexts back --------------------------------------------------------------------------------------------


def messages_of(context: Context) -> list[list[str]]:
    """Return the words of every message of a context, those of its field for system text among them."""
    reading = {Shape.OPENAI: openai_words, Shape.ANTHROPIC: anthropic_words, Shape.OTEL: otel_words}[context.shape]
    return [[block["text"]] for block in context.system] + [list(reading(each)) for each in context.messages]


def openai_words(message: dict[str, Any]) -> Iterator[str]:
    """Yield what a model reads of a message of an OpenAI chat."""
    content = message["content"]
    yield from [content] if isinstance(content, str) else [block.get("text", "") for block in content or []]
    for call in message.get("tool_calls", []):
        yield from (call["id"], call["function"]["name"], call["function"]["arguments"])
    if "tool_call_id" in message:
        yield message["tool_call_id"]


def anthropic_words(message: dict[str, Any]) -> Iterator[str]:
    """Yield what a model reads of a message to the Messages API."""
    for block in message["content"]:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_use":
            yield from (block["id"], block["name"], as_json(block["input"]))
        elif block["type"] == "tool_result":
            yield from (block["tool_use_id"], block["content"])


def otel_words(message: dict[str, Any]) -> Iterator[str]:
    """Yield what a model reads of a message in the OpenTelemetry vocabulary."""
    for part in message["parts"]:
        if part["type"] in {"text", "reasoning"}:
            yield part["content"]
        elif part["type"] == "tool_call":
            yield from (part["id"], part["name"], as_json(part["arguments"]))
        elif part["type"] == "tool_call_response":
            result = part["response"]
            yield from (part["id"], result if isinstance(result, str) else as_json(result))


def estimated(context: Context, overhead_tokens: int) -> int:
    """Return the estimate for a context by its definition: ceil(bytes of UTF-8 / 3.5), and an overhead a message."""
    sizes = [len("\n".join(words).encode()) for words in messages_of(context)]
    return sum(-(-size * 10 // 35) + overhead_tokens for size in sizes)


def pairs_of(context: Context) -> tuple[list[str], list[str]]:
    """Return the ids of the calls in a context and those of the results, each in their order."""
    calls: list[str] = []
    results: list[str] = []
    for message in context.messages:
        if context.shape is Shape.OPENAI:
            calls += [call["id"] for call in message.get("tool_calls", [])]
            results += [message["tool_call_id"]] if message["role"] == "tool" else []
            continue
        kinds = {"tool_use": "id", "tool_result": "tool_use_id", "tool_call": "id", "tool_call_response": "id"}
        for part in message.get("content", message.get("parts", [])):
            if part["type"] in kinds:
                (calls if part["type"] in {"tool_use", "tool_call"} else results).append(part[kinds[part["type"]]])
    return calls, results


# --- conversations ----------------------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
ids = st.sampled_from(["call-1", "call-2", "call 3", "x" * 50, None])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words, lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
text_blocks = st.lists(st.builds(lambda text: {"type": "text", "text": text}, words), min_size=1, max_size=2)
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, content=words),
    st.builds(ReasoningPart, content=words),
    st.builds(Call, name=st.sampled_from(["look", "a.b c", "ö" * 70]), id=ids, arguments=values),
    st.builds(Result, response=values | text_blocks, id=ids),
    st.builds(BlobPart, content=st.binary(max_size=4), mime_type=st.sampled_from(["image/png", "audio/wav", None])),
)
messages = st.builds(
    Message,
    role=st.sampled_from(Role),
    content=words | st.lists(parts, min_size=1, max_size=4),
    authority=st.sampled_from([None, None, None, Authority.SOUL_GOVERNANCE]),
)
compositions = st.builds(
    Composition,
    system=st.sampled_from(SystemText),
    gaps=st.sampled_from(Gaps),
    reference_percent=st.integers(0, 100),
    overhead_tokens=st.integers(0, 6),
    file_tokens=st.none() | st.integers(0, 30),
    begins=st.just(True),  # a history may be empty
)


def turn_of(number: int, *spoken: Message, conversation: str = TALK, delivery: Delivery = Delivery.DELIVERED) -> Turn:
    """Return a turn of these messages."""
    return Turn(
        turn=TurnId(f"turn-{number}"),
        subject=SUBJECT,
        conversation=ConversationId(conversation),
        delivery=delivery,
        messages=list(spoken),
    )


def called(*calls: Call, text: str = "") -> Message:
    """Return a message of the assistant that asks for calls."""
    said: list[Part] = [TextPart(content=text)] if text else []
    return Message(role=Role.ASSISTANT, content=[*said, *calls])


def returned(*results: Result) -> Message:
    """Return a message of tools."""
    return Message(role=Role.TOOL, content=list(results))
