"""How files are to be read: one table from the name of a format to the parser of an item.

An item is a line of JSON Lines, an element of a JSON list, or a whole JSON document (`items`). Each format has a file
of its own that says what its items are:

- `otel`: one message an item, its parts in the OpenTelemetry vocabulary;
- `openai`: chat messages, or a whole chat an item;
- `chatgpt`, `claude`: the conversations that these products export;
- `anthropic`: requests to the Messages API and their responses;
- `langchain`: messages, or a list of messages an item.

What a part says is never dropped: where a part is not understood its item is refused (`otel`, `openai`) or it is kept
as JSON (the others, see `spoken`). Members beside the message (token counts, names of models, indexes, titles) are not
evidence of what was said, and are passed over.
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
from muniment.formats.reading.langchain import langchain
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.openai import openai
from muniment.formats.reading.otel import otel
from muniment.formats.reading.parsed_item import ParsedItem


class Format(StrEnum):
    """How the items of a file are to be read; `auto` goes by the first item that is understood."""

    AUTO = "auto"
    OTEL = "otel"
    OPENAI = "openai"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    ANTHROPIC = "anthropic"
    LANGCHAIN = "langchain"


Parser = Callable[[bytes], ParsedItem]

PARSERS: dict[Format, Parser] = {
    Format.OTEL: otel,
    Format.CHATGPT: chatgpt,
    Format.CLAUDE: claude,
    Format.LANGCHAIN: langchain,
    Format.OPENAI: openai,
    Format.ANTHROPIC: anthropic,
}
PROTOCOLS: dict[Format, Protocol] = {
    Format.OTEL: Protocol.NATIVE,
    Format.OPENAI: Protocol.OPENAI_CHAT,
    Format.CHATGPT: Protocol.NATIVE,
    Format.CLAUDE: Protocol.NATIVE,
    Format.ANTHROPIC: Protocol.NATIVE,
    Format.LANGCHAIN: Protocol.NATIVE,
}


def sniff(item: bytes) -> tuple[Format, ParsedItem]:
    """Return the first format that understands an item, and what it says."""
    parse_json(item, msgspec.Raw, limit=ITEM_BYTES_MAX)  # what is no JSON is no item of any format
    for name in _candidates(item):
        try:
            return name, PARSERS[name](item)
        except MunimentError:
            continue
    raise InvalidInput(at="line", problem="unknown_format")


def _candidates(item: bytes) -> Iterator[Format]:
    """Yield the formats in the order in which they are tried; both `openai` and `anthropic` have messages."""
    try:
        marked = is_marked(item)
    except InvalidInput:
        return
    if marked:
        yield Format.ANTHROPIC
    yield from PARSERS
