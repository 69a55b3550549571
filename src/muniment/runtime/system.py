"""The noun group `system`: what may be done here, whether all is well, recovery, closing."""

from __future__ import annotations

from msgspec import Struct

from muniment.errors import MunimentError
from muniment.governance.access import Effect
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.runtime.desk import Desk
from muniment.runtime.operation import Group, operation
from muniment.version import __version__


class Capability(Struct, frozen=True, kw_only=True):
    """An operation, what it may do, whether the access in force allows it, and whether it needs the root key."""

    operation: str
    effect: Effect
    allowed: bool
    needs_key: bool
    summary: str


class Capabilities(Struct, frozen=True, kw_only=True):
    """What the access in force allows."""

    version: str
    operations: list[Capability]
    views: list[View]


class Health(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the open space may be trusted. With a `fault` it is open for inspection only."""

    space: str
    sound: bool
    events: int
    checkpoint_size: int | None = None
    pinned_size: int | None = None
    key_versions: int = 1
    fault: str | None = None
    fault_message: str | None = None


class Recovered(Struct, frozen=True, kw_only=True):
    """What a recovery found and completed."""

    sound: bool
    events: int
    contents_destroyed_again: int
    rotation_completed: bool


class Closed(Struct, frozen=True, kw_only=True):
    """The store is closed."""

    closed: bool


class System(Group):
    """What may be done here, whether all is well, recovery, closing."""

    name = "system"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk

    @operation(Effect.READ, keyless=True)
    def capabilities(self) -> Capabilities:
        """List every operation with its effect and whether the access in force allows it.

        What needs the root key raises `key.unavailable` where a store was opened without it, allowed or not.
        """
        access = self._desk.access
        return Capabilities(
            version=__version__,
            operations=[
                Capability(
                    operation=each.path,
                    effect=each.effect,
                    allowed=each.effect in access.effects,
                    needs_key=not each.keyless,
                    summary=each.summary,
                )
                for each in catalogue()
            ],
            views=sorted(access.views),
        )

    @operation(Effect.READ)
    def health(self) -> Health:
        """Tell whether the open space may be trusted, and how far it is signed and pinned.

        Answers for a space that is open for inspection only, too, and then says why.
        """
        space = self._desk.inspected
        with space.ledger.reader() as reader:
            events, kept = reader.frontier().size, reader.latest_checkpoint()
        fault = space.fault
        try:
            pinned = space.notary.pinned()
        except MunimentError as unreadable:
            fault, pinned = fault or unreadable, None
        return Health(
            space=space.name,
            sound=fault is None,
            events=events,
            checkpoint_size=None if kept is None else kept.size,
            pinned_size=None if pinned is None else pinned.size,
            key_versions=len(space.keys.versions),
            fault=None if fault is None else fault.code,
            fault_message=None if fault is None else str(fault),
        )

    @operation(Effect.ADMIN)
    def recover(self) -> Recovered:
        """Attest the open space anew, complete what was interrupted, and destroy again what the log calls erased.

        A repeat finds nothing to do. A fault that is found is raised by whatever is asked next.
        """
        space = self._desk.inspected
        rotating = len(space.keys.versions) > 1
        healed = space.recover()
        with space.ledger.reader() as reader:
            events = reader.frontier().size
        return Recovered(
            sound=space.fault is None,
            events=events,
            contents_destroyed_again=healed,
            rotation_completed=rotating and space.fault is None,
        )

    @operation(Effect.ADMIN, keyless=True)
    def close(self) -> Closed:
        """Sign and pin the head, then close the store for everybody; every later operation raises `store.closed`."""
        self._desk.home.close()
        return Closed(closed=True)
