"""The messages that a recall finds: those of turns of the subject, as the view shows them."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.governance.views import View
from muniment.memory.recall_weights import RecallWeights
from muniment.operations.memory.recall_report import AskedRecall, RecallPlane
from muniment.operations.memory.recalled import POOL_FACTOR, PlaneCount, Recalled, RecalledBatch
from muniment.operations.transcripts.embed import coverage, embed_newest
from muniment.operations.transcripts.show_hits import HitsToShow, shown_hits
from muniment.ranking.question import Question
from muniment.ranking.weights import Weights
from muniment.search.found_documents import found_documents
from muniment.search.partitions import MESSAGES, partition

NEIGHBOURS, SESSION = 0.35, 0.4  # as in a search, where what is around a message counts at all


def index_weights(weights: RecallWeights, *, linked: bool) -> Weights:
    """Return the weights by which an index chooses its best documents; items are in no session."""
    counts = linked and weights.context > 0
    return Weights(
        keyword=weights.lexical,
        semantic=weights.similarity,
        neighbours=NEIGHBOURS if counts else 0,
        session=SESSION if counts else 0,
        speaker=weights.entity if linked else 0,
        role=weights.authority if linked else 0,
        date=weights.time,
        recency=weights.recency,
    )


def recalled_messages(session: Session, asked: AskedRecall, view: View, question: Question) -> RecalledBatch:
    """Return the best messages of the turns of a subject, those until a time if the past is asked for."""
    space, plane = session.space, RecallPlane.TRANSCRIPT
    part = partition(MESSAGES, asked.subject)
    with space.indexes.caught_up(view, session.progress) as caught:
        index, reader = caught
        embed_newest(space, view, caught)
        own = index.within([part], question.asked_ms)
        if session.access.subject is not None:
            index = index.part(own)
        rows = index.listed(own, asked.scope.as_of_ms)
        weights = index_weights(asked.weights, linked=True)
        found = found_documents(index, question, rows, weights, POOL_FACTOR * asked.limit)
        to_show = HitsToShow(found.ranked, found.question.searched)
        hits = shown_hits(space, view, index, reader, to_show, [document.place for document in found.documents])
        semantic, reason = coverage(space, index)
    candidates = [
        Recalled(
            plane=plane,
            id=hit.place.message or hit.place.turn,
            position=hit.place.position,
            observed_ms=document.time_ms,
            relevance=document.relevance,
            parts=document.parts,
            ages=True,
            source=hit,
        )
        for document, hit in zip(found.documents, hits, strict=True)
    ]
    count = PlaneCount(candidates=found.candidates.get(part, 0), matched=found.matched.get(part, 0))
    best = found.words_best, found.ranked.semantic_best
    return RecalledBatch(candidates, {plane: count}, *best, semantic, reason)
