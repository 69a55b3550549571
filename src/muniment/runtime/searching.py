"""Search: the messages of a space that answer a question, best first. Imported when it is first asked for (numpy)."""

from __future__ import annotations

from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.projections.search.documents import documents
from muniment.projections.search.index import Index
from muniment.ranking.question import Question
from muniment.ranking.ranking import Ranked, rank
from muniment.runtime.desk import Desk
from muniment.runtime.embedding import Embedding
from muniment.runtime.hits import Excerpt, Found, Hit, Ranking, Within
from muniment.runtime.paging import limit_of_query
from muniment.runtime.place import place_of


class Searching:
    """One search on its way."""

    def __init__(self, desk: Desk, query: str, view: View, within: Within, ranking: Ranking) -> None:
        desk.access.require_view(view)
        self._desk = desk
        self._query = query
        self._view = view
        self._within = within
        self._ranking = ranking

    def run(self, limit: int, cursor: str | None) -> Found:
        """Return the page."""
        space = self._desk.space
        del cursor
        limit = limit_of_query(limit, space.limits.page_turns_max)
        now_ms = space.sources.clock.now_ms()
        with space.shelf.caught_up(self._view, self._desk.progress) as (index, reader):
            embedding = Embedding(space, self._view, index)
            embedding.learn_newest(reader)
            candidates = index.every()
            question = Question(self._query, self._ranking.asked_ms or now_ms)
            ranked = rank(question, index, candidates, self._ranking.weights)
            hits = [self._hit(reader, index, ranked, at) for at in range(min(limit, len(ranked.rows)))]
            semantic, flaw = embedding.semantic()
        return Found(hits=hits, semantic=semantic, semantic_flaw=flaw, has_more=len(ranked.rows) > limit)

    def _hit(self, reader: Reader, index: Index, ranked: Ranked, at: int) -> Hit:
        space, columns, row = self._desk.space, index.columns, int(ranked.rows[at])
        stream, turn, message = int(columns.stream[row]), int(columns.turn[row]), int(columns.message[row])
        transcript = space.transcript
        head = transcript.head(reader, stream)
        [read] = transcript.shown(reader, head, turn, turn, self._view)
        [document] = [
            each
            for each in documents(read.record, self._view, space.lookout.view(self._view))
            if each.message == message
        ]
        opened = reader.sealed(stream)
        assert opened is not None, "a stream is numbered by the event that opened it"
        names = transcript.names(opened)
        key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
        return Hit(
            place=place_of(key, head, read, message),
            role=document.role,
            speaker=document.speaker,
            excerpt=Excerpt(text=document.text),
            score=float(ranked.scores[at]),
        )
