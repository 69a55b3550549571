"""What a proposal hands over when somebody accepts it."""

from __future__ import annotations

from muniment.events.identity import SubjectId
from muniment.memory.candidate import ACCEPTED, Candidate, audience_of, source_of
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import WHOLE


def candidate_of(proposal: MemoryItem) -> Candidate:
    """Return what a proposal hands over when somebody accepts it; who does vouches for one without evidence."""
    meta, said = proposal.meta, proposal.content
    assert said is not None, "a proposal that is open has words"
    return Candidate(
        subject=SubjectId(proposal.subject),
        kind=meta.kind,
        topic=said.topic,
        text=said.text,
        name=proposal.name,
        title=said.title,
        summary=said.summary,
        note=said.note,
        plane=proposal.plane,
        privacy=meta.privacy,
        audience=audience_of(meta.entry.audience),
        confidence=meta.confidence / WHOLE,
        importance=meta.importance / WHOLE,
        freshness=meta.freshness,
        scope=meta.scope,
        source_type=meta.source_type,
        observed_ms=meta.observed_ms,
        expires_ms=meta.expires_ms or None,
        pinned=meta.pinned,
        keywords=said.keywords,
        tags=said.tags,
        entities=said.entities,
        evidence=list(map(source_of, meta.evidence)),
        attested=not meta.evidence,
        origin=meta.entry.origin,
        judgement=ACCEPTED,
    )
