"""A file as numbered items: the lines of JSON Lines, the elements of a JSON list, or a JSON document.

The beginning of a file decides:

1. It begins with `{`. When the first line is a complete JSON value, the file consists of lines, even of one.
   Otherwise the whole file is read: it is one document (over several lines), or lines after all.
2. It begins with `[`. When the first line is a complete value and other lines follow, the file consists of lines.
   Otherwise it is a list of conversations, or of the messages of one.
3. Anything else: lines.

A list of messages, as a line or as the file, is one chat and parsed as `{"messages": [...]}`. A document is kept as
bytes, at most `DOCUMENT_BYTES_MAX`; each of its elements, at most `ITEM_BYTES_MAX`, is parsed separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from muniment.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.formats.reading import lines
from muniment.formats.reading.lines import BYTE_ORDER_MARK, ITEM_BYTES_MAX, Lines

DOCUMENT_BYTES_MAX = 512 * 2**20
BLANKS = b" \t\r\n"
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
        first = _text(self._lines.ahead(lines.LINE_BYTES_MAX + 1))
        if not first.startswith((b"{", b"[")):
            return None
        complete = _is_json(first)
        if complete is None or (complete and first.startswith(b"{")):
            return None
        contents = self._lines.all_ahead(DOCUMENT_BYTES_MAX + 1)
        document = _text(contents)
        if complete and document.rstrip(BLANKS) != first.rstrip(BLANKS):
            return None
        if first.startswith(b"{"):
            return iter([_bounded(document)]) if len(contents) <= DOCUMENT_BYTES_MAX and _is_json(document) else None
        if self._lines.damaged:
            return iter([InvalidInput(at="file", problem=self._lines.damage)])
        if len(contents) > DOCUMENT_BYTES_MAX:
            return iter([LimitExceeded(at="file", problem="too_large", limit=DOCUMENT_BYTES_MAX)])
        return _of_list(document)

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


def _of_list(document: bytes) -> Iterator[bytes | MunimentError]:
    try:
        elements = msgspec.json.decode(document, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return iter([InvalidInput(at="file", problem="not_json")])
    if elements and _is_message(elements[0]):
        return iter([_chat(document)])
    return (_bounded(bytes(element)) for element in elements)


def _is_message(element: msgspec.Raw) -> bool:
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
