"""The index of what one view of a space shows: its documents as columns, their terms as postings.

A turn is put in whole, and put again whenever something was said of it; what it was before is taken out first, words
and all. The numbers of documents and the places of terms depend on that history and are nobody's business: `rows` and
every score are those of an index that was made anew.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from muniment.projections.search.documents import Document
from muniment.projections.search.passages import passages
from muniment.projections.search.postings import Postings
from muniment.projections.search.terms import Tokenizer
from muniment.ranking.columns import NO_ROW, ROLES, Columns, Rows, Scores

WIDE = "q"  # 64 bits, signed
PAUSE_MS = 6 * 60 * 60 * 1000  # a longer one begins another session
PHRASE_GAP = 1  # places left free between documents
BM25_K1 = 1.2  # Robertson and Zaragoza 2009, "The probabilistic relevance framework", with their usual values
BM25_B = 0.75

PLACE_OF_ROLE = {role: place for place, role in enumerate(ROLES)}


class Index:
    """Documents and terms of what a view shows, as of the first `size` events of a log. For one thread at a time."""

    def __init__(self) -> None:
        self.size = 0
        self.tokenizer = Tokenizer()
        self.postings = Postings()
        self._rows = Growing()
        self._turns: dict[int, dict[int, tuple[int, ...]]] = {}  # stream -> turn -> its documents
        self._last: dict[int, int] = {}  # the last turn of a stream
        self._unlinked: set[int] = set()
        self._speakers: dict[str, int] = {}
        self._spans: list[tuple[int, int]] = []  # the places of each document
        self._passage_first = array(WIDE)  # the place at which a passage begins
        self._passage_row = array(WIDE)
        self._terms = 0  # of all documents that are there
        self._next = 0
        self._columns: Columns | None = None

    # --- growing ------------------------------------------------------------------------------------------------------

    def put(self, stream: int, turn: int, documents: Sequence[Document], *, archived: bool = False) -> None:
        """Let a turn consist of these documents; whatever it was before is gone."""
        turns = self._turns.setdefault(stream, {})
        if turn in turns:
            self.remove([(stream, turn)])
        if not documents:
            return
        self._columns = None
        turns[turn] = rows = tuple(self._add(stream, turn, each, archived=archived) for each in documents)
        last = self._last.get(stream, 0)
        if stream in self._unlinked or turn < last:
            self._unlinked.add(stream)
            return
        self._last[stream] = turn
        before = turns[last][-1] if last in turns and last != turn else NO_ROW
        for row in rows:
            self._rows.link(before, row)
            before = row

    def remove(self, turns: Iterable[tuple[int, int]]) -> None:
        """Take turns out, as far as they are in: their rows stand for nothing, and their words are nowhere."""
        rows: list[int] = []
        for stream, turn in turns:
            gone = self._turns.get(stream, {}).pop(turn, ())
            rows += gone
            if gone:
                self._unlinked.add(stream)
        if rows:
            self.postings.purge([self._spans[row] for row in rows])
            self._terms -= sum(end - first for first, end in (self._spans[row] for row in rows))
            for row in rows:
                self._rows.alive[row] = False
            self._columns = None

    def _add(self, stream: int, turn: int, document: Document, *, archived: bool) -> int:
        row, first = len(self._rows.alive), self._next
        for text in passages(document.text):
            words = self.tokenizer.words(text)
            if not words:
                continue
            self._passage_first.append(self._next)
            self._passage_row.append(row)
            self.postings.add(words, self._next)
            for term, place in self.tokenizer.beside(text):
                self.postings.add_beside(term, self._next + place)
            self._next += len(words)
        self._spans.append((first, self._next))
        self._terms += self._next - first
        self._next += PHRASE_GAP
        speaker = self._speakers.setdefault(document.speaker, len(self._speakers))
        role = PLACE_OF_ROLE[document.role]
        self._rows.append((stream, turn, document.message, document.time_ms, role, speaker, archived))
        return row

    def _relink(self) -> None:
        """Link the documents of every conversation in which a turn changed, or came late."""
        for stream in self._unlinked:
            turns, before = self._turns[stream], NO_ROW
            for turn in sorted(turns):
                self._last[stream] = turn
                for row in turns[turn]:
                    self._rows.link(before, row)
                    before = row
        self._unlinked.clear()

    def every(self) -> Rows:
        """Return the numbers of all documents that are there."""
        return np.flatnonzero(self.columns.alive)

    def rows_of(self, stream: int) -> Rows:
        """Return the numbers of the documents of a conversation."""
        return np.array([row for rows in self._turns.get(stream, {}).values() for row in rows], np.int64)

    def rows_with(self, phrase: Sequence[str]) -> Rows:
        """Return the numbers of the documents that hold a phrase of one term or more; they may repeat."""
        places = self.postings.of_phrase(phrase)
        firsts = np.frombuffer(self._passage_first, np.int64)
        return np.frombuffer(self._passage_row, np.int64)[np.searchsorted(firsts, places, "right") - 1]

    # --- what ranking asks (`ranking.columns.Corpus`) -----------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """The documents."""
        self._relink()
        if self._columns is None:
            self._columns = self._rows.columns(list(self._speakers))
        return self._columns

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in their order, as they are indexed."""
        return self.tokenizer.words(text)

    def keyword(self, phrases: Sequence[Sequence[str]], within: Rows | None = None) -> Scores:
        """Return the bm25 of each document for phrases of one term or more; that of its best passage.

        With `within`, only these rows are scored; the statistics are those of all rows.
        """
        columns = self.columns
        firsts = np.frombuffer(self._passage_first, np.int64)
        row_of = np.frombuffer(self._passage_row, np.int64)
        alive = columns.alive[row_of] if len(row_of) else np.empty(0, np.bool_)
        count = int(alive.sum())
        lengths = np.diff(firsts, append=self._next)
        mean = self._terms / max(count, 1)
        passage_scores = np.zeros(len(firsts))
        for phrase in phrases:
            places = self.postings.of_phrase(phrase) if phrase else np.empty(0, np.uint32)
            if not len(places):
                continue
            held, often = np.unique(np.searchsorted(firsts, places, "right") - 1, return_counts=True)
            rarity = np.log(1 + (count - len(held) + 0.5) / (len(held) + 0.5))
            norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths[held] / mean)
            passage_scores[held] += rarity * often * (BM25_K1 + 1) / (often + norm)
        scores = np.zeros(len(columns.alive))
        np.maximum.at(scores, row_of, passage_scores)
        return scores if within is None else scores[within]

    def similarity(self, text: str, within: Rows | None = None) -> Scores | None:
        """Return the cosine of each document's best passage to a text; nan where it has no vector yet, None without."""
        del text, within
        return None

    # --- what it is ---------------------------------------------------------------------------------------------------

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        terms: dict[int, list[tuple[int, str]]] = {}
        starts = [first for first, _ in self._spans]
        for term, places in self.postings.items():
            for place in places:
                row = bisect_right(starts, place) - 1
                terms.setdefault(row, []).append((place - starts[row], term))
        speakers = list(self._speakers)
        return [
            [*self._rows.told(row, speakers), sorted(terms.get(row, []))]
            for _, turns in sorted(self._turns.items())
            for turn in sorted(turns)
            for row in turns[turn]
        ]


