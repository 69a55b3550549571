"""What a proposal hands over when somebody accepts it."""

from __future__ import annotations

from muniment.events.identity import Channel, ConversationId, ConversationKey, SubjectId, TurnId
from muniment.events.references import SourceEvidence
from muniment.memory.candidate import Candidate, ItemAudience, ItemSource, Ruling, SemanticJudgement
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import WHOLE

ACCEPTED = SemanticJudgement(decision=Ruling.ACCEPT)


def candidate_of(proposal: MemoryItem) -> Candidate:
    """Return what a proposal hands over when somebody accepts it; who does vouches for one without evidence."""
    meta, said = proposal.meta, proposal.content
    assert said is not None, "a proposal that is open has words"
    audience = meta.entry.audience
    return Candidate(
        subject=SubjectId(proposal.subject),
        kind=meta.kind,
        topic=said.topic,
        text=said.text,
        plane=proposal.plane,
        privacy=meta.privacy,
        audience=ItemAudience(
            only=[SubjectId(name) for name in audience.only],
            hidden_from=[SubjectId(name) for name in audience.hidden_from],
        ),
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
        evidence=[_source(source) for source in meta.evidence],
        attested=not meta.evidence,
        judgement=ACCEPTED,
    )


def _source(source: SourceEvidence) -> ItemSource:
    key = ConversationKey(conversation=ConversationId(source.conversation), channel=Channel(source.channel))
    return ItemSource(conversation=key, turn=TurnId(source.turn), message=source.message)
