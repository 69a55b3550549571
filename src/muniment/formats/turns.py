"""Turns of foreign messages: teaches `Turn.from_openai`, `from_anthropic` and `from_langchain` to read.

`events` knows no foreign format, so the reader is put there from here; `muniment.Turn` is found in this module and
brings it along (decision 0137). The parsers are those of an import, loaded when they are first used. Unlike an import,
which keeps what it can of a file, one message that cannot be read refuses the turn.
"""

from __future__ import annotations

import msgspec

from muniment.errors import InvalidInput
from muniment.events.message import Message
from muniment.events.turn import ForeignMessages, ForeignReader, Source, Turn

__all__ = ["Turn"]


def read_messages(shape: str, messages: ForeignMessages) -> tuple[list[Message], Source]:
    """Return messages of a shape as ours, and the protocol that they came by."""
    from muniment.formats.reading.import_format import PARSERS, PROTOCOLS, Format  # noqa: PLC0415 - when first used

    if not messages:
        raise InvalidInput(at="messages", problem="empty")
    name = Format(shape)
    try:
        item = msgspec.json.encode({"messages": list(messages)})
    except (TypeError, ValueError, RecursionError, UnicodeError):  # what is no JSON is named without quoting it
        raise InvalidInput(at="messages", problem="wrong_type") from None
    parsed = PARSERS[name](item)
    if parsed.notes is not None and parsed.notes.refused:
        raise parsed.notes.refused[0]
    return [*parsed.system, *parsed.messages], Source(protocol=PROTOCOLS[name])


ForeignReader.read = staticmethod(read_messages)
