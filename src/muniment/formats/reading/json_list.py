"""The elements of a JSON list that is too long for the memory, found without parsing them.

Brackets and strings are followed, and nothing else: whether an element is JSON is seen when it is parsed. What is kept
is one element, as far as it was read, and the piece that it came with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from muniment.errors import InvalidInput, LimitExceeded
from muniment.kernel.canonical import BLANKS

_MARK = re.compile(rb'["\[\]{},]')
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_OPENS, _CLOSES = frozenset(b"[{"), frozenset(b"]}")
_QUOTE, _COMMA = b'",'
NOT_JSON = "not_json"
DEPTH_MAX = 1000  # of an element; its parser allows less


class ListSplitter:
    """Splits one list, given in pieces; an element of more than `limit` bytes is skipped and reported."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._at = 0  # what is before this place in the buffer was looked at
        self._depth = 0
        self._in_string = False
        self._size = 0  # of an element that is skipped: what was dropped of it
        self._has_ended = False
        self._is_too_deep = False
        self._is_first = True

    def elements(self, pieces: Iterable[bytes]) -> Iterator[bytes | InvalidInput | LimitExceeded]:
        """Yield every element; after anything else than a list, or an unfinished one, an error as the last."""
        for piece in pieces:
            self._buffer += piece
            yield from self._complete()
            if self._is_too_deep or (self._has_ended and self._buffer.strip(BLANKS)):
                break
            self._drop()
        if not self._has_ended or self._buffer.strip(BLANKS):
            yield InvalidInput(at="file", problem=NOT_JSON)

    def _complete(self) -> Iterator[bytes | LimitExceeded]:
        """Yield the elements that end in what was read."""
        while not (self._has_ended or self._is_too_deep):
            if self._in_string:
                found = _IN_STRING.match(self._buffer, self._at)
                self._at = self._at if found is None else found.end()
                if self._buffer[self._at : self._at + 1] != b'"':
                    return
                self._at, self._in_string = self._at + 1, False
            mark = _MARK.search(self._buffer, self._at)
            if mark is None:
                self._at = len(self._buffer)
                return
            self._at = mark.end()
            yield from self._met(self._buffer[mark.start()], mark.start())

    def _met(self, mark: int, place: int) -> Iterator[bytes | LimitExceeded]:
        """Go on behind a mark; yield the element that it ends."""
        if mark == _QUOTE:
            self._in_string = True
        elif mark in _OPENS:
            self._depth += 1
            if self._depth == 1:
                self._begin()
            self._is_too_deep = self._depth > DEPTH_MAX
        elif mark in _CLOSES:
            self._depth -= 1
            self._has_ended = not self._depth
        if self._has_ended or (mark == _COMMA and self._depth == 1):
            size, element = self._size + place, bytes(self._buffer[:place]).strip(BLANKS)
            is_last, self._is_first = self._has_ended and self._is_first, False
            self._begin()
            if size > self._limit:
                yield LimitExceeded(at="conversation", problem="too_large", limit=self._limit, found=size)
            elif element or not is_last:
                yield element

    def _begin(self) -> None:
        """Begin an element here."""
        del self._buffer[: self._at]
        self._at = self._size = 0

    def _drop(self) -> None:
        """Keep nothing of an element that is too large, and no blanks before one."""
        if not self._depth or self._size or len(self._buffer) > self._limit or not self._buffer.strip(BLANKS):
            self._size += self._at if self._depth and (self._size or len(self._buffer) > self._limit) else 0
            del self._buffer[: self._at]
            self._at = 0
