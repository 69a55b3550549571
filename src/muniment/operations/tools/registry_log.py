"""What the log says of tool registries: the last snapshot of each, found by its id, and what follows it.

The names of former snapshots lead from one to the next, so that each replacement is proved. Who may know of a registry
is decided elsewhere (`registries`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.events.changes import LifecycleRequest, Transition
from muniment.events.records import EventKind
from muniment.events.tool_registries import RegistryContent, ToolsRegistered, ToolsRemoved
from muniment.ledger.drafts import NO_REFS, Change, draft, encoded
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.log.port import Reader, SealedRow
from muniment.projections.registry_names import RegistryBody, former_registry_name, registry_name, registry_of
from muniment.projections.registry_words import REGISTRY_KINDS

if TYPE_CHECKING:
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
    return None if row is None else opened_registry(space, row)


def latest_registries(space: Space, reader: Reader) -> list[KnownRegistry]:
    """Return what was said last of each registry, by their ids."""
    latest: dict[str, KnownRegistry] = {}
    for kind in REGISTRY_KINDS:
        for row in reader.of_kind(kind):
            known = opened_registry(space, row)
            name, _ = registry_of(known.body)
            if name not in latest or latest[name].revision < known.revision:
                latest[name] = known
    return [known for _, known in sorted(latest.items())]


def content_of(space: Space, reader: Reader, known: KnownRegistry) -> RegistryContent:
    """Return what people wrote in a snapshot."""
    row = reader.sealed(known.position)
    assert row is not None, "the registry was read from it"
    _, content = space.ledger.content(space.ledger.open(row))
    assert isinstance(content, RegistryContent), "the table of content has no other body for it"
    return content


def append_snapshot(
    space: Space,
    writer: Writer,
    former: KnownRegistry | None,
    registered: ToolsRegistered,
    content: RegistryContent,
    time_ms: int | None = None,
) -> KnownRegistry:
    """Record a snapshot behind what was said of its registry before, under the next number; without a time: now."""
    revision = 1 if former is None else former.revision + 1
    body = replace(registered, registry=replace(registered.registry, revision=revision))
    at_ms = space.sources.clock.now_ms() if time_ms is None else time_ms
    event = draft(space.sources.entropy, EventKind.TOOLS_REGISTERED, at_ms, body, content=encoded(content))
    known = KnownRegistry(writer.append(event, stream=SPACE_STREAM).position, at_ms, body)
    _point_to(space, writer, former, known)
    return known


def append_removal(
    space: Space,
    writer: Writer,
    former: KnownRegistry,
    request: LifecycleRequest,
    reason: Transition | None = None,
    refs: dict[str, int] = NO_REFS,
) -> KnownRegistry:
    """Record that a registry is no more; with the reason `erase` its words are gone, too."""
    registry, revision = registry_of(former.body)
    body = ToolsRemoved(registry=registry, revision=revision + 1, request=request)
    change = Change(EventKind.TOOLS_REMOVED, request.requested_ms, body, refs, reason)
    known = KnownRegistry(writer.change(change).position, request.requested_ms, body)
    _point_to(space, writer, former, known)
    return known


def _point_to(space: Space, writer: Writer, former: KnownRegistry | None, known: KnownRegistry) -> None:
    """Let the id of a registry lead to what was said last of it."""
    registry, _ = registry_of(known.body)
    name = registry_name(space.ledger, registry)
    if former is not None:
        writer.rename(name, former_registry_name(space.ledger, registry, former.revision))
    writer.claim(name, SPACE_STREAM, known.position)


def opened_registry(space: Space, row: SealedRow) -> KnownRegistry:
    """Return what a row says of a registry."""
    body = space.ledger.open(row).meta
    if not isinstance(body, ToolsRegistered | ToolsRemoved):
        raise Corrupt(at=f"position {row.position}", problem="rows_missing")
    return KnownRegistry(row.position, row.time, body)
