"""Statements of a file as candidates: somebody vouches for them, and the file is where they come from.

An entry of a journal may be of an item that is here.
"""

from __future__ import annotations

from msgspec.structs import replace

from muniment.events.identity import SubjectId
from muniment.events.memory_items import ItemSourceType
from muniment.formats.memories.memory_notes import NotedStatement
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.memory.candidate import ACCEPTED, MEDIUM, Candidate, audience_of
from muniment.memory.kinds import WHOLE
from muniment.memory.likeness import normalised
from muniment.operations.memory.candidate_decisions import reason_of_repeat
from muniment.operations.memory.shown_item import ItemShower
from muniment.space.space import Space


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


def known_outcome(space: Space, reader: Reader, statement: NotedStatement, candidate: Candidate) -> str | Candidate:
    """Return what becomes of an entry whose item is here, or the candidate that is to be judged.

    What an entry shows may have markers that a view puts in the place of personal data; that is no change. An entry
    that somebody changed is newer than what the item says now.
    """
    own, subject = statement.own, candidate.subject
    item = None if own is None else space.notebooks.item(reader, own.note.id)
    if own is None or item is None:
        return candidate
    if (item.subject, item.plane, item.meta.kind) != (subject, own.note.plane, own.note.kind):
        return replace(candidate, id=None)
    if item.text is None or item.content is None:
        return reason_of_repeat(item)
    for view in View:
        shower = ItemShower(space, reader, view)
        shown = (shower.text(item.content.topic, subject), normalised(shower.text(item.text, subject)))
        if shown == (own.topic, normalised(own.text)):
            return reason_of_repeat(item)
    return replace(candidate, id=None, observed_ms=max(own.note.observed_ms, item.stated_ms))
