"""Showing hits: each is read again from the log, by the reader of the index, as the view shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.governance.judgement import needs_content
from muniment.governance.views import View
from muniment.log.port import Reader, StreamHead
from muniment.operations.place import place_of
from muniment.operations.transcripts.hits import Excerpt, Hit
from muniment.projections.transcript import ReadTurn
from muniment.ranking.ranking import Ranked
from muniment.search.document_table import SearchDocument
from muniment.search.documents import documents
from muniment.search.excerpt import excerpt, wanted_terms
from muniment.search.index import Index
from muniment.space.space import Space

SCORE_DIGITS = 6


class HitsToShow(NamedTuple):
    """Hits of an index, the best first, with the phrases to highlight, and whether each score is explained."""

    ranked: Ranked
    phrases: Sequence[Sequence[str]]
    explain: bool = False


def shown_hits(
    space: Space, view: View, index: Index, reader: Reader, found: HitsToShow, places: Iterable[int]
) -> list[Hit]:
    """Return the hits at some places as a view shows them; each conversation and each turn is read once."""
    columns, ranked = index.columns, found.ranked
    detection, needed = space.detection.view(view), partial(needs_content, view)
    wanted = wanted_terms(found.phrases)
    conversations: dict[int, tuple[StreamHead, ConversationKey]] = {}
    turns: dict[tuple[int, int], tuple[ReadTurn, dict[int, SearchDocument]]] = {}
    hits: list[Hit] = []
    for at in places:
        row, score = int(ranked.rows[at]), float(ranked.scores[at])
        stream, turn, message = int(columns.stream[row]), int(columns.turn[row]), int(columns.message[row])
        if stream not in conversations:
            conversations[stream] = _conversation(space, reader, stream)
        head, key = conversations[stream]
        if (stream, turn) not in turns:
            [read] = space.transcript.page(reader, head, turn, turn, needed)
            shown = documents(read.record, view, detection)
            turns[stream, turn] = read, {document.message: document for document in shown}
        read, by_message = turns[stream, turn]
        document = by_message.get(message)
        assert document is not None, "an index holds what its view shows in the reader's state of the log"
        window = excerpt(document.text, wanted, index.tokenizer)
        hit = Hit(
            place=place_of(key, head, read, message),
            role=document.role,
            speaker=document.speaker,
            excerpt=Excerpt(
                text=window.text,
                highlights=window.highlights,
                cut_before=window.cut_before,
                cut_after=window.cut_after,
            ),
            score=round(score, SCORE_DIGITS),
            is_context=not ranked.matching[at],
            signals=_signals(ranked, at) if found.explain else None,
        )
        hits.append(hit)
    return hits


def _conversation(space: Space, reader: Reader, stream: int) -> tuple[StreamHead, ConversationKey]:
    opened = reader.sealed(stream)
    assert opened is not None, "a stream has the number of the event that opened it"
    names = space.transcript.names(opened)
    key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
    return space.transcript.head(reader, stream), key


def _signals(ranked: Ranked, at: int) -> dict[str, float]:
    return {name: round(float(values[at]), SCORE_DIGITS) for name, values in ranked.signals.items()}
