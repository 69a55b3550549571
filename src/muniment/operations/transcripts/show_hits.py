"""Showing what was found: each hit is read again from the log, by the reader of the index, as the view shows it."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import TurnMeta
from muniment.governance.judgement import needs_content
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.log.port import Reader, StreamHead
from muniment.operations.place import place_of
from muniment.operations.transcripts.hits import Excerpt, Hit
from muniment.projections.transcript import ReadTurn
from muniment.ranking.ranking import Ranked
from muniment.search.documents import SearchDocument, documents
from muniment.search.excerpt import WantedTerms, excerpt
from muniment.search.index import Index

OF_ITS_OWN = ("keyword", "semantic")  # signals that say something about a message itself
SCORE_DIGITS = 6


class Showing:
    """Shows hits as the view shows their turns, read by the reader of the index."""

    def __init__(self, session: Session, view: View, index: Index, reader: Reader) -> None:
        self._space = session.space
        self._view = view
        self._index = index
        self._reader = reader
        self._heads: dict[int, tuple[StreamHead, ConversationKey]] = {}

    def hit(self, found: Ranked, at: int, wanted: WantedTerms, *, explained: bool) -> Hit:
        """Return one of those that were found."""
        columns, row = self._index.columns, int(found.rows[at])
        stream, turn, message = int(columns.stream[row]), int(columns.turn[row]), int(columns.message[row])
        head, key = self._conversation(stream)
        read, document = self._read(head, turn, message)
        window = excerpt(document.text, wanted, self._index.tokenizer)
        signals = {name: _rounded(values[at]) for name, values in found.signals.items()} if explained else None
        return Hit(
            place=place_of(key, head, read, message),
            role=document.role,
            speaker=document.speaker,
            excerpt=Excerpt(
                text=window.text,
                highlights=window.highlights,
                cut_before=window.cut_before,
                cut_after=window.cut_after,
            ),
            score=_rounded(found.scores[at]),
            beside=bool(found.scores[at] > 0 and not any(found.signals[name][at] for name in OF_ITS_OWN)),
            signals=signals,
        )

    def _conversation(self, stream: int) -> tuple[StreamHead, ConversationKey]:
        if stream not in self._heads:
            transcript = self._space.transcript
            opened = self._reader.sealed(stream)
            assert opened is not None, "a stream is numbered by the event that opened it"
            names = transcript.names(opened)
            key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
            self._heads[stream] = (transcript.head(self._reader, stream), key)
        return self._heads[stream]

    def _read(self, head: StreamHead, turn: int, message: int) -> tuple[ReadTurn, SearchDocument]:
        [read] = self._space.transcript.page(self._reader, head, turn, turn, self._needed)
        shown = documents(read.record, self._view, self._space.detection.view(self._view))
        found = {each.message: each for each in shown}
        assert message in found, "an index holds what its view shows in the very state of the log that the reader has"
        return read, found[message]

    def _needed(self, phase: Phase, meta: TurnMeta) -> bool:
        return needs_content(self._view, phase, meta)


def _rounded(score: float) -> float:
    return round(float(score), SCORE_DIGITS)
