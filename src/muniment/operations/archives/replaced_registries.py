"""Tool registries that an archive takes the place of: they are removed, and their words destroyed.

What the archive has of them is registered again behind that. Nobody asked for it, so it fences nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.errors import ArchiveConflict
from muniment.events.changes import REPLACED, LifecycleRequest
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.operations.archives.document import ArchiveRoot
from muniment.operations.archives.scopes import registries_of
from muniment.operations.lifecycle.guard import Guard
from muniment.operations.lifecycle.owned_registries import erase_registries
from muniment.operations.tools.registry_log import KnownRegistry
from muniment.projections.registry_names import registry_of
from muniment.space.space import Space


def registries_here(space: Space, reader: Reader, root: ArchiveRoot) -> list[KnownRegistry]:
    """Return the registries whose place an archive takes: none, when it says nothing of them."""
    return [] if root.registries is None else registries_of(space, reader, root.scope)


def retire_registries(
    space: Space, writer: Writer, registries: Sequence[KnownRegistry], request: LifecycleRequest
) -> int:
    """Remove tool registries and destroy their words; return how many there were.

    Raises `ArchiveConflict` as `check_registries` does.
    """
    check_registries(space, writer.tx, registries)
    going = {registry_of(known.body)[0]: [known.position] for known in registries}
    return len(list(erase_registries(space, writer, going, request, {REPLACED: 1})))


def check_registries(space: Space, reader: Reader, registries: Sequence[KnownRegistry]) -> None:
    """Raise `ArchiveConflict` while a hold of an owner or of the space keeps one of these from being replaced."""
    if not registries:
        return
    owners = {known.registered.registry.owner for known in registries if known.registered is not None}
    holds = Guard(space, reader, space.sources.clock.now_ms()).holds
    held = [hold.position for hold in holds if hold.subject is None or hold.subject in owners]
    if held:
        raise ArchiveConflict(at=f"position {min(held)}", problem="held")
