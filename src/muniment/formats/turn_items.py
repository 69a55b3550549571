"""Items as the messages of turns: one message for each, and behind them the shapes of all, for the owner alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from muniment.events.message import Authority, BlobPart, Message, Role
from muniment.formats.parted_items import PartedItem, encode_shapes

SHAPES_TYPE = "application/vnd.muniment.item-shapes+json"
TURN_ITEMS_MAX = 200
TURN_BYTES_MAX = 512 * 1024  # of the items of a turn as JSON, where there are several


def messages_of_items(items: Sequence[PartedItem], observed_ms: Sequence[int] = ()) -> list[Message]:
    """Return the messages of a turn that has these items; the times at which they were observed, if given."""
    shapes = BlobPart(content=encode_shapes([item.shape for item in items]), mime_type=SHAPES_TYPE)
    times = observed_ms or [0] * len(items)
    return [
        *(
            Message(role=item.role, content=item.parts, observed_ms=time)
            for item, time in zip(items, times, strict=True)
        ),
        Message(role=Role.SYSTEM, content=[shapes], authority=Authority.OPERATOR_DIAGNOSTIC),
    ]


def batches_of_items(items: Iterable[PartedItem]) -> Iterator[list[PartedItem]]:
    """Yield as many items at a time as a turn may have."""
    batch: list[PartedItem] = []
    size = 0
    for item in items:
        grown = size + item.size
        if batch and (len(batch) == TURN_ITEMS_MAX or grown > TURN_BYTES_MAX):
            yield batch
            batch, grown = [], item.size
        batch.append(item)
        size = grown
    if batch:
        yield batch
