"""The names of tool registries: the id of a registry leads to what was said last of it (`events.tool_registries`).

What was said before is found under a name of its own, by the number of the snapshot or of the removal.
"""

from __future__ import annotations

from muniment.events.tool_registries import ToolsRegistered, ToolsRemoved
from muniment.ledger.ledger import Ledger

RegistryBody = ToolsRegistered | ToolsRemoved


def registry_of(body: RegistryBody) -> tuple[str, int]:
    """Return the id of the registry that an event is about, and the number of the event for it."""
    if isinstance(body, ToolsRemoved):
        return body.registry, body.revision
    return body.registry.registry, body.registry.revision


def registry_name(ledger: Ledger, registry: str) -> bytes:
    """Return the name of what was said last of a registry."""
    return ledger.name_digest("tool registry", registry)


def former_registry_name(ledger: Ledger, registry: str, revision: int) -> bytes:
    """Return the name of what was said of a registry before."""
    return ledger.name_digest("former tool registry", registry, str(revision))
