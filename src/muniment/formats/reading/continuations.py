"""Continuations: joins requests, each of which repeats its conversation so far, into one conversation.

A request that begins with the known messages of its conversation adds its other messages. Roles and content are
compared. Reasoning is not, because hosts omit it from later requests, and neither is the system text, which is kept
again when it changes. A request that begins differently (a history that was truncated or edited) starts the
conversation again; its turns that the log already has are recognised, and the others are reported.

Requests that name their conversation may be interleaved; one without a name continues the previous one. At most
`WAITING_MAX` conversations and `WAITING_BYTES_MAX` of items wait for a continuation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from muniment.errors import InvalidInput
from muniment.events.message import Message, ReasoningPart, Role
from muniment.formats.reading.parsed_item import ParsedItem

WAITING_MAX = 1000
WAITING_BYTES_MAX = 64 * 2**20


class OpenConversation:
    """A conversation that may continue: its name, its first item, and its messages so far."""

    def __init__(self, conversation: str, item: int, size: int, request: ParsedItem) -> None:
        self.conversation = conversation
        self.item = item
        self.size = size
        self.messages = [*request.system, *request.messages]
        self._system = request.system

    def extend(self, request: ParsedItem, size: int) -> bool:
        """Add the new messages of a request; return False when it is no continuation."""
        known, repeated = _compared(self.messages), _compared(request.messages)
        if repeated[: len(known)] != known:
            return False
        added = request.messages[_index_after(request.messages, len(known)) :]
        if [message.parts() for message in request.system] != [message.parts() for message in self._system]:
            self.messages += request.system
            self._system = request.system
        self.messages += added
        self.size = max(self.size, size)
        return True

    def add_response(self, response: ParsedItem, size: int) -> None:
        """Add a response."""
        self.messages += response.messages
        self.size += size


class Continuations:
    """The conversations of a file that may continue."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str | None, OpenConversation] = OrderedDict()
        self._bytes = 0
        self.repeated = 0  # messages that repeated their conversation

    def add(self, parsed: ParsedItem, unnamed: str, item: int, size: int) -> Iterator[OpenConversation]:
        """Add a request or a response; yield the conversations that are complete because of it.

        `unnamed` is the name of a conversation that begins with this item and has none.
        """
        key = parsed.conversation
        waiting = self._waiting.get(key)
        before = 0 if waiting is None else waiting.size
        known = 0 if waiting is None else len(waiting.messages)
        if waiting is None and parsed.answers and key is None:
            raise InvalidInput(at="messages", problem="answers_nothing")
        if waiting is not None and parsed.answers:
            waiting.add_response(parsed, size)
        elif waiting is None or not waiting.extend(parsed, size):
            if waiting is not None:
                yield self._closed(key)
                before = 0
            waiting, known = OpenConversation(key or unnamed, item, size, parsed), 0
            self._waiting[key] = waiting
        self.repeated += len(parsed.system) + len(parsed.messages) - (len(waiting.messages) - known)
        self._bytes += waiting.size - before
        self._waiting.move_to_end(key)
        while len(self._waiting) > WAITING_MAX or (self._bytes > WAITING_BYTES_MAX and len(self._waiting) > 1):
            yield self._closed(next(iter(self._waiting)))

    def finish(self) -> Iterator[OpenConversation]:
        """Yield the conversations that the end of the file completes."""
        while self._waiting:
            yield self._closed(next(iter(self._waiting)))

    def _closed(self, key: str | None) -> OpenConversation:
        waiting = self._waiting.pop(key)
        self._bytes -= waiting.size
        return waiting


def _compared(messages: list[Message]) -> list[tuple[Role, list[object]]]:
    """Return the compared values of messages."""
    return [
        (message.role, [part for part in message.parts() if not isinstance(part, ReasoningPart)])
        for message in messages
        if message.role is not Role.SYSTEM
    ]


def _index_after(messages: list[Message], count: int) -> int:
    """Return the index after `count` messages, not counting those of the system."""
    index = 0
    while count:
        count -= messages[index].role is not Role.SYSTEM
        index += 1
    return index
