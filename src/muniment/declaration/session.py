"""What every noun group stands on: the store that is open, the space in it, and the rights of the caller."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from muniment.declaration.operation import Operation
from muniment.errors import (
    AccessDenied,
    CapabilityHidden,
    ForeignSpace,
    KeyUnavailable,
    MunimentError,
    StoreClosed,
    StoreMissing,
)
from muniment.events.identity import ConversationKey, check_key
from muniment.governance.access import Access, Effect
from muniment.governance.profiles import NO_BUDGET, Budget, Pressure, Profile, budget_of
from muniment.space.denials import DeniedAttempt
from muniment.space.open_store import OpenStore
from muniment.space.options import Progress, no_progress, unmeasured
from muniment.space.space import Space
from muniment.space.token_counter import TokenCounter


class Session(Struct, frozen=True, kw_only=True):
    """A caller's place: the store, the space that is open in it (None when there is none), and the rights."""

    store: OpenStore
    opened: Space | None
    access: Access
    progress: Progress = no_progress
    profile: Profile | None = None
    pressure: Callable[[], Pressure | None] = unmeasured
    token_counter: TokenCounter | None = None
    catalogue: Callable[[], tuple[Operation, ...]] = tuple
    window: bool = False  # made by narrowing another one, which keeps the store

    @property
    def inspected(self) -> Space:
        """The open space, sound or not."""
        if self.opened is None:
            raise self._none_open()
        return self.opened

    @property
    def space(self) -> Space:
        """The open space, or the reason why nothing of it can be read or written."""
        self.inspected.require_sound()
        return self.inspected

    def budget(self) -> Budget:
        """Return the ceilings in force now; one reading of the pressure, so ask once per operation."""
        return NO_BUDGET if self.profile is None else budget_of(self.profile, self.pressure())

    def pass_through(self, operation: str, effect: Effect, *, bare: bool) -> None:
        """Raise when the access or the state of the store forbids an operation (`group.verb`)."""
        if self.store.closed:
            raise StoreClosed
        self.access.require(effect)
        self.access.require_operation(operation)
        if self.opened is None and not bare:
            raise self._none_open()

    def _none_open(self) -> MunimentError:
        return KeyUnavailable(problem="opened_without_key") if self.store.keys is None else StoreMissing(at="space")

    def refused(self, operation: str, denied: AccessDenied | CapabilityHidden) -> None:
        """Put a refused attempt on record, where the space is open and sound."""
        if self.opened is not None and self.opened.fault is None:
            policy = denied.problem if isinstance(denied, CapabilityHidden) else None
            self.opened.denials.note(DeniedAttempt(operation, denied.at or "", policy or ""), self.access.subject)

    def check_key(self, key: ConversationKey) -> None:
        """Refuse a malformed conversation key, and one that names another space."""
        check_key(key)
        if key.space is not None and key.space != self.space.name:
            raise ForeignSpace(at="space")
