"""The events of one erasure, as a certificate tells of them: of turns, memory items and tool registries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from muniment.errors import EvidenceMissing
from muniment.events.changes import LifecycleRequest, Transition, TurnSpan, span_of
from muniment.events.memory_items import MemoryPlane
from muniment.events.records import LIFECYCLES, EventKind, LifecycleBody
from muniment.events.tool_registries import ToolsRemoved
from muniment.ledger.erasures import erasures
from muniment.log.port import Reader, SealedRow
from muniment.space.space import Space


class ErasureEvent(NamedTuple):
    """One event of an erasure, and what it erased: turns or items of a stream, a message of a turn, or a registry.

    A registry is no entry of a stream: there is no `span` of it.
    """

    row: SealedRow
    span: TurnSpan | None
    message: int | None

    @property
    def whole(self) -> int:
        """How many turns, items or registries went as a whole."""
        if self.span is None:
            return 1
        return 0 if self.message is not None else (self.span.last or 0) - self.span.first + 1


def erasure_at(space: Space, reader: Reader, position: int, size: int) -> tuple[LifecycleRequest, list[ErasureEvent]]:
    """Return the request behind an event, and all events of it."""
    row = reader.sealed(position) if 0 <= position < size else None
    request = None if row is None or row.kind not in {*LIFECYCLES, EventKind.TOOLS_REMOVED} else _request(space, row)
    if request is None:
        raise EvidenceMissing(at="position")
    erased = [
        event
        for event in _erasures(space, reader, size)
        if event.row.position == position or _request(space, event.row) == request
    ]
    if not any(event.row.position == position for event in erased):
        raise EvidenceMissing(at="position")
    return request, erased


def _request(space: Space, row: SealedRow) -> LifecycleRequest:
    """Return what was asked for, of turns, of memory items or of a tool registry."""
    meta = space.ledger.open(row).meta
    assert isinstance(meta, LifecycleBody | ToolsRemoved), "rows of these kinds have these bodies"
    return meta.request


def _erasures(space: Space, reader: Reader, size: int) -> Iterator[ErasureEvent]:
    """Yield the erasures of entries in log order, and behind them those of registries."""
    for row, header in erasures(space.ledger, reader):
        if row.position < size:
            yield ErasureEvent(row, span_of(header.about), header.refs.get("message"))
    for row in reader.of_kind(EventKind.TOOLS_REMOVED):
        if row.position < size and space.ledger.header(row)[0].reason == Transition.ERASE:
            yield ErasureEvent(row, None, None)


def count_of(erased: Iterable[ErasureEvent], kind: EventKind) -> int:
    """Return how many turns, memory items or tool registries went as a whole."""
    return sum(event.whole for event in erased if event.row.kind == kind)


def experience_of(space: Space, reader: Reader, erased: list[ErasureEvent]) -> int:
    """Return how many of the memory items were experience with tools."""
    items = [event for event in erased if event.row.kind == EventKind.ITEM_RETIRED]
    planes = {stream: space.notebooks.opening(reader, stream).plane for stream in {event.row.stream for event in items}}
    of_tools = (event for event in items if planes[event.row.stream] is MemoryPlane.TOOL_EXPERIENCE)
    return count_of(of_tools, EventKind.ITEM_RETIRED)
