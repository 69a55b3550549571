"""Reading the words of passages again, for whoever embeds them: from the log, as the view shows them at that moment.

An index keeps no text. Where a passage is read by a reader of the very state that the index is caught up with, its
words are those that it was indexed by; what is hidden or erased by then is in no index and is never asked for.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from muniment.governance.detection.detection import ViewDetection
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.projections.transcript import Transcript
from muniment.ranking.columns import Rows
from muniment.search.documents import documents
from muniment.search.index import Index
from muniment.search.passages import passages

TURNS_BATCH = 200  # read in one page


class PassageReader:
    """Reads the passages of an index of a view again."""

    def __init__(self, transcript: Transcript, view: View, detection: ViewDetection) -> None:
        self._transcript = transcript
        self._view = view
        self._detection = detection

    def texts(self, index: Index, reader: Reader, wanted: Rows) -> list[str]:
        """Return the text of each of these passages; the index is caught up with the reader."""
        row_of, columns = index.passage_rows(), index.columns
        rows = row_of[wanted]
        ordinals = wanted - np.searchsorted(row_of, rows, "left")
        turns: defaultdict[int, set[int]] = defaultdict(set)
        for row in rows:
            turns[int(columns.stream[row])].add(int(columns.turn[row]))
        found = {
            (stream, *place): texts
            for stream, sequences in turns.items()
            for place, texts in self._of_stream(index, reader, stream, sequences).items()
        }
        return [
            found[int(columns.stream[row]), int(columns.turn[row]), int(columns.message[row])][int(ordinal)]
            for row, ordinal in zip(rows, ordinals, strict=True)
        ]

    def _of_stream(
        self, index: Index, reader: Reader, stream: int, wanted: set[int]
    ) -> dict[tuple[int, int], list[str]]:
        """Return the passages of turns of a conversation, by turn and message."""
        head = self._transcript.head(reader, stream)
        found: dict[tuple[int, int], list[str]] = {}
        left = sorted(wanted)
        while left:
            batch = [turn for turn in left if turn < left[0] + TURNS_BATCH]
            for read in self._transcript.shown(reader, head, batch[0], batch[-1], self._view):
                if read.record.sequence in wanted:
                    for document in documents(read.record, self._view, self._detection):
                        texts = [text for text in passages(document.text) if index.terms(text)]
                        found[read.record.sequence, document.message] = texts
            left = left[len(batch) :]
        return found
