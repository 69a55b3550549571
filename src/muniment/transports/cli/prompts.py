"""Prompts on a page: who says what, block by block, whatever interface the messages are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from muniment.operations.context.prompt import Context
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle
from muniment.transports.cli.scalars import tell_budget
from muniment.transports.cli.struct_page import members

Block = dict[str, Any]


def tell_context(context: Context, page: OutputPage) -> None:
    """Write the messages of a prompt, then what they cost and what was left out."""
    for role, words in told_messages(context):
        page.line(StyledText(role, TextStyle.STRONG))
        for line in words:
            page.line(StyledText(line), indent=2)
    of_all = f"turns {context.turns} of {context.turns + context.turns_before}"
    bound = "" if context.cut_by is None else f"cut by {context.cut_by}"
    page.line(
        StyledText(f"view {context.view}"),
        StyledText(f"shape {context.shape}"),
        StyledText(of_all),
        StyledText(bound, TextStyle.FAINT),
    )
    counted = {"withheld": context.withheld, "left out": context.left_out}
    page.facts(
        [
            ("tokens", StyledText(f"{context.tokens:,} of {context.budget_tokens:,}, counted by {context.counter}")),
            *(
                (section.part, StyledText(f"{section.tokens:,}" if section.miss is None else section.miss))
                for section in context.sections
            ),
            *((name, StyledText(members(counts))) for name, counts in counted.items() if counts),
            *([] if context.recorded is None else [("recorded", StyledText(f"{context.recorded:,}"))]),
        ]
    )
    tell_budget(context.budget_applied, page)


def told_messages(context: Context) -> Iterator[tuple[str, list[str]]]:
    """Yield the role and the blocks of each message; system text that has a field of its own comes first."""
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


# type of a block, in any of the shapes -> its text
BLOCKS: dict[str, Callable[[Block], str]] = {
    "text": lambda block: _json(block.get("text", block.get("content"))),
    "reasoning": lambda block: f"(reasoning) {block['content']}",
    "function": lambda block: f"calls {block['function']['name']} {block['function']['arguments']}",
    "tool_use": lambda block: f"calls {block['name']} {_json(block['input'])}",
    "tool_call": lambda block: f"calls {block['name']} {_json(block['arguments'])}",
    "tool_result": lambda block: f"returned {block['content']}",
    "tool_call_response": lambda block: f"returned {_json(block['response'])}",
}
