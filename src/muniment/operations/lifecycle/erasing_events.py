"""The events of an erasure: one for each run of turns or items that go, and what each of them says of the request.

The first of them says enough for an opening to complete the request after a crash (`resume`): whose turns were meant,
or by its stream which conversation, and whether memory items go along.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.events.changes import WITH_MEMORY, LifecycleRequest, Transition, TurnLifecycle, span_refs
from muniment.events.memory_items import ItemRetired, Retirement
from muniment.events.records import EventKind, MetaBody
from muniment.ledger.drafts import Change
from muniment.operations.lifecycle.guard import Judgements
from muniment.operations.lifecycle.scope import Turns


def erasing_events(judgements: Judgements, request: LifecycleRequest, *, with_memory: bool) -> Iterator[Change]:
    """Yield what is recorded of the turns or items of a stream that go."""
    turns, more = judgements.turns, {WITH_MEMORY: 1} if with_memory else {}
    if turns.message is not None:
        more["message"] = turns.message
    kind, body = _said(turns, request)
    for span in judgements.events:
        yield Change(kind, request.requested_ms, body, span_refs(span) | more, Transition.ERASE)


def _said(turns: Turns, request: LifecycleRequest) -> tuple[EventKind, MetaBody]:
    if turns.conversation is not None:
        return EventKind.TURN_LIFECYCLE, TurnLifecycle(request=request)
    return EventKind.ITEM_RETIRED, ItemRetired(request=request, cause=Retirement.FORGOTTEN)
