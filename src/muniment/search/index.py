"""The index of what one view of a space shows: its documents as rows, their terms as postings.

A turn is put in whole, and put again whenever something was said of it; what it was before is taken out first, and can
be found no more. `purge` then removes its words for good. The numbers of documents and the places of terms depend on
that history and are nobody's business: `told` and every score are those of an index that was made anew.

Vectors lie beside, one for each passage, and are told when passages go or are numbered anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.json import Decoder
from numpy.typing import NDArray

from muniment.errors import LimitExceeded
from muniment.kernel.canonical import encode_plain
from muniment.ranking.columns import NO_ROW, ROLES, Columns, Rows, Scores
from muniment.search import bm25
from muniment.search.conversation_rows import ConversationIndex
from muniment.search.document_table import DocumentTable, Passages
from muniment.search.documents import SearchDocument
from muniment.search.meaning import Meaning
from muniment.search.passages import passages
from muniment.search.plain_form import told
from muniment.search.postings import PLACES_MAX, Postings
from muniment.search.speakers import Speakers
from muniment.search.terms import Tokenizer

PHRASE_GAP = 1  # places left free between documents
DEAD_SHARE = 4  # when more than one in so many rows is dead, the living are numbered anew
DEAD_ROWS_MAX = 1000  # are left where they are

PLACE_OF_ROLE = {role: place for place, role in enumerate(ROLES)}


class PassageColumns(Protocol):
    """What is kept for each passage by its number."""

    @property
    def memory_bytes(self) -> int:
        """How much memory it takes, about."""
        ...

    def drop(self, passages: Sequence[int]) -> None:
        """Forget these passages; what was kept for them is nowhere any more."""
        ...

    def renumber(self, kept: Rows) -> None:
        """Keep what is known of these passages, whose numbers are from now on their places in `kept`."""
        ...

    def sections(self) -> Iterable[tuple[str, bytes]]:
        """Yield all that is known as named bytes; no name is one of the index itself."""
        ...


class IndexHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an index knows beside its arrays."""

    size: int
    places: int
    speakers: list[str]


_head = Decoder(IndexHead)


