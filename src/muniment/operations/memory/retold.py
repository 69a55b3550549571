"""Summaries and diaries of turns that are masked: they go out of use in the same step (LC-13).

Unmasking the turns brings none of them back by itself, because another one may have taken the slot meanwhile; somebody
restores what is still right. As long as a turn is masked or erased, nobody is shown what was retold of it, and it is
not restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.events.changes import LifecycleRequest, TurnSpan
from muniment.events.memory_items import ItemRetired, Retirement
from muniment.events.records import EventKind
from muniment.events.references import RefDerived, SourceEvidence
from muniment.ledger.ledger import Writer
from muniment.log.port import StreamHead
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import REFERENCES, RETELLING
from muniment.operations.memory.item_writes import retire_item
from muniment.space.space import Space


def retire_retold(
    space: Space, writer: Writer, head: StreamHead, spans: Sequence[TurnSpan], request: LifecycleRequest
) -> None:
    """Take out of use what retells any of these turns; what somebody wrote about the mask stays with the turns."""
    cause = Retirement.SOURCE_MASKED
    kept = LifecycleRequest(reason=cause.value, requester=request.requester, requested_ms=request.requested_ms)
    for item in _retelling(space, writer, head, spans):
        retire_item(writer, item, ItemRetired(request=kept, cause=cause))


def _retelling(space: Space, writer: Writer, head: StreamHead, spans: Sequence[TurnSpan]) -> Iterator[MemoryItem]:
    """Yield the items in use that retell turns, found by the references in the stream of these."""
    planes, seen = {REFERENCES[plane] for plane in RETELLING}, set[str]()
    for noted in space.transcript.changes(writer.tx, head).noted.get(EventKind.REF_DERIVED, ()):
        row = writer.tx.sealed(noted.position) if any(noted.span.overlaps(span) for span in spans) else None
        meta = None if row is None else space.ledger.open(row).meta
        if not isinstance(meta, RefDerived) or meta.plane not in planes or meta.key in seen:
            continue
        item = space.notebooks.item(writer.tx, meta.key)
        if item is not None and item.is_active and item.plane in RETELLING and _rests_on(item, meta.source):
            seen.add(meta.key)
            yield item


def _rests_on(item: MemoryItem, named: SourceEvidence) -> bool:
    """Tell whether an item says itself that it rests on a turn; anybody may record a reference that says so."""
    turn = (named.channel, named.conversation, named.turn)
    return any((source.channel, source.conversation, source.turn) == turn for source in item.meta.evidence)
