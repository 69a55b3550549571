"""The messages of a context as words, whatever interface they are for: who says what, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from muniment.operations.context.prompt import Context

Block = dict[str, Any]


def told_messages(context: Context) -> Iterator[tuple[str, list[str]]]:
    """Yield who says each message and what, system text that stands in a field of its own first."""
    for block in context.system:
        yield "system", [block["text"]]
    for message in context.messages:
        content = message.get("content", message.get("parts"))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        calls = [{"type": "function", **call} for call in message.get("tool_calls", [])]
        yield message["role"], [_words(block) for block in [*blocks, *calls]]


def _words(block: Block) -> str:
    tell = BLOCKS.get(block["type"])
    return f"({block['type']})" if tell is None else tell(block)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# type of a block, in any of the shapes -> its words
BLOCKS: dict[str, Callable[[Block], str]] = {
    "text": lambda block: _json(block.get("text", block.get("content"))),
    "reasoning": lambda block: f"(thinks) {block['content']}",
    "function": lambda block: f"calls {block['function']['name']} {block['function']['arguments']}",
    "tool_use": lambda block: f"calls {block['name']} {_json(block['input'])}",
    "tool_call": lambda block: f"calls {block['name']} {_json(block['arguments'])}",
    "tool_result": lambda block: f"returned {block['content']}",
    "tool_call_response": lambda block: f"returned {_json(block['response'])}",
}
