"""From requests, each of which repeats its conversation so far, to the conversation.

A request that begins with what is known of its conversation adds the rest of it, and what it answers to. What is
compared is who spoke and what was said; thoughts are not, for hosts leave them out of later requests, nor is the system
text, which is kept again where it has changed. A request that begins otherwise (a history that was cut or edited) is
the conversation from its beginning again; what of it is in the log already is found there, and the rest is reported.

Requests that name their conversation may be interleaved; one that names none goes on where the one before it stopped.
At most `WAITING_MAX` conversations and `WAITING_BYTES_MAX` of items wait to be continued.
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
    """A conversation that may go on: its name, the item it began in, and what was said so far."""

    def __init__(self, conversation: str, item: int, size: int, spoken: ParsedItem) -> None:
        self.conversation = conversation
        self.item = item
        self.size = size
        self.messages = [*spoken.system, *spoken.messages]
        self._system = spoken.system

    def goes_on(self, spoken: ParsedItem, size: int) -> bool:
        """Take what a request adds, or tell that it is no continuation."""
        known, given = _spoken_of(self.messages), _spoken_of(spoken.messages)
        if given[: len(known)] != known:
            return False
        added = spoken.messages[_place_of(spoken.messages, len(known)) :]
        if [one.parts() for one in spoken.system] != [one.parts() for one in self._system]:
            self.messages += spoken.system
            self._system = spoken.system
        self.messages += added
        self.size = max(self.size, size)
        return True

    def answered(self, spoken: ParsedItem, size: int) -> None:
        """Take a response."""
        self.messages += spoken.messages
        self.size += size


class Continuations:
    """The conversations of a file that wait for what comes after."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str | None, OpenConversation] = OrderedDict()
        self._bytes = 0

    def add(self, spoken: ParsedItem, unnamed: str, item: int, size: int) -> Iterator[OpenConversation]:
        """Take a request or a response; yield the conversations that are complete because of it.

        `unnamed` is what a conversation is called that begins with this item and has no name.
        """
        key = spoken.conversation
        waiting = self._waiting.get(key)
        before = 0 if waiting is None else waiting.size
        if waiting is None and spoken.answers and key is None:
            raise InvalidInput(at="messages", problem="answers_nothing")
        if waiting is not None and spoken.answers:
            waiting.answered(spoken, size)
        elif waiting is None or not waiting.goes_on(spoken, size):
            if waiting is not None:
                yield self._closed(key)
                before = 0
            waiting = self._waiting[key] = OpenConversation(key or unnamed, item, size, spoken)
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


def _spoken_of(messages: list[Message]) -> list[tuple[Role, list[object]]]:
    """Return what is compared of messages."""
    return [
        (message.role, [part for part in message.parts() if not isinstance(part, ReasoningPart)])
        for message in messages
        if message.role is not Role.SYSTEM
    ]


def _place_of(messages: list[Message], count: int) -> int:
    """Return the place behind so many messages, those of the system not counted."""
    place = 0
    while count:
        count -= messages[place].role is not Role.SYSTEM
        place += 1
    return place
