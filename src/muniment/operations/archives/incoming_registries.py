"""Tool registries of an archive on their way in; what was erased here with its owner does not come back.

A registry comes as it was registered there, at its time, behind what was said of its id here. One that was registered
no later than it was erased here for its owner stays outside: what was registered since is another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muniment.errors import ArchiveConflict
from muniment.events.changes import Transition
from muniment.events.records import EventKind
from muniment.events.tool_registries import RegistryContent, ToolsRegistered, ToolsRemoved
from muniment.log.port import Reader
from muniment.operations.archives.incoming_events import IncomingEvents
from muniment.operations.tools.registry_log import append_snapshot, known_registry
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.operations.archives.archived_conversation import ArchivedEvent


class IncomingRegistries:
    """The registries of an archive on their way in."""

    def __init__(self, into: IncomingEvents) -> None:
        self._into = into
        self._erased = erased_until(into.space, into.writer.tx)

    def take(self, archived: ArchivedEvent) -> None:
        """Register what the archive has, unless it was erased here."""
        into, meta, content = self._into, archived.meta, archived.content
        assert isinstance(meta, ToolsRegistered), "a registry has this body"
        assert isinstance(content, RegistryContent), "a registry has this content"
        if archived.line.t <= self._erased.get(OwnedRegistry(meta.registry.registry, meta.registry.owner), -1):
            into.counts["registries erased"] += 1
            return
        into.writer.flush()  # names that were given up in this import show only then
        known = known_registry(into.space, into.writer.tx, meta.registry.registry)
        if known is not None and known.registered is not None:
            raise ArchiveConflict(at="registry", problem="of_another_scope")
        placed = append_snapshot(into.space, into.writer, known, meta, content, archived.line.t)
        into.count_in(placed.position)
        into.counts["registries"] += 1


class OwnedRegistry(NamedTuple):
    """A registry by its id and its owner. What an archive replaced was erased for nobody."""

    registry: str
    owner: str | None


def erased_until(space: Space, reader: Reader) -> dict[OwnedRegistry, int]:
    """Return until when registries were registered that somebody had erased here.

    That is when they were erased, or later, where the clock of the machine that registered one was ahead.
    """
    erased: dict[OwnedRegistry, tuple[int, int]] = {}
    for row in reader.of_kind(EventKind.TOOLS_REMOVED):
        header, removed = space.ledger.header(row)[0], space.ledger.open(row).meta
        assert isinstance(removed, ToolsRemoved), "rows of this kind have this body"
        if header.reason == Transition.ERASE:
            erased[OwnedRegistry(removed.registry, removed.request.subject)] = row.position, row.time
    until = {which: time_ms for which, (_, time_ms) in erased.items()}
    for row in reader.of_kind(EventKind.TOOLS_REGISTERED) if erased else ():
        body = space.ledger.open(row).meta
        assert isinstance(body, ToolsRegistered), "rows of this kind have this body"
        which = OwnedRegistry(body.registry.registry, body.registry.owner)
        if row.position < erased.get(which, (-1, 0))[0]:
            until[which] = max(until[which], row.time)
    return until
