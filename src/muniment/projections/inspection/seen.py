"""What an inspection has read: an event, and what it remembers of a stream, a few numbers however long it is."""

from __future__ import annotations

from typing import NamedTuple

from muniment.events.identity import ConversationKey
from muniment.events.memory_items import NotebookOpened
from muniment.evidence.header import Header
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import SealedRow, StreamHead


class ReadEvent(NamedTuple):
    """What could be read of an event."""

    row: SealedRow
    header: Header | None
    opened: OpenedEvent | None


class StreamTail:
    """A stream so far: what its events amount to, and what later ones may name."""

    __slots__ = ("changes", "holds", "key", "leaf", "messages", "names", "notebook", "seq", "stream", "turns", "unread")

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.seq = self.turns = self.messages = self.changes = 0
        self.names = 0  # of its entries and of itself, as far as they were found
        self.leaf = b""
        self.key: ConversationKey | None = None
        self.notebook: NotebookOpened | None = None
        self.holds: set[int] = set()
        self.unread = False  # a turn could not be read, so that its messages are not counted

    def agrees(self, head: StreamHead) -> bool:
        """Tell whether a head accounts for what was read."""
        said, seen = (head.seq, head.turns, head.changes, head.leaf), (self.seq, self.turns, self.changes, self.leaf)
        return said == seen and (self.unread or head.messages == self.messages)
