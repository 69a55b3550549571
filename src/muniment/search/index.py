"""The index of what one view of a space shows: its documents as rows, their terms as postings, their vectors.

A turn is put as a whole, and put again whenever an event changes it; its former documents are removed first and are
found no more. `purge` then removes their words for good. The numbers of documents and the places of terms depend on
that history and are private: `contents` and every score are those of an index that was made from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from msgspec import Struct
from msgspec.json import Decoder
from numpy.typing import NDArray

from muniment.errors import LimitExceeded
from muniment.kernel.canonical import encode_plain
from muniment.ranking.columns import NO_ROW, ROLES, Columns, KeywordScores, Rows, Scores
from muniment.search import bm25
from muniment.search.conversation_rows import ConversationIndex
from muniment.search.document_table import DocumentTable, Passages, SearchDocument, relinked, split_passages
from muniment.search.meaning import Meaning
from muniment.search.partitions import MESSAGES, Partitions, partition
from muniment.search.postings import PLACES_MAX, Postings
from muniment.search.speakers import Speakers
from muniment.search.terms import Tokenizer

PHRASE_GAP = 1  # free places between documents
DEAD_SHARE = 4  # when more than one in so many rows is dead, the index is compacted
DEAD_ROWS_MAX = 1000  # stay where they are

PLACE_OF_ROLE = {role: place for place, role in enumerate(ROLES)}
CONTENTS = ("turn", "message", "time_ms", "role", "speaker", "archived", "session", "partition", "until_ms", "standing")


class IndexHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an index holds besides its arrays."""

    size: int
    places: int
    speakers: list[str]
    partitions: list[str]


_head = Decoder(IndexHead)


