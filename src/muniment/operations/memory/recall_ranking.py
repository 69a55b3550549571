"""One ranking of what several indexes have found, and the report of each plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from muniment.memory.recall_scoring import score, weighted
from muniment.memory.recall_weights import RecallWeights
from muniment.operations.memory.recall_report import (
    CONSIDERED_MAX,
    AskedRecall,
    ConsideredCandidate,
    PlaneReport,
    RecallMiss,
    RecallPlane,
)
from muniment.operations.memory.recalled import PlaneCount, Recalled, RecalledBatch
from muniment.operations.transcripts.show_hits import SCORE_DIGITS


class ScoredCandidate(NamedTuple):
    """A candidate with what its components add to its score."""

    recalled: Recalled
    added: dict[str, float]
    score: float


def ranked_candidates(
    asked: AskedRecall, messages: RecalledBatch, others: Sequence[RecalledBatch], asked_ms: int
) -> list[ScoredCandidate]:
    """Return what was asked for in one order: the best first, of equal ones the latest, then the last recorded."""
    weights, batches, is_asked = asked.weights, (messages, *others), frozenset(asked.planes)
    words_best = max(batch.words_best for batch in batches)
    semantic_best = max(batch.semantic_best for batch in batches)
    lent = max(_share(messages.words_best, words_best), _share(messages.semantic_best, semantic_best))
    scored: list[ScoredCandidate] = []
    for batch in batches:
        by_words, by_meaning = _share(batch.words_best, words_best), _share(batch.semantic_best, semantic_best)
        scales = {"lexical": by_words, "similarity": by_meaning, "context": max(by_words, by_meaning)}
        scales["source"] = lent
        for one in (one for one in batch.candidates if one.plane in is_asked):
            parts = {name: part * scales.get(name, 1.0) for name, part in one.parts.items()}
            scored.append(_scored(one, weighted(parts, weights), weights, asked_ms))
    kept = [each for each in scored if each.score >= weights.least]
    return sorted(kept, key=lambda each: (-each.score, -each.recalled.observed_ms, -each.recalled.position))


def _scored(recalled: Recalled, added: dict[str, float], weights: RecallWeights, asked_ms: int) -> ScoredCandidate:
    age_ms = asked_ms - recalled.observed_ms if recalled.ages else None
    return ScoredCandidate(recalled, added, score(added, weights, age_ms))


def _share(value: float, best: float) -> float:
    return value / best if best else 0.0


def plane_report(
    plane: RecallPlane,
    asked: AskedRecall,
    count: PlaneCount,
    ranked: list[ScoredCandidate],
    selected: list[ScoredCandidate],
) -> PlaneReport:
    """Return what became of a plane."""
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
        findings=count.findings,
        without_hint=count.without_hint,
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
        without = RecallMiss.UNAVAILABLE if count.findings else RecallMiss.NOTHING_THERE
        return RecallMiss.WITHHELD if count.withheld else without
    if not count.matched:
        return RecallMiss.NOTHING_MATCHED
    if count.without_hint and not ranked:
        return RecallMiss.NO_HINT
    is_relevant = any(each.recalled.relevance >= asked.ranking.least_relevance for each in ranked)
    return RecallMiss.OUTRANKED if is_relevant else RecallMiss.BELOW_THRESHOLD
