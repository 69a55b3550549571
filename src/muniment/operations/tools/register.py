"""Register a snapshot of the tools of a host, list and show what is registered, and remove it."""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import AccessDenied, Conflict, UnknownPlace
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import check_name
from muniment.events.tool_registries import RegistryContent, RegistryRecord, RegistryScope, ToolsRegistered
from muniment.governance.item_visibility import SHOWS_EVIDENCE, SHOWS_STATEMENTS
from muniment.governance.views import View
from muniment.ledger.ledger import Writer
from muniment.memory.tool_registry import (
    RegistrySnapshot,
    ToolDescription,
    check_id,
    check_snapshot,
    content_of,
    record_of,
    snapshot_of,
    tools_of,
)
from muniment.operations.page import check_limit
from muniment.operations.tools import registry_log
from muniment.operations.tools.registries import every_registry, may_know, registered_for
from muniment.operations.tools.registry_log import KnownRegistry, known_registry


class RegistryReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a registry: `revision` counts its snapshots and removals. A repeat changes nothing."""

    changed: bool
    registry: str
    revision: int
    position: int
    tools: int = 0


class ListedRegistry(Struct, frozen=True, kw_only=True):
    """A registry in short."""

    registry: str
    namespace: str
    owner: str
    scope: RegistryScope
    fingerprint: str
    revision: int
    position: int
    registered_ms: int
    tools: int
    disabled: int


class RegistryList(Struct, frozen=True, kw_only=True):
    """The registries that the caller may know of, by their ids. `left_out`: there are so many more."""

    registries: list[ListedRegistry]
    total: int
    left_out: int


class RegistryDetail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A registry with its tools, in the order of their ids; names and the note as far as the view shows them."""

    registry: ListedRegistry
    tools: list[ToolDescription]
    note: str | None = None


def register(session: Session, snapshot: RegistrySnapshot, requester: str) -> RegistryReport:
    """Record a snapshot unless it is the one that is there."""
    space, access = session.space, session.access
    check_snapshot(snapshot, "snapshot")
    check_name(snapshot.owner, at="snapshot.owner")
    check_name(requester, at="requester")
    if access.subject is not None and (snapshot.owner != access.subject or snapshot.scope is RegistryScope.GLOBAL):
        raise AccessDenied(at="snapshot.scope" if snapshot.owner == access.subject else "snapshot.owner")
    tools, content = tools_of(snapshot), content_of(snapshot)

    def plan(writer: Writer) -> RegistryReport:
        writer.flush()  # it may have been registered in the same transaction
        known = known_registry(space, writer.tx, snapshot.registry)
        present = None if known is None else known.registered
        if present is not None and access.subject not in {None, present.registry.owner}:
            raise Conflict(at="snapshot.registry", problem="taken")
        revision = 1 if known is None else known.revision + 1
        if known is not None and present is not None:
            same = record_of(snapshot, known.revision) == present.registry and tools == present.tools
            if same and registry_log.content_of(space, writer.tx, known) == content:
                return _report(present.registry, known.position, len(tools), changed=False)
        body = ToolsRegistered(registry=record_of(snapshot, revision), tools=tools, requester=requester)
        position = registry_log.append_snapshot(space, writer, known, body, content).position
        return _report(body.registry, position, len(tools), changed=True)

    return space.ledger.transact(plan)


def remove(session: Session, registry: str, request: LifecycleRequest) -> RegistryReport:
    """Record that a registry is no more; one that is not there, or not known to the caller, is unknown."""
    space = session.space
    check_id(registry, "registry")

    def plan(writer: Writer) -> RegistryReport:
        writer.flush()
        known = known_registry(space, writer.tx, registry)
        if known is None:
            raise UnknownPlace(at="registry")
        if known.registered is None:
            if session.access.subject is not None:
                raise UnknownPlace(at="registry")
            return RegistryReport(changed=False, registry=registry, revision=known.revision, position=known.position)
        if not may_know(session, known.registered):
            raise UnknownPlace(at="registry")
        session.access.require_subjects(known.registered.registry.owner)
        removed = registry_log.append_removal(space, writer, known, request)
        return RegistryReport(changed=True, registry=registry, revision=removed.revision, position=removed.position)

    return space.ledger.transact(plan)


def list_registries(session: Session, limit: int) -> RegistryList:
    """Return the registries that the caller may know of."""
    check_limit(limit, session.space.limits.report_items_max)
    with session.space.ledger.reader() as reader:
        found = [_listed(known) for known in every_registry(session, reader)]
    return RegistryList(registries=found[:limit], total=len(found), left_out=max(0, len(found) - limit))


def show_registry(session: Session, registry: str, view: View) -> RegistryDetail:
    """Return a registry with its tools."""
    check_id(registry, "registry")
    session.access.require_view(view)
    with session.space.ledger.reader() as reader:
        known = registered_for(session, reader, registry)
        if known is None or known.registered is None:
            raise UnknownPlace(at="registry")
        content = registry_log.content_of(session.space, reader, known)
    if view not in SHOWS_STATEMENTS:
        content = RegistryContent(names=[None] * len(content.names))
    snapshot = snapshot_of(known.registered, content)
    note = snapshot.note if view in SHOWS_EVIDENCE else None
    return RegistryDetail(registry=_listed(known), tools=snapshot.tools, note=note)


def _listed(known: KnownRegistry) -> ListedRegistry:
    registered = known.registered
    assert registered is not None, "one that is there"
    record = registered.registry
    return ListedRegistry(
        registry=record.registry,
        namespace=record.namespace,
        owner=record.owner,
        scope=record.scope,
        fingerprint=record.fingerprint,
        revision=record.revision,
        position=known.position,
        registered_ms=known.time_ms,
        tools=len(registered.tools),
        disabled=sum(tool.disabled for tool in registered.tools),
    )


def _report(record: RegistryRecord, position: int, tools: int, *, changed: bool) -> RegistryReport:
    return RegistryReport(
        changed=changed, registry=record.registry, revision=record.revision, position=position, tools=tools
    )