class Index:
    """Documents and terms of what a view shows, as of the first `size` events of a log. For one thread at a time.

    Documents of a conversation are `linked` to those before and after them. Memory items stand alone.
    """

    def __init__(self, *, linked: bool = True) -> None:
        self._linked = linked
        self.size = 0
        self.age = 0  # grows when passages get new numbers
        self.tokenizer = Tokenizer()
        self.postings = Postings()
        self.meaning = Meaning()
        self._rows = DocumentTable()
        self._passages = Passages()
        self._conversations = ConversationIndex(self._rows)
        self._unlinked: set[int] = set()  # conversations in which a turn changed, or came late
        self._speakers = Speakers(self.tokenizer.words)
        self.partitions = Partitions()
        self._next = 0
        self._columns: Columns | None = None
        self._part: Rows | None = None

    def __len__(self) -> int:
        return len(self._rows) - self._rows.dead

    @property
    def memory_bytes(self) -> int:
        """How much memory this takes, about."""
        parts = (self.postings, self._rows, self._passages, self._conversations, self.meaning)
        return sum([part.memory_bytes for part in parts])

    # --- growing ------------------------------------------------------------------------------------------------------

    def put(self, stream: int, turn: int, documents: Sequence[SearchDocument], *, archived: bool = False) -> None:
        """Replace the documents of a turn."""
        conversation = self._conversations.of(stream)
        if conversation.row(turn) != NO_ROW:
            self.remove([(stream, turn)])
        if not documents:
            return
        if self._reserve(documents):
            conversation = self._conversations.of(stream)
        self._columns = None
        is_next = turn > conversation.last_turn and stream not in self._unlinked
        first = len(self._rows)
        before = conversation.last_row if is_next else None
        self._add((stream, turn), documents, archived, before if self._linked else NO_ROW)
        conversation.set(turn, first)
        if is_next:
            conversation.last_turn, conversation.last_row = turn, len(self._rows) - 1
        else:
            self._unlinked.add(stream)

    def remove(self, turns: Iterable[tuple[int, int]]) -> None:
        """Remove turns, as far as they are indexed: their words are found no more."""
        rows: list[int] = []
        for stream, turn in turns:
            of_turn = self._conversations.rows_of(stream, turn)
            if of_turn:
                self._conversations.of(stream).set(turn, NO_ROW)
                self._unlinked.add(stream)
                rows += of_turn
        if rows:
            self.meaning.drop([number for row in rows for number in self._passages.of(row)])
            self.postings.drop([span for row in rows for span in self._passages.remove(row)])
            self._speakers.uncount(self._rows["speaker"][rows].tolist())
            self._rows.remove(rows)
            self._columns = None

    def _reserve(self, documents: Sequence[SearchDocument]) -> bool:
        """Reserve places (a text has no more terms than characters); return whether the index was compacted for it."""
        wanted = sum([len(document.text) + PHRASE_GAP for document in documents])
        if self._next + wanted <= PLACES_MAX:
            return False
        self.compact()
        if self._next + wanted > PLACES_MAX:
            raise LimitExceeded(at="index", problem="too_large", limit=PLACES_MAX)
        return True

    def _add(
        self, of: tuple[int, int], documents: Sequence[SearchDocument], archived: bool, before: int | None
    ) -> None:
        """Add documents, linked to each other and the first to a row before; with None they are linked later."""
        add, add_passage, words_of = self._rows.append, self._passages.append, self.tokenizer.words
        linked = NO_ROW if before is None else before
        for document in documents:
            role, speaker = PLACE_OF_ROLE[document.role], self._speakers.count(document.speaker)
            part = self.partitions.number(document.partition)
            own = (document.message, document.time_ms, role, speaker, archived)
            row = add((*of, *own, part, document.until_ms, document.standing, linked))
            for text in split_passages(document.text):
                words = words_of(text)
                if words:
                    first, self._next = self._next, self._next + len(words)
                    add_passage(row, first, self._next)
                    self.postings.add(words, first)
                    for term, place in self.tokenizer.trigrams(text):
                        self.postings.add([term], first + place)
            self._next += PHRASE_GAP
            if before is not None and self._linked:
                linked = row

    def _relink(self) -> None:
        """Link the documents of every conversation in which a turn changed, or came late."""
        for stream in self._unlinked if self._linked else ():
            self._conversations.relink(stream)
        self._unlinked.clear()

    # --- order --------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Sort what was added, and compact what was removed, where it is much."""
        if self._rows.dead > max(DEAD_ROWS_MAX, len(self._rows) // DEAD_SHARE):
            self.compact()
        elif self.postings.unsettled:
            self.postings.settle()

    def settle_much(self) -> None:
        """Sort what was added while the index is being made, when it takes much memory."""
        self.postings.settle_much()

    def purge(self) -> None:
        """Remove for good the words of removed turns."""
        self.postings.purge()

    def compact(self) -> None:
        """Give documents and places new numbers, without gaps for removed ones."""
        self._relink()
        row, first, end = self._passages.columns()
        last = np.append(row[1:] != row[:-1], True) if len(row) else np.empty(0, np.bool_)
        present = end > first
        edges = np.zeros(self._next + PHRASE_GAP + 1, np.int8)
        np.add.at(edges, first[present], 1)
        np.add.at(edges, (end + PHRASE_GAP * last)[present], -1)
        kept = np.cumsum(edges, dtype=np.int8) > 0
        shift = np.cumsum(~kept, dtype=np.uint32)
        self.postings.renumber(shift)
        self._next = int(np.count_nonzero(kept))
        rows = self._rows.compact()
        self.meaning.renumber(self._passages.compact(rows, shift))
        self.age += 1
        self._conversations = ConversationIndex(self._rows)
        self._speakers = self._speakers.compact(self._rows["speaker"])
        self.partitions = self.partitions.compact(self._rows["partition"])
        self._columns = None

    # --- documents ----------------------------------------------------------------------------------------------------

    def every(self) -> Rows:
        """Return the numbers of all documents."""
        if self._part is not None:
            return self._part
        return np.flatnonzero(self._rows.alive)

    def rows_of(self, stream: int) -> Rows:
        """Return the numbers of the documents of a conversation."""
        span = self._conversations.span(stream)
        rows: Rows = np.flatnonzero(self._rows.alive[span] & (self._rows["stream"][span] == stream))
        rows = rows + span.start if len(rows) else rows
        return rows if self._part is None else np.intersect1d(rows, self._part, assume_unique=True)

    def of_subject(self, subject: str) -> Index:
        """Return this index for one answer, as if there were no messages but those of a subject's turns."""
        return self.part(self.within([partition(MESSAGES, subject)], 0))

    def part(self, rows: Rows) -> Index:
        """Return this index for one answer, as if there were no other documents than some, in ascending order.

        What is beside each other, and in one session, is decided among them alone.
        """
        made, columns = Index(), self.columns
        made.__dict__.update(self.__dict__)
        made._part, made._columns = rows, relinked(columns, rows)
        return made

    def within(self, partitions: Iterable[str], at_ms: int) -> Rows:
        """Return the numbers of the documents of some partitions that are true at a time."""
        wanted = np.zeros(len(self.partitions.names()) + 1, np.bool_)
        for name in partitions:
            number = self.partitions.known(name)
            if number is not None:
                wanted[number] = True
        until = self._rows["until_ms"]
        return np.flatnonzero(self._rows.alive & wanted[self._rows["partition"]] & ((until == 0) | (until > at_ms)))

    def among(self, stream: int, entry: int, rows: Rows) -> bool:
        """Tell whether an entry has documents, and all of them are among some, which are in ascending order."""
        of_entry = self._conversations.rows_of(stream, entry)
        at = np.searchsorted(rows, of_entry)
        return bool(of_entry) and int(at[-1]) < len(rows) and bool((rows[at] == of_entry).all())

    def time_of(self, stream: int, entry: int) -> int:
        """Return the time of an entry that has documents."""
        return int(self._rows["time_ms"][self._conversations.rows_of(stream, entry)[0]])

    def listed(self, rows: Rows, until_ms: int | None) -> Rows:
        """Return those of some documents that are not archived and, if that is said, not later than a time."""
        kept = self._rows["archived"][rows] == 0
        if until_ms is not None:
            kept &= self._rows["time_ms"][rows] <= until_ms
        listed: Rows = rows[kept]
        return listed

    def standing(self, rows: Rows) -> tuple[list[int], list[int], list[int]]:
        """Return the standing, the stream and the number of the entry of some documents, those that stand best first.

        Of equal ones the latest comes first.
        """
        columns = [self._rows[name][rows] for name in ("turn", "stream", "time_ms", "standing")]
        order = np.lexsort(columns)[::-1]
        entry, stream, _, standing = (column[order].tolist() for column in columns)
        return standing, stream, entry

    def counts(self, rows: Rows) -> dict[str, int]:
        """Return how many of some documents each partition has."""
        numbers = np.bincount(self._rows["partition"][rows], minlength=len(self.partitions.names()))
        return {name: int(number) for name, number in zip(self.partitions.names(), numbers, strict=True) if number}

    def holding(self, phrase: Sequence[str], rows: Rows) -> NDArray[np.bool_]:
        """Tell which documents, in ascending order, contain a phrase of one term or more."""
        return np.isin(rows, bm25.holding(self.postings, self._passages, phrase, rows))

    # --- for ranking (`ranking.columns.Corpus`) -----------------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """The documents."""
        if self._unlinked:
            self._relink()
        if self._columns is None:
            self._columns = self._all_columns()
        return self._columns

    def _all_columns(self) -> Columns:
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
        """Return the speakers of documents with a term in their name."""
        return self._speakers.named(term)

    def beginning(self, phrase: Sequence[str], within: Rows) -> Rows:
        """Return those of some documents that begin with a phrase of one term or more; all in ascending order."""
        return bm25.beginning(self.postings, self._passages, phrase, within, whole=len(within) == len(self))

    def scored(self, phrases: Sequence[Sequence[str]], within: Rows | None = None) -> KeywordScores:
        """Return the bm25 of each document for phrases of one term or more; that of its best passage.

        With `within`, only these rows are scored, and the statistics are theirs.
        """
        within = self.every() if within is None else within
        return bm25.keyword(self.postings, self._passages, phrases, within, whole=len(within) == len(self))

    def keyword(self, phrases: Sequence[Sequence[str]], within: Rows | None = None) -> Scores:
        """Return the scores of `scored`."""
        return self.scored(phrases, within).scores

    def similarity(self, text: str, within: Rows | None = None) -> Scores | None:
        """Return the cosine of each document's best passage to a text; nan where it has no vector yet, None without."""
        row_of = np.frombuffer(self._passages.row, np.int64)
        return self.meaning.similarity(text, row_of, len(self._rows), within)

    # --- passages -----------------------------------------------------------------------------------------------------

    def passage_rows(self) -> Rows:
        """Return the document of each passage, by the numbers of passages, ascending."""
        return np.array(self._passages.row, np.int64)

    @property
    def passages_count(self) -> int:
        """How many passages there are."""
        return self._passages.alive

    def present_passages(self) -> Rows:
        """Return the numbers of all passages."""
        _, first, end = self._passages.columns()
        return np.flatnonzero(end > first)

    def are_present(self, passages: Rows) -> NDArray[np.bool_]:
        """Tell which passages were not removed since; their numbers are of this age of the index."""
        _, first, end = self._passages.columns()
        return np.asarray(end[passages] > first[passages])

    # --- contents -----------------------------------------------------------------------------------------------------

    def contents(self) -> Iterator[list[object]]:
        """Yield each conversation with its documents as plain data that does not depend on their history, in order."""
        self.compact()
        rows, speakers, partitions = self._rows, self._speakers.names(), self.partitions.names()
        documents = list(zip(*(rows[name].tolist() for name in CONTENTS), strict=True))
        terms = PassageTerms(self._passages, self.postings)
        order = np.lexsort((rows["message"], rows["turn"], rows["stream"])).tolist()
        for stream, of_stream in groupby(order, rows["stream"].tolist().__getitem__):
            conversation: list[object] = [stream]
            for row in of_stream:
                turn, message, time_ms, role, speaker, archived, session, part, until_ms, standing = documents[row]
                facts = [turn, message, time_ms, ROLES[role], speakers[speaker], bool(archived), session == row]
                facts += [partitions[part], until_ms, standing]
                conversation.append([*facts, [terms.of(number) for number in self._passages.of(row)]])
            yield conversation

    def sections(self) -> Iterator[tuple[str, bytes]]:
        """Yield everything as named bytes, without anything of removed turns."""
        self._relink()
        if self._rows.dead:
            self.compact()
        head = IndexHead(
            size=self.size,
            places=self._next,
            speakers=self._speakers.names(),
            partitions=self.partitions.names(),
        )
        yield "head", encode_plain(head)
        yield from self._rows.sections()
        yield from self._passages.sections()
        yield from self.postings.sections()
        yield from self.meaning.sections()

    @classmethod
    def of_sections(cls, sections: Mapping[str, bytes], *, linked: bool = True) -> Index:
        """Return the index of sections, without its vectors (`Meaning.of_sections`)."""
        made, head = cls(linked=linked), _head.decode(sections["head"])
        made.size, made._next = head.size, head.places
        made._rows, made._passages = DocumentTable.of_sections(sections), Passages.of_sections(sections)
        made._speakers = Speakers(made.tokenizer.words, head.speakers)
        made._speakers.set_counts(np.bincount(made._rows["speaker"], minlength=len(head.speakers)).tolist())
        made.partitions = Partitions(head.partitions)
        made.postings = Postings.of_sections(sections)
        made._conversations = ConversationIndex(made._rows)
        return made


class PassageTerms:
    """The terms of passages."""

    def __init__(self, passages: Passages, postings: Postings) -> None:
        places, self._terms = postings.by_place()
        _, firsts, ends = passages.columns()
        begins, stops = np.searchsorted(places, firsts), np.searchsorted(places, ends)
        self._is_plain = (stops - begins == ends - firsts).tolist()
        self._places, self._begins, self._stops = places.tolist(), begins.tolist(), stops.tolist()

    def of(self, number: int) -> list[object]:
        """Return the terms of a passage in their order; those at the same place are sorted."""
        span = slice(self._begins[number], self._stops[number])
        if self._is_plain[number]:  # one at each place, as mostly
            return [[term] for term in self._terms[span]]
        here = sorted(zip(self._places[span], self._terms[span], strict=True))
        return [[term for _, term in group] for _, group in groupby(here, itemgetter(0))]
