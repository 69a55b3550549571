"""What goes along with the turns of an erasure, decided in one state of the log.

| what | when |
|---|---|
| items that rest on nothing but these turns | the request or a policy says so (`resting_items`) |
| tool registries of a subject, and experience with their tools | the subject is erased (`owned_registries`) |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muniment.events.changes import TurnSpan
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Guard, Judgements
from muniment.operations.lifecycle.owned_registries import (
    NO_REGISTRIES,
    OwnedRegistries,
    experience_with,
    owned_registries,
)
from muniment.operations.lifecycle.resting_items import resting_items
from muniment.operations.lifecycle.scope import Turns
from muniment.operations.lifecycle.targets import Target, spans_of
from muniment.space.space import Space


class GoingAlong(NamedTuple):
    """Memory items that go unless the guard keeps them, and tool registries."""

    items: list[Turns]
    registries: OwnedRegistries


class Asking(NamedTuple):
    """When something was asked for, and of which subject; `before`: of what was there before this position."""

    now_ms: int
    subject: str | None = None
    before: int | None = None


def going_along(
    space: Space, reader: Reader, target: Target, asking: Asking, going: Iterable[Judgements] = ()
) -> GoingAlong:
    """Return what goes along with a target; `going` are turns that are about to go."""
    items = resting_items(space, reader, target, asking.now_ms, going)
    subject = asking.subject
    if subject is None:
        return GoingAlong(items, NO_REGISTRIES)
    holds = Guard(space, reader, asking.now_ms).holds
    registries = owned_registries(space, reader, subject, holds, asking.before)
    return GoingAlong(_together([*items, *experience_with(space, reader, subject, registries.going)]), registries)


def names_of(space: Space, reader: Reader, judged: Iterable[Judgements], subject: str | None) -> list[str]:
    """Return the ids of the items that go, in log order; a caller for one subject is told its own."""
    return [
        item.id
        for judgements in judged
        for item in space.notebooks.items(reader, judgements.turns.head, _numbers(judgements.spans))
        if subject in {None, item.subject}
    ]


def _together(found: Iterable[Turns]) -> list[Turns]:
    """Return items with those of a notebook together, each of them once."""
    notebooks: dict[int, Turns] = {}
    for items in found:
        known = notebooks.get(items.head.stream, items)
        notebooks[items.head.stream] = items._replace(spans=tuple(spans_of(_numbers([*known.spans, *items.spans]))))
    return list(notebooks.values())


def _numbers(spans: Iterable[TurnSpan]) -> list[int]:
    return sorted({number for span in spans for number in range(span.first, (span.last or 0) + 1)})
