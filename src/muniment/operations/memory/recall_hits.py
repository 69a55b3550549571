"""Candidates that were selected, as hits: items and messages as the view shows them."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.governance.views import Reason
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.hit_evidence import hit_evidence
from muniment.operations.memory.recall_ranking import ScoredCandidate
from muniment.operations.memory.recall_report import HitEvidence, RecallHit
from muniment.operations.memory.shown_item import ItemShower
from muniment.operations.transcripts.hits import Hit
from muniment.operations.transcripts.show_hits import SCORE_DIGITS

OF_ANOTHER = HitEvidence(withheld=Reason.VIEW_POLICY)  # where others said what is shared is their business


def recall_hit(candidate: ScoredCandidate, shower: ItemShower, *, explain: bool) -> RecallHit:
    """Return a candidate as the view shows it."""
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
        evidence=[hit_evidence(shower, source) if shower.is_owner(item) else OF_ANOTHER for source in item.evidence],
    )
