"""Import formats: one table from the name of a format to the parser of an item.

An item is a line of JSON Lines, an element of a JSON list, or a whole JSON document (`items`). Each format has its
own module:

- `otel`: one message an item, its parts in the OpenTelemetry vocabulary;
- `openai`: chat messages, or a whole chat an item;
- `chatgpt`, `claude`: the conversations that these products export;
- `anthropic`: requests to the Messages API and their responses;
- `langchain`: messages, or a list of messages an item;
- `adk`: the SQLite database of sessions of Google's Agent Development Kit, an event an item;
- `agents`: the SQLite database of sessions of the OpenAI Agents SDK, a turn an item (`databases`);
- `langgraph`: the SQLite database of checkpoints of LangGraph, what a checkpoint adds an item.

The content of a part is never dropped: an unknown part is kept as JSON (see `parsed_item`), or its item is refused
(`otel`, `openai`). Other members of an item (token counts, names of models, indexes, titles) are not evidence of the
conversation and are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from muniment.errors import InvalidInput, MunimentError
from muniment.events.binding import parse_json
from muniment.events.turn import Protocol
from muniment.formats.reading.anthropic import anthropic, is_marked
from muniment.formats.reading.chatgpt import chatgpt
from muniment.formats.reading.claude import claude
from muniment.formats.reading.databases.adk import ADK, adk
from muniment.formats.reading.databases.agents import AGENTS, agents
from muniment.formats.reading.databases.database_items import DatabaseForm
from muniment.formats.reading.databases.langgraph import LANGGRAPH, langgraph
from muniment.formats.reading.langchain import langchain
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.openai import openai
from muniment.formats.reading.otel import otel
from muniment.formats.reading.parsed_item import ParsedItem


class Format(StrEnum):
    """The format of the items of a file; `auto` detects it from the first item that a format accepts."""

    AUTO = "auto"
    OTEL = "otel"
    OPENAI = "openai"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    ANTHROPIC = "anthropic"
    LANGCHAIN = "langchain"
    AGENTS = "agents"
    ADK = "adk"
    LANGGRAPH = "langgraph"


Parser = Callable[[bytes], ParsedItem]

PARSERS: dict[Format, Parser] = {
    Format.OTEL: otel,
    Format.CHATGPT: chatgpt,
    Format.CLAUDE: claude,
    Format.LANGCHAIN: langchain,
    Format.OPENAI: openai,
    Format.ANTHROPIC: anthropic,
    Format.AGENTS: agents,
    Format.ADK: adk,
    Format.LANGGRAPH: langgraph,
}
PROTOCOLS: dict[Format, Protocol] = {
    Format.OTEL: Protocol.NATIVE,
    Format.OPENAI: Protocol.OPENAI_CHAT,
    Format.CHATGPT: Protocol.NATIVE,
    Format.CLAUDE: Protocol.NATIVE,
    Format.ANTHROPIC: Protocol.NATIVE,
    Format.LANGCHAIN: Protocol.NATIVE,
    Format.AGENTS: Protocol.OPENAI_RESPONSES,
    Format.ADK: Protocol.NATIVE,
    Format.LANGGRAPH: Protocol.NATIVE,
}
DATABASES: dict[Format, DatabaseForm] = {
    Format.AGENTS: AGENTS,
    Format.ADK: ADK,
    Format.LANGGRAPH: LANGGRAPH,
}


def sniff(item: bytes) -> tuple[Format, ParsedItem]:
    """Return the first format that accepts an item, and the parsed item."""
    parse_json(item, msgspec.Raw, limit=ITEM_BYTES_MAX)  # every format is JSON
    for name in _candidates(item):
        try:
            return name, PARSERS[name](item)
        except MunimentError:
            continue
    raise InvalidInput(at="line", problem="unknown_format")


def _candidates(item: bytes) -> Iterator[Format]:
    """Yield the formats in the order of the attempts; items of `openai` and `anthropic` are similar."""
    try:
        marked = is_marked(item)
    except InvalidInput:
        return
    if marked:
        yield Format.ANTHROPIC
    yield from PARSERS
