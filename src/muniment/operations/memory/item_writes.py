"""Recording memory items and what becomes of them, inside a write transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from muniment.events.changes import LifecycleRequest
from muniment.events.memory_governance import RunRecorded
from muniment.events.memory_items import (
    ItemContent,
    ItemMeta,
    ItemRetired,
    MemoryPlane,
    NotebookOpened,
    Retirement,
)
from muniment.events.records import EventKind
from muniment.ledger.drafts import Change, draft, encoded
from muniment.ledger.ledger import Writer
from muniment.memory.fold import MemoryItem
from muniment.memory.merging import in_use
from muniment.operations.memory.item_changes import retire_item
from muniment.operations.memory.prepared_items import PreparedItem, Writing
from muniment.operations.provenance.derivations import Positions, append_derivation
from muniment.space.space import Space

WHOLE_SPACE = {"first": 1}


class UnrecordedEntry(NamedTuple):
    """An entry of a notebook before it is recorded: whose, of which plane, and what it is and says."""

    subject: str
    plane: MemoryPlane
    meta: ItemMeta
    content: ItemContent


class ItemsOfRun(NamedTuple):
    """The ids of the items that a request recorded, retired (or used again) and revised."""

    recorded: Sequence[str] = ()
    retired: Sequence[str] = ()
    revised: Sequence[str] = ()


def record_item(
    space: Space, writer: Writer, prepared: PreparedItem, why: str, writing: Writing, history: Sequence[MemoryItem]
) -> int:
    """Record an item in its slot, and retire the one that is there; return its position.

    `history` are the items of the slot, the newest first.
    """
    record_links(space, writer, prepared)
    subject, plane = prepared.candidate.subject, prepared.candidate.plane
    stream, position = record_entry(
        space, writer, UnrecordedEntry(subject, plane, prepared.meta, prepared.content), writing
    )
    if history:
        writer.rename(prepared.slot, space.notebooks.former_name(prepared.slot, len(history)))
    writer.claim(prepared.slot, stream, position)
    former = in_use(history)
    if former is not None:
        request = LifecycleRequest(reason=why, requester=writing.writer, requested_ms=writing.now_ms)
        body = ItemRetired(request=request, cause=Retirement.SUPERSEDED, successor=prepared.meta.item, run=writing.run)
        retire_item(writer, former, body)
    return position


def record_links(space: Space, writer: Writer, prepared: PreparedItem) -> None:
    """Append the links from an item to the turns that it rests on."""
    positions: Positions = {}
    for derivation in prepared.derivations:
        append_derivation(space, writer, derivation, positions)


def record_entry(space: Space, writer: Writer, entry: UnrecordedEntry, writing: Writing) -> tuple[int, int]:
    """Record an entry under its id; return its notebook, which the first entry opens, and its position."""
    stream = _notebook(space, writer, entry, writing)
    event = draft(
        space.sources.entropy, EventKind.ITEM_RECORDED, writing.now_ms, entry.meta, content=encoded(entry.content)
    )
    placed = writer.append(event, stream=stream)
    writer.claim(space.notebooks.item_name(entry.meta.item), stream, placed.position)
    return stream, placed.position


def record_run(writer: Writer, writing: Writing, did: ItemsOfRun, decisions: Mapping[str, int] | None = None) -> None:
    """Record what a request of a run did, and how many candidates were decided how."""
    assert writing.run is not None, "it is of a run"
    body = RunRecorded(
        run=writing.run,
        writer=writing.writer,
        recorded=list(did.recorded),
        retired=list(did.retired),
        revised=list(did.revised),
        decisions=dict(decisions or {}),
    )
    writer.change(Change(EventKind.RUN_RECORDED, writing.now_ms, body, WHOLE_SPACE))


def _notebook(space: Space, writer: Writer, entry: UnrecordedEntry, writing: Writing) -> int:
    name = space.notebooks.notebook_name(entry.subject, entry.plane)
    stream = writer.find(name)
    if stream is not None:
        return stream
    opened = NotebookOpened(subject=entry.subject, plane=entry.plane)
    event = draft(space.sources.entropy, EventKind.NOTEBOOK_OPENED, writing.now_ms, opened)
    placed = writer.append(event, stream=None)
    writer.claim(name, placed.stream, placed.position)
    return placed.stream
