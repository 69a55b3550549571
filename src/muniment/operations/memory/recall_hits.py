"""Candidates that were selected, as hits: items and messages as the view shows them, agent skills as they are."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from muniment.governance.views import Reason, View
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.hit_evidence import hit_evidence
from muniment.operations.memory.item_index import ItemIndex
from muniment.operations.memory.recall_ranking import ScoredCandidate
from muniment.operations.memory.recall_report import AskedRecall, HitEvidence, RecallHit
from muniment.operations.memory.shown_item import ItemShower
from muniment.operations.skills.skill_package import SkillPackage
from muniment.operations.transcripts.hits import Hit
from muniment.operations.transcripts.show_hits import SCORE_DIGITS
from muniment.space.space import Space

OF_ANOTHER = HitEvidence(withheld=Reason.VIEW_POLICY)  # where others said what is shared is their business


def recall_hits(
    space: Space, asked: AskedRecall, view: View, opened: ItemIndex, selected: Sequence[ScoredCandidate]
) -> list[RecallHit]:
    """Return candidates as the view shows them to the subject."""
    shower = ItemShower(space, opened.reader, view, asked.subject, opened.sources)
    return [_hit(each, shower, explain=asked.ranking.explain) for each in selected]


def _hit(candidate: ScoredCandidate, shower: ItemShower, *, explain: bool) -> RecallHit:
    recalled = candidate.recalled
    components = {name: round(part, SCORE_DIGITS) for name, part in candidate.added.items()} if explain else None
    result = RecallHit(
        plane=recalled.plane,
        id=recalled.id,
        text="",
        score=round(candidate.score, SCORE_DIGITS),
        relevance=round(recalled.relevance, SCORE_DIGITS),
        components=components,
    )
    if isinstance(source := recalled.source, SkillPackage):
        return replace(result, text=source.description, topic=source.name, fingerprint=source.fingerprint)
    result = replace(result, position=recalled.position, observed_ms=recalled.observed_ms)
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
