"""The index of what one view of a space shows: its documents as columns, their terms as postings.

A turn is put in whole, and put again whenever something was said of it; what it was before is taken out first, words
and all. The numbers of documents and the places of terms depend on that history and are nobody's business: `rows` and
every score are those of an index that was made anew.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from muniment.projections.search import bm25
from muniment.projections.search.documents import Document
from muniment.projections.search.passages import passages
from muniment.projections.search.postings import Postings
from muniment.projections.search.terms import Tokenizer
from muniment.ranking.columns import NO_ROW, ROLES, Columns, Rows, Scores

WIDE = "q"  # 64 bits, signed
PAUSE_MS = 6 * 60 * 60 * 1000  # a longer one begins another session
PHRASE_GAP = 1  # places left free between documents

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
        self._said: Counter[int] = Counter()  # documents of a speaker that are there
        self._names: defaultdict[str, list[int]] = defaultdict(list)  # term -> speakers with it in their name
        self._spans: list[tuple[int, int]] = []  # the places of each document
        self._passages = bm25.Passages()
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
            for row in rows:
                self._rows.alive[row] = False
                self._passages.remove(row)
                self._said[self._rows.speaker[row]] -= 1
            self._columns = None

    def _add(self, stream: int, turn: int, document: Document, *, archived: bool) -> int:
        row, first = len(self._rows.alive), self._next
        for text in passages(document.text):
            words = self.tokenizer.words(text)
            if not words:
                continue
            self._passages.append(row, self._next, self._next + len(words))
            self.postings.add(words, self._next)
            for term, place in self.tokenizer.beside(text):
                self.postings.add_beside(term, self._next + place)
            self._next += len(words)
        self._spans.append((first, self._next))
        self._next += PHRASE_GAP
        speaker = self._speaker(document.speaker)
        self._said[speaker] += 1
        role = PLACE_OF_ROLE[document.role]
        self._rows.append((stream, turn, document.message, document.time_ms, role, speaker, archived))
        return row

    def _speaker(self, name: str) -> int:
        number = self._speakers.get(name)
        if number is None:
            number = self._speakers[name] = len(self._speakers)
            for term in dict.fromkeys(self.tokenizer.words(name)):
                self._names[term].append(number)
        return number

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

    def holding(self, phrase: Sequence[str], rows: Rows) -> NDArray[np.bool_]:
        """Tell which documents, in ascending order, hold a phrase of one term or more."""
        return np.isin(rows, bm25.holding(self.postings, self._passages, phrase, rows))

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

    def named(self, term: str) -> list[int]:
        """Return the speakers with a term in their name, as far as they said anything that is there."""
        return [speaker for speaker in self._names.get(term, ()) if self._said[speaker]]

    def beginning(self, phrase: Sequence[str]) -> Rows:
        """Return the documents that begin with a phrase of one term or more, in ascending order."""
        return bm25.beginning(self.postings, self._passages, phrase)

    def keyword(self, phrases: Sequence[Sequence[str]], within: Rows | None = None) -> Scores:
        """Return the bm25 of each document for phrases of one term or more; that of its best passage.

        With `within`, only these rows are scored; the statistics are those of all rows.
        """
        return bm25.keyword(self.postings, self._passages, phrases, self.every() if within is None else within)

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
