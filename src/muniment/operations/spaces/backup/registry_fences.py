"""What the present log of a space has erased with tool registries, so that no older state of it brings that back."""

from __future__ import annotations

from typing import NamedTuple

from muniment.events.changes import LifecycleRequest
from muniment.events.tool_registries import ToolsRegistered, ToolsRemoved
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.operations.lifecycle.owned_registries import erase_registries
from muniment.projections.registry_words import erased_registries, lost_with_registries
from muniment.space.space import Space


class FencedRegistry(NamedTuple):
    """A registry that was erased: who asked for it, and where its snapshots stood, with their leaves."""

    request: LifecycleRequest
    snapshots: dict[int, bytes]


class RegistryFences:
    """The erased registries of a log, by id."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._known: dict[str, FencedRegistry] = {}

    def collect(self, reader: Reader) -> None:
        """Remember every erased registry of the present log."""
        for registry, position in erased_registries(self._space.ledger, reader, asked_for=True).items():
            row = reader.sealed(position)
            body = None if row is None else self._space.ledger.open(row).meta
            if isinstance(body, ToolsRemoved):
                self._known[registry] = FencedRegistry(body.request, {})
        for position in lost_with_registries(self._space.ledger, reader, asked_for=True):
            row = reader.sealed(position)
            body = None if row is None else self._space.ledger.open(row).meta
            if row is not None and isinstance(body, ToolsRegistered):
                self._known[body.registry.registry].snapshots[position] = row.leaf

    def apply(self, writer: Writer) -> None:
        """Erase again, in the log that a plan has put in place, the registries that were erased since."""
        for registry, fenced in self._known.items():
            rows = (writer.tx.sealed(position) for position in fenced.snapshots)
            back = [
                row.position
                for row in rows
                if row is not None and row.content is not None and row.leaf == fenced.snapshots[row.position]
            ]
            if back:
                list(erase_registries(self._space, writer, {registry: back}, fenced.request))