class Index:
    """Documents and terms of what a view shows, as of the first `size` events of a log. For one thread at a time."""

    def __init__(self) -> None:
        self.size = 0
        self.age = 0  # grows when passages are numbered anew
        self.tokenizer = Tokenizer()
        self.postings = Postings()
        self.vectors: PassageColumns | None = (
            None  # a `Meaning`; without an embedder there is none, or what there was is kept
        )
        self._rows = DocumentTable()
        self._passages = Passages()
        self._conversations = ConversationIndex(self._rows)
        self._late: set[int] = set()  # conversations in which a turn changed, or came late
        self._speakers = Speakers(self.tokenizer.words)
        self._next = 0
        self._columns: Columns | None = None

    def __len__(self) -> int:
        return len(self._rows) - self._rows.dead

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        held = (self.postings, self._rows, self._passages, self._conversations)
        beside = 0 if self.vectors is None else self.vectors.memory_bytes
        return sum(each.memory_bytes for each in held) + beside

    # --- growing ------------------------------------------------------------------------------------------------------

    def put(self, stream: int, turn: int, documents: Sequence[SearchDocument], *, archived: bool = False) -> None:
        """Let a turn consist of these documents; whatever it was before is gone."""
        conversation = self._conversations.of(stream)
        if conversation.row(turn) != NO_ROW:
            self.remove([(stream, turn)])
        if not documents:
            return
        if self._makes_room(documents):
            conversation = self._conversations.of(stream)
        self._columns = None
        is_next = turn > conversation.last_turn and stream not in self._late
        first = len(self._rows)
        self._add((stream, turn), documents, archived, conversation.last_row if is_next else None)
        conversation.set(turn, first)
        if is_next:
            conversation.last_turn, conversation.last_row = turn, len(self._rows) - 1
        else:
            self._late.add(stream)

    def remove(self, turns: Iterable[tuple[int, int]]) -> None:
        """Take turns out, as far as they are in: their rows stand for nothing, and their words are found nowhere."""
        rows: list[int] = []
        for stream, turn in turns:
            found = self._conversations.rows_of(stream, turn)
            if found:
                self._conversations.of(stream).set(turn, NO_ROW)
                self._late.add(stream)
                rows += found
        if rows:
            if self.vectors is not None:
                self.vectors.drop([number for row in rows for number in self._passages.of(row)])
            self.postings.drop([span for row in rows for span in self._passages.remove(row)])
            self._speakers.unsays(self._rows["speaker"][rows].tolist())
            self._rows.remove(rows)
            self._columns = None

    def _makes_room(self, documents: Sequence[SearchDocument]) -> bool:
        """See to it that places are enough (a text has no more terms than characters); tell if numbers changed."""
        wanted = sum([len(each.text) + PHRASE_GAP for each in documents])
        if self._next + wanted <= PLACES_MAX:
            return False
        self.compact()
        if self._next + wanted > PLACES_MAX:
            raise LimitExceeded(at="index", problem="too_large", limit=PLACES_MAX)
        return True

    def _add(
        self, of: tuple[int, int], documents: Sequence[SearchDocument], archived: bool, before: int | None
    ) -> None:
        """Add documents, each said behind the last one and the first behind a row; with None they are linked later."""
        add, add_passage, words_of = self._rows.append, self._passages.append, self.tokenizer.words
        linked = NO_ROW if before is None else before
        for each in documents:
            role, speaker = PLACE_OF_ROLE[each.role], self._speakers.says(each.speaker)
            row = add((*of, each.message, each.time_ms, role, speaker, archived, linked))
            for text in passages(each.text):
                words = words_of(text)
                if words:
                    first, self._next = self._next, self._next + len(words)
                    add_passage(row, first, self._next)
                    self.postings.add(words, first)
                    for term, place in self.tokenizer.beside(text):
                        self.postings.add_beside(term, first + place)
            self._next += PHRASE_GAP
            if before is not None:
                linked = row

    def _relink(self) -> None:
        """Link the documents of every conversation in which a turn changed, or came late."""
        for stream in self._late:
            self._conversations.relink(stream)
        self._late.clear()

    # --- order --------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring into order what was put in and taken out, where it is much."""
        if self._rows.dead > max(DEAD_ROWS_MAX, len(self._rows) // DEAD_SHARE):
            self.compact()
        elif self.postings.unsettled:
            self.postings.settle()

    def relieve(self) -> None:
        """Settle what was put in while the index is being made, when it takes much more room as it came."""
        self.postings.settle_much()

    def purge(self) -> None:
        """Remove for good the words of what was taken out."""
        self.postings.purge()

    def compact(self) -> None:
        """Give new numbers to the documents and places that are there, without gaps for what was taken out."""
        self._relink()
        row, first, end = self._passages.columns()
        last = np.append(row[1:] != row[:-1], True) if len(row) else np.empty(0, np.bool_)
        there = end > first
        edges = np.zeros(self._next + PHRASE_GAP + 1, np.int8)
        np.add.at(edges, first[there], 1)
        np.add.at(edges, (end + PHRASE_GAP * last)[there], -1)
        kept = np.cumsum(edges, dtype=np.int8) > 0
        shift = np.cumsum(~kept, dtype=np.uint32)
        self.postings.renumber(shift)
        self._next = int(np.count_nonzero(kept))
        rows = self._rows.compact()
        numbers = self._passages.compact(rows, shift)
        if self.vectors is not None:
            self.vectors.renumber(numbers)
        self.age += 1
        self._conversations = ConversationIndex(self._rows)
        self._speakers = self._speakers.compact(self._rows["speaker"])
        self._columns = None

    # --- what is there ------------------------------------------------------------------------------------------------

    def every(self) -> Rows:
        """Return the numbers of all documents that are there."""
        return np.flatnonzero(self._rows.alive)

    def rows_of(self, stream: int) -> Rows:
        """Return the numbers of the documents of a conversation."""
        span = self._conversations.span(stream)
        found: Rows = np.flatnonzero(self._rows.alive[span] & (self._rows["stream"][span] == stream))
        return found + span.start if len(found) else found

    def holding(self, phrase: Sequence[str], rows: Rows) -> NDArray[np.bool_]:
        """Tell which documents, in ascending order, hold a phrase of one term or more."""
        return np.isin(rows, bm25.holding(self.postings, self._passages, phrase, rows))

    # --- what ranking asks (`ranking.columns.Corpus`) -----------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """The documents."""
        self._relink()
        if self._columns is None:
            self._columns = self._told_to_ranking()
        return self._columns

    def _told_to_ranking(self) -> Columns:
        rows = self._rows
        return Columns(
            alive=rows.alive,
            archived=rows["archived"].astype(np.bool_),
            stream=rows["stream"],
            turn=rows["turn"],
            message=rows["message"],
            time_ms=rows["time_ms"],
            role=rows["role"],
            speaker=rows["speaker"],
            previous=rows["previous"],
            following=rows["following"],
            session=rows["session"],
            speakers=self._speakers.names(),
        )

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in their order, as they are indexed."""
        return self.tokenizer.words(text)

    def named(self, term: str) -> list[int]:
        """Return the speakers with a term in their name, as far as they said anything that is there."""
        return self._speakers.named(term)

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
        if not isinstance(self.vectors, Meaning):
            return None
        row_of = np.frombuffer(self._passages.row, np.int64)
        return self.vectors.similarity(text, row_of, len(self._rows), within)

    # --- what meaning asks --------------------------------------------------------------------------------------------

    def passage_rows(self) -> Rows:
        """Return the document of each passage, by the numbers of passages; it is ascending."""
        return np.array(self._passages.row, np.int64)

    @property
    def passages_count(self) -> int:
        """How many passages of documents are there."""
        return self._passages.alive

    def passages_there(self) -> Rows:
        """Return the numbers of all passages of documents that are there."""
        _, first, end = self._passages.columns()
        return np.flatnonzero(end > first)

    def are_there(self, passages: Rows) -> NDArray[np.bool_]:
        """Tell which passages are of documents that are there; their numbers are of this age of the index."""
        there = [self._passages.end[each] > self._passages.first[each] for each in passages.tolist()]
        return np.array(there, np.bool_)

    # --- what it is ---------------------------------------------------------------------------------------------------

    def told(self) -> Iterator[list[object]]:
        """Yield all that is known of each conversation as plain data, in the order of the keys."""
        self.compact()
        return told(self._rows, self._passages, self.postings, self._speakers.names())

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield all that is known as named bytes, without anything of what was taken out."""
        self._relink()
        if self._rows.dead:
            self.compact()
        yield "head", encode_plain(IndexHead(size=self.size, places=self._next, speakers=self._speakers.names()))
        yield from self._rows.sections()
        yield from self._passages.sections()
        yield from self.postings.sections()
        if self.vectors is not None:
            yield from self.vectors.sections()

    @classmethod
    def of_sections(cls, sections: Mapping[str, bytes]) -> Index:
        """Return the index that sections hold; of what lies beside, who keeps it takes it up."""
        made, head = cls(), _head.decode(sections["head"])
        made.size, made._next = head.size, head.places
        made._rows, made._passages = DocumentTable.of_sections(sections), Passages.of_sections(sections)
        made._speakers = Speakers(made.tokenizer.words, head.speakers)
        made._speakers.count(np.bincount(made._rows["speaker"], minlength=len(head.speakers)).tolist())
        made.postings = Postings.of_sections(sections)
        made._conversations = ConversationIndex(made._rows)
        return made
