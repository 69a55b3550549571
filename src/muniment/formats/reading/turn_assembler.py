"""The assembler of turns: from messages to turns.

A turn starts at a user message that does not follow a user message; messages before the first one (system text, a
greeting) belong to the first turn. A turn is complete when the next one of its conversation starts, or when the file
ends. The number of a turn in the order of the file, from 1, is its whole identity: the same file gives the same turns,
and a longer version of the file gives the same turns and more.

Where lines name their turn, the name decides: a turn consists of the lines with one name.

Conversations may be interleaved. To bound memory, at most `OPEN_CONVERSATIONS_MAX` conversations and `OPEN_BYTES_MAX`
of messages wait for their next line; beyond that, the one that has waited longest is treated as complete. A later
message of its turn is refused, because the turn has been committed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.message import Message, Role
from muniment.formats.reading.parsed_item import NamedTurn
from muniment.governance.limits import Limits
from muniment.kernel.digest import sha256

OPEN_CONVERSATIONS_MAX = 1000
OPEN_BYTES_MAX = 32 * 2**20
CONVERSATIONS_MAX = 500_000
KEY_BYTES = 16
ESCAPED = 6  # bytes of a file for one byte of text, as \\u0061; nothing is refused here that a commit would accept


class CompleteTurn(NamedTuple):
    """A complete turn: its conversation and number, its first line, and the refusal when it is too large.

    `messages_count` is how many messages it had, also when it is refused.
    """

    conversation: str
    number: int
    line: int
    messages: list[Message]
    bytes: int
    refusal: LimitExceeded | None
    named: NamedTurn | None = None
    messages_count: int = 0


class PendingTurn:
    """A turn that waits for its next message."""

    def __init__(self, conversation: str, number: int, line: int, named: NamedTurn | None = None) -> None:
        self.conversation = conversation
        self.named = named
        self.number = number
        self.line = line
        self.bytes = 0
        self._count = 0
        self._messages: list[Message] = []
        self._has_user = False
        self._last: Role | None = None
        self._refusal: LimitExceeded | None = None

    def ends_before(self, message: Message, named: NamedTurn | None = None) -> bool:
        """Return whether a message starts the next turn."""
        if named is not None or self.named is not None:
            return named is None or self.named is None or named.turn != self.named.turn
        return message.role is Role.USER and self._has_user and self._last is not Role.USER

    def add(self, message: Message, size: int, limits: Limits) -> None:
        """Add a message. Of a turn above the limits only the refusal is kept."""
        self._count += 1
        self._last = message.role
        self._has_user = self._has_user or message.role is Role.USER
        if self._refusal is not None:
            return
        self._messages.append(message)
        self.bytes += size
        if len(self._messages) > limits.turn_messages_max:
            self._refuse("too_many", limits.turn_messages_max)
        elif self.bytes > ESCAPED * limits.turn_bytes_max:
            self._refuse("too_large", limits.turn_bytes_max)

    def _refuse(self, problem: str, limit: int) -> None:
        self._refusal = LimitExceeded(at="messages", problem=problem, limit=limit)
        self._messages, self.bytes = [], 0

    def complete(self) -> CompleteTurn:
        """Return the turn as it is."""
        return CompleteTurn(
            self.conversation,
            self.number,
            self.line,
            self._messages,
            self.bytes,
            self._refusal,
            self.named,
            self._count,
        )


class TurnAssembler:
    """Assembles the messages of a file into turns, in the order in which they become complete."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: OrderedDict[str, PendingTurn] = OrderedDict()
        self._bytes = 0
        self._turns: dict[bytes, int] = {}  # digest of a conversation's name -> turns so far

    def add(
        self, conversation: str, message: Message, line: int, size: int, named: NamedTurn | None = None
    ) -> Iterator[CompleteTurn]:
        """Add a message, which may name its turn; yield the turns that are complete because of it."""
        pending = self._open.get(conversation)
        if pending is None or pending.ends_before(message, named):
            late = pending is None and named is None and message.role is not Role.USER
            started = self._started(conversation, line, named, late=late)
            if pending is not None:
                yield self._closed(conversation)
            self._open[conversation] = pending = started
        self._open.move_to_end(conversation)
        before = pending.bytes
        pending.add(message, size, self._limits)
        self._bytes += pending.bytes - before
        while len(self._open) > OPEN_CONVERSATIONS_MAX or (self._bytes > OPEN_BYTES_MAX and len(self._open) > 1):
            yield self._closed(next(iter(self._open)))

    def finish(self) -> Iterator[CompleteTurn]:
        """Yield the turns that the end of the file completes."""
        while self._open:
            yield self._closed(next(iter(self._open)))

    def _started(self, conversation: str, line: int, named: NamedTurn | None, *, late: bool) -> PendingTurn:
        key = sha256(conversation.encode(errors="surrogatepass"))[:KEY_BYTES]
        turns = self._turns.get(key, 0)
        if late and turns:
            raise InvalidInput(at="line", problem="interleaved_too_far", limit=OPEN_CONVERSATIONS_MAX)
        if not turns and len(self._turns) >= CONVERSATIONS_MAX:
            raise LimitExceeded(at="conversation_id", problem="too_many", limit=CONVERSATIONS_MAX)
        self._turns[key] = turns + 1
        return PendingTurn(conversation, turns + 1, line, named)

    def _closed(self, conversation: str) -> CompleteTurn:
        pending = self._open.pop(conversation)
        self._bytes -= pending.bytes
        return pending.complete()


def turns_of(
    conversation: str, messages: list[Message], line: int, size: int, limits: Limits
) -> Iterator[CompleteTurn]:
    """Yield the turns of a whole conversation; `size`, its bytes in the file, is divided among the messages."""
    assembler = TurnAssembler(limits)
    sizes = [size_of(message) for message in messages]
    total = max(sum(sizes), 1)
    for message, own in zip(messages, sizes, strict=True):
        yield from assembler.add(conversation, message, line, size * own // total)
    yield from assembler.finish()


def size_of(message: Message) -> int:
    """Return the bytes of a message as JSON."""
    return len(msgspec.json.encode(message))
