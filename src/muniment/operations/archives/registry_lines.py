"""A tool registry as a line of a document: its last snapshot, without its number, which is of one log.

Only the snapshot that is in force leaves. What was said of the registry before, perhaps by another owner, stays behind,
and so does that a registry was removed: nothing reads either of them.
"""

from __future__ import annotations

from msgspec import UNSET, Raw
from msgspec.structs import replace

from muniment.errors import ArchiveRefused, InvalidInput, LimitExceeded
from muniment.events.identity import check_name
from muniment.events.records import EventKind
from muniment.events.tool_registries import RegistryContent, ToolsRegistered
from muniment.log.port import Reader
from muniment.memory.tool_registry import check_snapshot, content_of, snapshot_of, tools_of
from muniment.operations.archives.archived_conversation import ArchivedEvent
from muniment.operations.archives.document import ArchiveRoot, EventLine, body_of, encode
from muniment.operations.archives.scopes import has_registry
from muniment.operations.tools import registry_log
from muniment.operations.tools.registry_log import KnownRegistry
from muniment.space.space import Space

ONLY = 1  # the number of the snapshot in a document


def registry_line(space: Space, reader: Reader, known: KnownRegistry) -> EventLine:
    """Return the line of a registry that is there."""
    registered = known.registered
    assert registered is not None, "one that was removed is in no scope"
    return EventLine(
        kind=EventKind.TOOLS_REGISTERED,
        t=known.time_ms,
        meta=Raw(encode(replace(registered, registry=replace(registered.registry, revision=ONLY)))),
        content=Raw(encode(registry_log.content_of(space, reader, known))),
    )


def checked_registry(root: ArchiveRoot, line: EventLine, number: int) -> ArchivedEvent:
    """Read the line of a registry: one that could be registered here just so, in the scope of the archive."""
    at = f"line {number}"
    if line.turn is not None or line.target is not None or line.refs or line.reason is not None:
        raise ArchiveRefused(at=at, problem="references")
    meta: ToolsRegistered = body_of(line.meta, ToolsRegistered, number)
    if line.content is UNSET:
        raise ArchiveRefused(at=at, problem="content")
    content: RegistryContent = body_of(line.content, RegistryContent, number)
    if root.registries is None or not has_registry(root.scope, meta.registry):
        raise ArchiveRefused(at=at, problem="foreign_scope")
    if meta.registry.revision != ONLY or len(content.names) != len(meta.tools):
        raise ArchiveRefused(at=at, problem="registry")
    snapshot = snapshot_of(meta, content)
    try:
        check_snapshot(snapshot, at)
        for name in (meta.registry.owner, meta.requester):
            check_name(name, at=at)
    except (InvalidInput, LimitExceeded):
        raise ArchiveRefused(at=at, problem="registry") from None
    if (tools_of(snapshot), content_of(snapshot)) != (meta.tools, content):
        raise ArchiveRefused(at=at, problem="registry")
    return ArchivedEvent(number=ONLY, line=line, meta=meta, content=content)
