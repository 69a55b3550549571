"""The item that takes the place of another one because somebody says so: in the same slot, for the same audience."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import Conflict, InvalidInput
from muniment.log.port import Reader
from muniment.memory.amendment import SupersedeItem
from muniment.memory.candidate import ACCEPTED, Candidate, audience_of
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.candidate_checks import check_candidate
from muniment.operations.memory.prepared_items import (
    EVIDENCE_HIDDEN,
    PreparedItem,
    Undecided,
    Writing,
    prepared_item,
)
from muniment.space.space import Space


def prepared_successor(
    session: Session, reader: Reader, item: MemoryItem, amendment: SupersedeItem, writing: Writing
) -> PreparedItem:
    """Return the item that takes the place of one, or refuse what may not."""
    assert item.content is not None, "an item in use has words"
    candidate = Candidate(
        subject=item.subject,
        plane=item.plane,
        kind=item.meta.kind,
        topic=item.content.topic,
        text=amendment.text,
        name=item.name,
        title=item.content.title,
        summary=item.content.summary,
        id=amendment.id,
        privacy=item.privacy,
        audience=audience_of(item.audience),
        confidence=amendment.confidence,
        freshness=item.meta.freshness,
        scope=item.scope,
        pinned=item.pinned,
        evidence=amendment.evidence,
        attested=True,
        judgement=ACCEPTED,
    )
    check_candidate(session, candidate, "amendment")
    prepared = prepared_item(session, reader, candidate, writing, "amendment")
    if isinstance(prepared, Undecided):
        raise InvalidInput(at="amendment", problem=prepared.reason)
    require_shown(prepared, session.space, reader)
    if session.space.notebooks.item(reader, prepared.meta.item) is not None:
        raise Conflict(at="id", problem="taken")
    return prepared


def require_shown(successor: PreparedItem, space: Space, reader: Reader) -> None:
    """Refuse a successor that rests on a turn whose words nobody is shown."""
    if not successor.rests_on_nothing_hidden(space, reader):
        raise InvalidInput(at="amendment.evidence", problem=EVIDENCE_HIDDEN)
