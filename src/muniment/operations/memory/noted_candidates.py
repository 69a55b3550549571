"""Statements of a file as candidates: somebody vouches for them, and the file is where they come from."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.events.identity import SubjectId
from muniment.events.memory_items import ItemSourceType
from muniment.formats.reading.memory_notes import NotedStatement
from muniment.memory.candidate import ACCEPTED, MEDIUM, Candidate, audience_of
from muniment.memory.kinds import WHOLE


def candidate_of(statement: NotedStatement, origin: str, subject: SubjectId) -> Candidate:
    """Return the candidate that a statement is; an entry of a journal says more of itself."""
    plain = Candidate(
        subject=subject,
        kind=statement.kind,
        topic=statement.topic,
        text=statement.text,
        plane=statement.plane,
        confidence=MEDIUM / WHOLE,
        source_type=ItemSourceType.IMPORTED,
        observed_ms=statement.observed_ms,
        attested=True,
        origin=origin,
        judgement=ACCEPTED,
    )
    if statement.own is None:
        return plain
    note = statement.own.note
    return replace(
        plain,
        id=note.id,
        name=note.name,
        title=note.title,
        summary=note.summary,
        audience=audience_of(note.audience),
        confidence=note.confidence,
        importance=note.importance,
        privacy=note.privacy,
        scope=note.scope,
        freshness=note.freshness,
        expires_ms=note.expires_ms,
        pinned=note.pinned,
        keywords=note.keywords,
        tags=note.tags,
        entities=note.entities,
    )
