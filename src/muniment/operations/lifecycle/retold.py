"""Summaries and diaries of turns that are masked or erased: they go out of use in the same step (LC-13).

Unmasking the turns brings none of them back by itself, because another one may have taken the slot meanwhile; somebody
restores what is still right. As long as a turn is masked or erased, nobody is shown what was retold of it, and it is
not restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.events.changes import LifecycleRequest
from muniment.events.identity import SubjectId
from muniment.events.memory_items import ItemRetired, Retirement
from muniment.events.records import EventKind
from muniment.events.references import RefDerived, SourceEvidence
from muniment.ledger.ledger import Writer
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import REFERENCES, RETELLING
from muniment.operations.lifecycle.guard import Judgements
from muniment.operations.lifecycle.scope import NotebookKey, Turns
from muniment.operations.memory.item_changes import retire_item
from muniment.space.space import Space


def retire_retold(
    space: Space, writer: Writer, turns: Turns, request: LifecycleRequest, going: Iterable[Judgements] = ()
) -> None:
    """Take out of use what retells any of these turns, or the message; what somebody wrote of why stays with these.

    What is erased by the same request (`going`) needs nothing of this.
    """
    cause = Retirement.SOURCE_GONE
    kept = LifecycleRequest(reason=cause.value, requester=request.requester, requested_ms=request.requested_ms)
    for item in _retelling(space, writer, turns):
        if any(_is_among(item, judgements) for judgements in going):
            continue
        retire_item(writer, item, ItemRetired(request=kept, cause=cause))


def _retelling(space: Space, writer: Writer, turns: Turns) -> Iterator[MemoryItem]:
    """Yield the items in use that retell turns, found by the references in the stream of these."""
    planes, seen = {REFERENCES[plane] for plane in RETELLING}, set[str]()
    for noted in space.transcript.changes(writer.tx, turns.head).noted.get(EventKind.REF_DERIVED, ()):
        if turns.message is not None and noted.message not in {None, turns.message}:
            continue
        row = writer.tx.sealed(noted.position) if any(noted.span.overlaps(span) for span in turns.spans) else None
        meta = None if row is None else space.ledger.open(row).meta
        if not isinstance(meta, RefDerived) or meta.plane not in planes or meta.key in seen:
            continue
        item = space.notebooks.item(writer.tx, meta.key)
        if item is not None and item.is_active and item.plane in RETELLING and _rests_on(item, meta.source):
            seen.add(meta.key)
            yield item


def _is_among(item: MemoryItem, judgements: Judgements) -> bool:
    """Tell whether an item is one of those that go."""
    notebook = NotebookKey(subject=SubjectId(item.subject), plane=item.plane)
    return judgements.turns.key == notebook and any(span.includes(item.number) for span in judgements.spans)


def _rests_on(item: MemoryItem, named: SourceEvidence) -> bool:
    """Tell whether an item says itself that it rests on a turn; anybody may record a reference that says so."""
    turn = (named.channel, named.conversation, named.turn)
    return any((source.channel, source.conversation, source.turn) == turn for source in item.evidence)
