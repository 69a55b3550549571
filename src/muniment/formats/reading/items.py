"""A file as numbered items: the lines of JSON Lines, the elements of a JSON list, or a JSON document.

The beginning of a file decides:

1. It begins with `{`. When the first line is a complete JSON value, the file consists of lines, even of one.
   Otherwise it is one document (over several lines) of at most `ITEM_BYTES_MAX`, or lines after all.
2. It begins with `[`. When the first line is a complete value and other lines follow, the file consists of lines.
   Otherwise it is a list of conversations, or of the messages of one.
3. Anything else: lines.

A list of messages, as a line or as the file, is one chat and parsed as `{"messages": [...]}`. The elements of another
list are read one by one, so that a list may be of any length; each has at most `ITEM_BYTES_MAX`. What was read before a
list breaks off stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from muniment.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.formats.reading import lines
from muniment.formats.reading.json_list import ListSplitter
from muniment.formats.reading.lines import BYTE_ORDER_MARK, ITEM_BYTES_MAX, Lines
from muniment.kernel.canonical import BLANKS

TRUNCATED = "Input data was truncated"  # the message of msgspec for an incomplete value

# members of a message, and members of anything larger than a message
MESSAGE_MEMBERS = ("role", "lc", "data", "content")
CHAT_MEMBERS = frozenset(
    {"messages", "mapping", "chat_messages", "request", "conversation_id", "thread_id", "session_id"}
)


class Items:
    """The items of a file, in a `with` statement."""

    def __init__(self, file: BinaryIO) -> None:
        self._lines = Lines(file)
        self.bytes_total = self._lines.bytes_total

    @property
    def bytes_done(self) -> int:
        """How many bytes of the file on disk were read."""
        return self._lines.bytes_done

    @property
    def damaged(self) -> bool:
        """Whether the end of the file was missing, after reading it."""
        return self._lines.damaged

    def __iter__(self) -> Iterator[tuple[int, bytes | MunimentError]]:
        """Yield every item with its number from 1; for a file of lines, the line number."""
        elements = self._elements()
        if elements is not None:
            yield from enumerate(elements, start=1)
            return
        for number, line in self._lines:
            is_list = isinstance(line, bytes) and line.lstrip(BLANKS).startswith(b"[")
            yield number, _chat(line) if is_list and isinstance(line, bytes) else line

    def _elements(self) -> Iterator[bytes | MunimentError] | None:
        """Return the elements of a document, or None for a file of lines."""
        line = self._lines.ahead(lines.LINE_BYTES_MAX + 1)
        first = _text(line)
        if not first.startswith((b"{", b"[")):
            return None
        complete = _is_json(first)
        if first.startswith(b"{"):
            return self._document() if complete is False else None
        if complete is None:
            return None
        more = self._lines.all_ahead(len(line) + lines.CHUNK_BYTES) if complete else b""
        return None if more[len(line) :].strip(BLANKS) else self._of_list()

    def _document(self) -> Iterator[bytes | MunimentError] | None:
        """Return a document as the one item, or None for lines of which the first is broken."""
        contents = self._lines.all_ahead(ITEM_BYTES_MAX + 1)
        complete = _is_json(_text(contents))
        if len(contents) > ITEM_BYTES_MAX and complete is not None:
            return iter([LimitExceeded(at="conversation", problem="too_large", limit=ITEM_BYTES_MAX)])
        return iter([_text(contents)]) if complete else None

    def _of_list(self) -> Iterator[bytes | MunimentError]:
        """Yield the elements of a list; messages as one chat."""
        elements = ListSplitter(ITEM_BYTES_MAX).elements(self._lines.pieces())
        first = next(elements, None)
        if isinstance(first, bytes) and _is_message(first):
            yield self._chat(chain([first], elements))
        elif first is not None:
            yield from map(self._told, chain([first], elements))

    def _chat(self, messages: Iterator[bytes | MunimentError]) -> bytes | MunimentError:
        """Return the messages of a file as one chat."""
        kept, size = list[bytes](), 0
        for message in messages:
            if isinstance(message, MunimentError):
                return self._told(message)
            kept.append(message)
            size += len(message)
            if size > ITEM_BYTES_MAX:
                return LimitExceeded(at="conversation", problem="too_large", limit=ITEM_BYTES_MAX)
        return _chat(b"[" + b",".join(kept) + b"]")

    def _told(self, element: bytes | MunimentError) -> bytes | MunimentError:
        """Return an element; a list that breaks off because the file is damaged says so."""
        is_broken = isinstance(element, InvalidInput) and self._lines.damaged
        return InvalidInput(at="file", problem=self._lines.damage) if is_broken else element

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.__exit__(kind, error, trace)


def _text(data: bytes) -> bytes:
    return data.removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)


def _is_json(text: bytes) -> bool | None:
    """Return whether text is a JSON value (True), the beginning of one (False), or neither (None)."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as fault:
        return False if str(fault).startswith(TRUNCATED) else None
    except (UnicodeError, RecursionError):
        return None
    return True


def _is_message(element: bytes) -> bool:
    try:
        members = msgspec.json.decode(element, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return any(name in members for name in MESSAGE_MEMBERS) and CHAT_MEMBERS.isdisjoint(members)


def _chat(messages: bytes) -> bytes | MunimentError:
    return _bounded(b'{"messages":' + messages.strip(BLANKS) + b"}")


def _bounded(item: bytes) -> bytes | MunimentError:
    if len(item) > ITEM_BYTES_MAX:
        return LimitExceeded(at="conversation", problem="too_large", limit=ITEM_BYTES_MAX, found=len(item))
    return item
