"""Which items of memory came from which turns: a fold of every derived reference of a space.

A fold without a clock, a store or a key, like `projections.conversation_list`, and made in the same pass over the log
(`projections.conversation_catalogue`), which opens every event and misses none. References are in the order of their
creation; for equal times, in that of the log.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from heapq import merge
from typing import NamedTuple

from muniment.events.changes import TurnSpan, span_of
from muniment.events.references import Plane, RefDerived
from muniment.log.port import EventRow


class Reference(NamedTuple):
    """A derived reference and its location: its stream, the turns that its header names, the message by place."""

    created_ms: int
    position: int
    stream: int
    span: TurnSpan
    message: int | None
    meta: RefDerived


class Links:
    """All derived references up to an event of the log, by item of memory and by conversation."""

    def __init__(self) -> None:
        self._by_memory: dict[tuple[Plane, str], list[Reference]] = {}
        self._by_stream: dict[int, list[Reference]] = {}

    def take(self, row: EventRow, refs: Mapping[str, int], meta: RefDerived) -> None:
        """Take the next reference."""
        reference = reference_of(row, refs, meta)
        for known in (
            self._by_memory.setdefault((meta.plane, meta.key), []),
            self._by_stream.setdefault(row.stream, []),
        ):
            insort(known, reference, key=_order)

    @classmethod
    def of_references(cls, references: Sequence[Reference]) -> Links:
        """Return the links of references that were kept, as `every` gives them."""
        made = cls()
        for reference in references:
            made._by_memory.setdefault((reference.meta.plane, reference.meta.key), []).append(reference)
            made._by_stream.setdefault(reference.stream, []).append(reference)
        return made

    def of_memory(self, plane: Plane, key: str) -> Sequence[Reference]:
        """Return the references of an item of memory."""
        return self._by_memory.get((plane, key), ())

    def of_stream(self, stream: int) -> Sequence[Reference]:
        """Return the references that lead to turns of a conversation."""
        return self._by_stream.get(stream, ())

    def every(self) -> Sequence[Reference]:
        """Return all references."""
        return list(merge(*self._by_stream.values(), key=_order))

    def rows(self) -> list[object]:
        """Return all that is known as plain data, in the order of its keys."""
        memories = [
            [plane, key, [reference.position for reference in references]]
            for (plane, key), references in sorted(self._by_memory.items())
        ]
        streams = [
            [
                stream,
                [[*_order(reference), *reference.span, reference.message, reference.meta] for reference in references],
            ]
            for stream, references in sorted(self._by_stream.items())
        ]
        return [memories, streams]


def reference_of(row: EventRow, refs: Mapping[str, int], meta: RefDerived) -> Reference:
    """Return the reference that an event holds."""
    return Reference(meta.created_ms, row.position, row.stream, span_of(refs), refs.get("message"), meta)


def _order(reference: Reference) -> tuple[int, int]:
    return reference.created_ms, reference.position
