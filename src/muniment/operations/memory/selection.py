"""Which items of a subject are meant: by plane, kind and state, as they are or as they were known at a time."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import Count
from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.kernel.times import MOMENT
from muniment.log.port import Reader
from muniment.memory.audience import is_known_to
from muniment.memory.fold import MemoryItem
from muniment.space.space import Space

AsOf = Annotated[Count | None, Meta(description="As it was known at this time. Without it: now.", extra=MOMENT)]


class ItemFilter(StrEnum):
    """Which items are listed: those in use, or those that were retired or have expired, too."""

    ACTIVE = "active"
    ALL = "all"


class ItemSelection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which items of a subject are listed."""

    planes: Annotated[list[MemoryPlane], Meta(description="These planes only. Without any: all.")] = []
    kinds: Annotated[list[ItemKind], Meta(description="These kinds only. Without any: all.")] = []
    state: Annotated[ItemFilter, Meta(description="Items in use only, or retired ones too.")] = ItemFilter.ACTIVE
    shared: Annotated[bool, Meta(description="Also shared facts about others that this subject may know of.")] = False
    as_of_ms: AsOf = None


EVERYTHING = ItemSelection()


def items_of(space: Space, reader: Reader, subject: str, selection: ItemSelection) -> Iterator[MemoryItem]:
    """Yield the selected items of a subject, in the order of their recording; what was forgotten is not listed."""
    at_ms = space.sources.clock.now_ms() if selection.as_of_ms is None else selection.as_of_ms
    for item in sorted(_entries(space, reader, subject, selection), key=lambda item: item.position):
        is_listed = selection.state is ItemFilter.ALL or item.holds_at(at_ms)
        is_chosen = not selection.kinds or item.meta.kind in selection.kinds
        if is_listed and is_chosen and item.text is not None and item.is_item:
            yield item


def _entries(space: Space, reader: Reader, subject: str, selection: ItemSelection) -> Iterator[MemoryItem]:
    notebooks = space.notebooks
    for plane in selection.planes or MemoryPlane:
        head = notebooks.head(reader, subject, plane)
        if head is not None:
            yield from notebooks.items(reader, head, as_of_ms=selection.as_of_ms)
    if selection.shared and (not selection.planes or MemoryPlane.SHARED_FACT in selection.planes):
        for head in notebooks.every_head(reader):
            opened = notebooks.opening(reader, head.stream)
            if opened.plane is MemoryPlane.SHARED_FACT and opened.subject != subject:
                found = notebooks.items(reader, head, as_of_ms=selection.as_of_ms)
                yield from (item for item in found if is_known_to(item, subject))
