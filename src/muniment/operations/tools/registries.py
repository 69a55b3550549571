"""Tool registries as the log has them: the last snapshot of each, found by its id, and who may know of it.

A registry of the scope `global` is known to everybody, any other one to its owner. To whoever may not know of it, it is
not there. The names of former snapshots lead from one to the next, so that each replacement is proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import Corrupt
from muniment.events.records import EventKind
from muniment.events.tool_registries import RegistryContent, RegistryScope, ToolsRegistered, ToolsRemoved
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.log.port import Reader, SealedRow
from muniment.projections.registry_names import RegistryBody, former_registry_name, registry_name, registry_of
from muniment.space.space import Space


class KnownRegistry(NamedTuple):
    """What was said last of a registry, and where and when."""

    position: int
    time_ms: int
    body: RegistryBody

    @property
    def revision(self) -> int:
        """The number of the snapshot, or of the removal."""
        return registry_of(self.body)[1]

    @property
    def registered(self) -> ToolsRegistered | None:
        """The snapshot, or None for a registry that was removed."""
        return self.body if isinstance(self.body, ToolsRegistered) else None


def known_registry(space: Space, reader: Reader, registry: str) -> KnownRegistry | None:
    """Return what was said last of a registry, or None when nothing was."""
    position = space.ledger.names.find(reader, registry_name(space.ledger, registry))
    row = None if position is None else reader.sealed(position)
    if position is not None and row is None:
        raise Corrupt(at=f"position {position}", problem="rows_missing")
    return None if row is None else _opened(space, row)


def registered_for(session: Session, reader: Reader, registry: str) -> KnownRegistry | None:
    """Return a registry that is there and that the caller may know of."""
    known = known_registry(session.space, reader, registry)
    if known is None or known.registered is None or not may_know(session, known.registered):
        return None
    return known


def every_registry(session: Session, reader: Reader) -> Iterator[KnownRegistry]:
    """Yield the registries that are there and that the caller may know of, by their ids."""
    latest: dict[str, KnownRegistry] = {}
    for kind in (EventKind.TOOLS_REGISTERED, EventKind.TOOLS_REMOVED):
        for row in reader.of_kind(kind):
            known = _opened(session.space, row)
            name, _ = registry_of(known.body)
            if name not in latest or latest[name].revision < known.revision:
                latest[name] = known
    for _, known in sorted(latest.items()):
        if known.registered is not None and may_know(session, known.registered):
            yield known


def may_know(session: Session, registered: ToolsRegistered) -> bool:
    """Tell whether the caller may know of a registry."""
    registry = registered.registry
    return session.access.subject in {None, registry.owner} or registry.scope is RegistryScope.GLOBAL


def content_of(space: Space, reader: Reader, known: KnownRegistry) -> RegistryContent:
    """Return what people wrote in a snapshot."""
    row = reader.sealed(known.position)
    assert row is not None, "the registry was read from it"
    _, content = space.ledger.content(space.ledger.open(row))
    assert isinstance(content, RegistryContent), "the table of content has no other body for it"
    return content


def point_to(space: Space, writer: Writer, registry: str, former: KnownRegistry | None, position: int) -> None:
    """Let the id of a registry lead to what was said last of it."""
    name = registry_name(space.ledger, registry)
    if former is not None:
        writer.rename(name, former_registry_name(space.ledger, registry, former.revision))
    writer.claim(name, SPACE_STREAM, position)


def _opened(space: Space, row: SealedRow) -> KnownRegistry:
    body = space.ledger.open(row).meta
    if not isinstance(body, ToolsRegistered | ToolsRemoved):
        raise Corrupt(at=f"position {row.position}", problem="rows_missing")
    return KnownRegistry(row.position, row.time, body)