class Growing:
    """The columns of documents while they grow: one array for each, and the links between documents."""

    def __init__(self) -> None:
        self.alive = bytearray()
        self.stream, self.turn, self.message, self.time_ms = (array(WIDE) for _ in range(4))
        self.role, self.speaker, self.archived = (array(WIDE) for _ in range(3))
        self.previous, self.following, self.session = (array(WIDE) for _ in range(3))

    def append(self, values: tuple[int, ...]) -> None:
        """Add a document: stream, turn, message, time, role, speaker, archived."""
        columns = (self.stream, self.turn, self.message, self.time_ms, self.role, self.speaker, self.archived)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
        for link in (self.previous, self.following, self.session):
            link.append(NO_ROW)
        self.alive.append(True)

    def link(self, before: int, row: int) -> None:
        """Let a document follow another one, in its session unless there was a long pause, or (`NO_ROW`) none."""
        if before == NO_ROW or self.time_ms[row] - self.time_ms[before] > PAUSE_MS:
            if before != NO_ROW:
                self.following[before] = NO_ROW
            self.previous[row], self.session[row] = NO_ROW, row
        else:
            self.following[before] = row
            self.previous[row], self.session[row] = before, self.session[before]
        self.following[row] = NO_ROW

    def columns(self, speakers: Sequence[str]) -> Columns:
        """Return the columns as they are now."""
        return Columns(
            alive=np.array(self.alive, np.uint8).astype(np.bool_),
            archived=np.array(self.archived).astype(np.bool_),
            stream=np.array(self.stream),
            turn=np.array(self.turn),
            message=np.array(self.message),
            time_ms=np.array(self.time_ms),
            role=np.array(self.role),
            speaker=np.array(self.speaker),
            previous=np.array(self.previous),
            following=np.array(self.following),
            session=np.array(self.session),
            speakers=speakers,
        )

    def told(self, row: int, speakers: Sequence[str]) -> list[object]:
        """Return a document as plain data."""
        return [
            self.stream[row], self.turn[row], self.message[row], self.time_ms[row], ROLES[self.role[row]],
            speakers[self.speaker[row]], bool(self.archived[row]),
        ]  # fmt: skip
