"""Recall: what memory has on a question, items and messages in one ranking. Imported when it is first used (numpy).

1. Gates come first: an index of the view holds nothing that the view hides, and only the partitions of what the
   subject may know are candidates. So nothing that is withheld moves a score.
2. The messages of the subject and the items of each plane are found by the indexes that searches use, with the same
   ranking; of each, `POOL_FACTOR` times as many as are wanted are taken further.
3. Items that rest on the best messages are candidates, too, and are lent a share of their scores (`lending`).
4. Items are read from the log and get the components that only they have. What depends on words and meaning is a share
   of the best hit of both indexes, so that there is one ranking (`memory.recall_scoring`).
5. What matches too little of the question is left out; an empty answer is an answer.

The past is found in an index of its own, made of the items as they were then.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import check_name
from muniment.governance.views import View
from muniment.memory.fold import MemoryItem
from muniment.memory.recall_scoring import score, weighted
from muniment.memory.recall_weights import RecallWeights
from muniment.operations.memory.hit_evidence import hit_evidence
from muniment.operations.memory.lending import lendings, lends
from muniment.operations.memory.recall_query import worded
from muniment.operations.memory.recall_report import (
    CONSIDERED_MAX,
    AskedRecall,
    ConsideredCandidate,
    HitEvidence,
    PlaneReport,
    RecallHit,
    RecallMiss,
    RecallPlane,
    Recollection,
)
from muniment.operations.memory.recalled import PlaneCount, Recalled, RecalledBatch
from muniment.operations.memory.recalled_items import item_index, recalled_items
from muniment.operations.memory.recalled_messages import recalled_messages
from muniment.operations.memory.shown_item import ItemShower
from muniment.operations.transcripts.hits import Hit
from muniment.operations.transcripts.show_hits import SCORE_DIGITS
from muniment.ranking.question import Question

NONE_FOUND = RecalledBatch([], {})


class ScoredCandidate(NamedTuple):
    """A candidate with what its components add to its score."""

    recalled: Recalled
    added: dict[str, float]
    score: float


def recall(session: Session, asked: AskedRecall, view: View) -> Recollection:
    """Return what memory has on a question."""
    space, longest = session.space, session.space.limits.page_turns_max
    check_name(asked.subject, at="subject")
    session.access.require_subjects(asked.subject)
    session.access.require_view(view)
    if not 1 <= asked.limit <= longest:
        raise InvalidInput(at="limit", problem="out_of_range", limit=longest, found=asked.limit)
    wording, now_ms = worded(session, asked, view), space.sources.clock.now_ms()
    question = Question(wording.text, now_ms if asked.scope.as_of_ms is None else asked.scope.as_of_ms)
    messages, are_asked = NONE_FOUND, RecallPlane.TRANSCRIPT in asked.planes
    if are_asked or (asked.item_planes and lends(view, asked.weights)):
        messages = recalled_messages(session, asked, view, question)
    lending = lendings(messages, asked.weights) if lends(view, asked.weights) else []
    with item_index(session, asked, view) as opened:
        items = recalled_items(session, asked, opened, question, lending) if asked.item_planes else NONE_FOUND
        ranked = _ranked(asked, [messages, items], question.asked_ms)
        fitting = [each for each in ranked if each.recalled.relevance >= asked.ranking.least_relevance]
        selected = fitting[: asked.limit]
        shower = ItemShower(space, opened.reader, view, opened.sources)
        hits = [_hit(each, shower, explain=asked.ranking.explain) for each in selected]
        counts = {**messages.counts, **items.counts}
        planes = [
            _plane_report(plane, asked, counts.get(plane, PlaneCount()), ranked, selected) for plane in asked.planes
        ]
    batch = items if asked.item_planes else messages
    return Recollection(
        hits=hits,
        planes=planes,
        semantic=batch.semantic,
        semantic_reason=batch.semantic_reason,
        extended=wording.extended,
    )


def _ranked(asked: AskedRecall, batches: list[RecalledBatch], asked_ms: int) -> list[ScoredCandidate]:
    """Return messages and items in one order: the best first, of equal ones the latest, then the last recorded."""
    weights, is_asked = asked.weights, frozenset(asked.planes)
    keyword_best = max(batch.keyword_best for batch in batches)
    semantic_best = max(batch.semantic_best for batch in batches)
    lent = max(_share(batches[0].keyword_best, keyword_best), _share(batches[0].semantic_best, semantic_best))
    scored: list[ScoredCandidate] = []
    for batch in batches:
        by_words, by_meaning = _share(batch.keyword_best, keyword_best), _share(batch.semantic_best, semantic_best)
        scales = {"lexical": by_words, "similarity": by_meaning, "context": max(by_words, by_meaning)}
        scales["source"] = lent
        for one in batch.candidates:
            if one.plane not in is_asked:
                continue
            parts = {name: part * scales.get(name, 1.0) for name, part in one.parts.items()}
            scored.append(_scored(one, weighted(parts, weights), weights, asked_ms))
    kept = [each for each in scored if each.score >= weights.least]
    return sorted(kept, key=lambda each: (-each.score, -each.recalled.observed_ms, -each.recalled.position))


def _scored(recalled: Recalled, added: dict[str, float], weights: RecallWeights, asked_ms: int) -> ScoredCandidate:
    age_ms = asked_ms - recalled.observed_ms if recalled.ages else None
    return ScoredCandidate(recalled, added, score(added, weights, age_ms))


def _share(value: float, best: float) -> float:
    return value / best if best else 0.0


def _hit(candidate: ScoredCandidate, shower: ItemShower, *, explain: bool) -> RecallHit:
    recalled, source = candidate.recalled, candidate.recalled.source
    components = {name: round(part, SCORE_DIGITS) for name, part in candidate.added.items()} if explain else None
    result = RecallHit(
        plane=recalled.plane,
        id=recalled.id,
        text="",
        score=round(candidate.score, SCORE_DIGITS),
        relevance=round(recalled.relevance, SCORE_DIGITS),
        position=recalled.position,
        observed_ms=recalled.observed_ms,
        components=components,
    )
    return _with_message(result, source) if isinstance(source, Hit) else _with_item(result, source, shower)


def _with_message(hit: RecallHit, message: Hit) -> RecallHit:
    place, excerpt = message.place, message.excerpt
    return replace(
        hit,
        text=excerpt.text,
        cut=excerpt.cut_before or excerpt.cut_after,
        role=message.role,
        speaker=message.speaker,
        evidence=[HitEvidence(conversation=place.conversation, turn=place.turn, message=place.message)],
    )


def _with_item(hit: RecallHit, item: MemoryItem, shower: ItemShower) -> RecallHit:
    shown = shower.shown(item)
    assert shown.text is not None, "an index holds what its view shows in the reader's state of the log"
    return replace(
        hit,
        text=shown.text,
        topic=shown.topic,
        kind=shown.kind,
        confidence=shown.confidence,
        state=shown.state,
        evidence=[hit_evidence(shower, source) for source in item.meta.evidence],
    )


def _plane_report(
    plane: RecallPlane,
    asked: AskedRecall,
    count: PlaneCount,
    ranked: list[ScoredCandidate],
    selected: list[ScoredCandidate],
) -> PlaneReport:
    of_plane = [each for each in ranked if each.recalled.plane is plane]
    chosen = [each.recalled.id for each in selected if each.recalled.plane is plane]
    considered = of_plane[:CONSIDERED_MAX] if asked.ranking.explain else []
    return PlaneReport(
        plane=plane,
        backend="words+meaning" if any("similarity" in each.added for each in of_plane) else "words",
        candidates=count.candidates,
        matched=count.matched,
        selected=len(chosen),
        ids=chosen,
        withheld=count.withheld,
        miss=None if chosen else _miss(asked, count, of_plane),
        considered=[
            ConsideredCandidate(
                id=each.recalled.id,
                score=round(each.score, SCORE_DIGITS),
                relevance=round(each.recalled.relevance, SCORE_DIGITS),
                selected=each.recalled.id in chosen,
                components={name: round(part, SCORE_DIGITS) for name, part in each.added.items()},
            )
            for each in considered
        ],
    )


def _miss(asked: AskedRecall, count: PlaneCount, ranked: list[ScoredCandidate]) -> RecallMiss:
    """Return why a plane has no hit."""
    if not count.candidates:
        return RecallMiss.WITHHELD if count.withheld else RecallMiss.NOTHING_THERE
    if not count.matched:
        return RecallMiss.NOTHING_MATCHED
    is_relevant = any(each.recalled.relevance >= asked.ranking.least_relevance for each in ranked)
    return RecallMiss.OUTRANKED if is_relevant else RecallMiss.BELOW_THRESHOLD
