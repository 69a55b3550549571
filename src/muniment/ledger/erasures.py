"""The erasures that a log has on record, whatever they erased."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from muniment.events.changes import Transition, span_of
from muniment.events.records import LIFECYCLES

if TYPE_CHECKING:
    from muniment.evidence.header import Header
    from muniment.ledger.ledger import Ledger
    from muniment.log.port import Reader, SealedRow


class RecordedErasure(NamedTuple):
    """The event of an erasure; its header names the entries."""

    row: SealedRow
    header: Header


def lifecycle_events(reader: Reader, after: int = -1) -> Iterator[SealedRow]:
    """Yield the events that archive, mask, hold or erase entries, from the position behind `after`, in log order."""
    return merge(*(reader.of_kind(kind, after) for kind in LIFECYCLES), key=attrgetter("position"))


def erasures(ledger: Ledger, reader: Reader, after: int = -1) -> Iterator[RecordedErasure]:
    """Yield the events that erased entries, or messages of one, from the position behind `after`, in log order.

    Raises `Corrupt` at the first event that may be one and whose header is damaged.
    """
    for row in lifecycle_events(reader, after):
        header, _ = ledger.header(row)
        if header.reason == Transition.ERASE:
            yield RecordedErasure(row, header)


def erased_turns(ledger: Ledger, since: int) -> Iterator[tuple[int, int, int]]:
    """Yield each turn with content erased from a position on: the position of the erasure, stream and sequence."""
    with ledger.reader() as reader:
        for row, header in erasures(ledger, reader, since - 1):
            span = span_of(header.about)
            assert span.last is not None, "an erasure names existing turns"
            yield from ((row.position, row.stream, turn) for turn in range(span.first, span.last + 1))
