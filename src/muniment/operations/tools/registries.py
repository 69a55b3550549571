"""Tool registries as a caller may know of them.

A registry of the scope `global` is known to everybody, any other one to its owner. To whoever may not know of it, it is
not there.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.declaration.session import Session
from muniment.events.tool_registries import RegistryScope, ToolsRegistered
from muniment.log.port import Reader
from muniment.operations.tools.registry_log import KnownRegistry, known_registry, latest_registries


def registered_for(session: Session, reader: Reader, registry: str) -> KnownRegistry | None:
    """Return a registry that is there and that the caller may know of."""
    known = known_registry(session.space, reader, registry)
    if known is None or known.registered is None or not may_know(session, known.registered):
        return None
    return known


def every_registry(session: Session, reader: Reader) -> Iterator[KnownRegistry]:
    """Yield the registries that are there and that the caller may know of, by their ids."""
    for known in latest_registries(session.space, reader):
        if known.registered is not None and may_know(session, known.registered):
            yield known


def may_know(session: Session, registered: ToolsRegistered) -> bool:
    """Tell whether the caller may know of a registry."""
    registry = registered.registry
    return session.access.subject in {None, registry.owner} or registry.scope is RegistryScope.GLOBAL
