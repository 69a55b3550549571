"""Where the turns of conversations are in an index: the first row of each, and how far a conversation is linked."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from muniment.ranking.columns import NO_ROW, Rows
from muniment.search.document_table import WIDE, DocumentTable

CONVERSATION_BYTES, TURN_BYTES = 400, 8
NOBODY: Rows = np.empty(0, np.int64)


class ConversationRows:
    """The turns of one conversation; those up to the last one are linked, unless one of them changed."""

    __slots__ = ("first", "last_row", "last_turn")

    def __init__(self) -> None:
        self.first = array(WIDE)
        self.last_turn, self.last_row = 0, NO_ROW

    def row(self, turn: int) -> int:
        """Return the first row of a turn, or `NO_ROW`."""
        return self.first[turn - 1] if turn <= len(self.first) else NO_ROW

    def set(self, turn: int, row: int) -> None:
        """Set the first row of a turn, or `NO_ROW`."""
        if turn > len(self.first):
            self.first.extend([NO_ROW] * (turn - len(self.first)))
        self.first[turn - 1] = row


class ConversationIndex:
    """The conversations by stream. Rows of a restored or compacted index are read on demand."""

    def __init__(self, rows: DocumentTable) -> None:
        self._rows = rows
        self._known: dict[int, ConversationRows] = {}
        self._before = len(rows)
        self._order: tuple[Rows, NDArray[np.int64]] | None = None

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        order = 0 if self._order is None else self._order[0].nbytes + self._order[1].nbytes
        return CONVERSATION_BYTES * len(self._known) + TURN_BYTES * len(self._rows) + order

    def of(self, stream: int) -> ConversationRows:
        """Return a conversation, which may have no turn."""
        conversation = self._known.get(stream)
        if conversation is None:
            conversation = self._known[stream] = ConversationRows()
            if self._before:
                self._read(stream, conversation)
        return conversation

    def rows_of(self, stream: int, turn: int) -> list[int]:
        """Return the rows of a turn, which follow each other."""
        row, rows = self.of(stream).row(turn), list[int]()
        if row != NO_ROW:
            streams, turns = self._rows["stream"], self._rows["turn"]
            while row < len(streams) and (streams[row], turns[row]) == (stream, turn):
                rows.append(row)
                row += 1
        return rows

    def span(self, stream: int) -> slice:
        """Return a range that holds the rows of a conversation, others among them."""
        turns = np.frombuffer(self.of(stream).first, np.int64)
        present = np.flatnonzero(turns != NO_ROW)
        if not len(present):
            return slice(0)
        last = present[np.argmax(turns[present])]
        return slice(int(turns[present].min()), self.rows_of(stream, int(last) + 1)[-1] + 1)

    def relink(self, stream: int) -> None:
        """Link all documents of a conversation as they follow each other now."""
        conversation = self.of(stream)
        conversation.last_turn, conversation.last_row = 0, NO_ROW
        rows: list[int] = []
        for turn, first in enumerate(conversation.first, start=1):
            if first != NO_ROW:
                rows += self.rows_of(stream, turn)
                conversation.last_turn, conversation.last_row = turn, rows[-1]
        if rows:
            self._rows.link(np.array(rows), np.array([NO_ROW, *rows[:-1]]))

    def _read(self, stream: int, conversation: ConversationRows) -> None:
        if self._order is None:
            streams, turns = self._rows["stream"][: self._before], self._rows["turn"][: self._before]
            order = np.lexsort((turns, streams))  # stable: rows of a turn stay in their order
            self._order = order, streams[order]
        order, streams = self._order
        rows = order[np.searchsorted(streams, stream, "left") : np.searchsorted(streams, stream, "right")]
        if len(rows):
            turns, at = np.unique(self._rows["turn"][rows], return_index=True)
            first = np.full(int(turns[-1]), NO_ROW, np.int64)
            first[turns - 1] = rows[at]
            conversation.first.frombytes(first.tobytes())
            conversation.last_turn, conversation.last_row = int(turns[-1]), int(rows[-1])
