"""Destroying turns and messages (`erasure`), and the receipt of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from muniment.events.changes import LifecycleRequest
from muniment.events.records import AliasRecorded, EventKind
from muniment.log.port import Reader
from muniment.operations.lifecycle.erasure import Erasure, ErasureOutcome
from muniment.operations.lifecycle.receipt import OUTSIDE, erased_places, event_proof
from muniment.operations.lifecycle.report import ErasureReceipt
from muniment.operations.lifecycle.targets import Target
from muniment.space.rotation import Rotation
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.operations.approvals.gate import GuardedRequest

# kind of event -> what left the store with it
DISCLOSED: dict[EventKind, str] = {
    EventKind.EXPORT_ISSUED: "the certified export issued",
    EventKind.CONTENT_REVEALED: "what was revealed",
    EventKind.CONTEXT_ISSUED: "the recorded context of a prompt",
}


def destroy_turns(
    space: Space,
    target: Target,
    request: LifecycleRequest,
    *,
    requested: bool = True,
    guarded: GuardedRequest | None = None,
) -> ErasureReceipt | None:
    """Destroy content (see `Erasure`); return the receipt, or None when nothing was left to destroy."""
    rotation = Erasure(space, target, request, is_requested=requested, guarded=guarded).run()
    return _receipt(space, request.subject, rotation) if rotation.outcome.positions else None


def _receipt(space: Space, subject: str | None, rotation: Rotation[ErasureOutcome]) -> ErasureReceipt:
    outcome = rotation.outcome
    position = outcome.positions[0]
    signed = space.with_reserve(space.checkpoint)
    with space.ledger.reader() as reader:
        outside = outside_of(space, reader, subject, outcome.streams)
        leaf, proof = event_proof(space, reader, position, signed.checkpoint.size, signed.note)
    return ErasureReceipt(
        position=position,
        leaf=leaf,
        turns_erased=outcome.counts["content"],
        items_erased=outcome.counts["item"],
        experience_erased=outcome.counts["experience"],
        registries=list(outcome.registries[: space.limits.report_items_max]),
        places=list(erased_places(outcome.counts, rotation)),
        outside=outside,
        proof=proof,
        positions=list(outcome.positions[: space.limits.report_items_max]),
    )


def outside_of(space: Space, reader: Reader, subject: str | None, streams: Collection[int]) -> list[str]:
    """Return what an erasure in these conversations cannot reach."""
    disclosed = islice(_disclosed(space, reader, streams), space.limits.report_items_max)
    return [*OUTSIDE, *_aliases(space, reader, subject), *disclosed]


def _disclosed(space: Space, reader: Reader, streams: Collection[int]) -> Iterator[str]:
    """Yield where content of these conversations left the store on record."""
    for kind, what in DISCLOSED.items():
        for row in reader.of_kind(kind):
            if space.ledger.header(row)[0].about.get("stream") in streams:
                yield f"{what} at position {row.position}"


def _aliases(space: Space, reader: Reader, subject: str | None) -> Iterator[str]:
    """Yield what stays of the name of a subject whose turns were all erased."""
    if subject is None:
        return
    metas = (space.ledger.open(row).meta for row in reader.of_kind(EventKind.ALIAS_RECORDED))
    count = sum(isinstance(meta, AliasRecorded) and meta.subject == subject for meta in metas)
    yield f"the name of the subject, sealed: in who spoke, in the events of this erasure, and in {count} chat ids"
