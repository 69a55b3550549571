"""What every noun group works in: the open store, the open space in it, and the rights of the caller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from muniment.declaration.operation import Operation, Request, Terms
from muniment.errors import (
    AccessDenied,
    CapabilityHidden,
    ForeignSpace,
    KeyUnavailable,
    MunimentError,
    StoreMissing,
    UnknownConversation,
)
from muniment.events.identity import ConversationKey, check_key
from muniment.evidence.cosignatures import HttpWitness
from muniment.governance.access import Access, Bound, Effect
from muniment.governance.policy import Family, hiding_family, is_recorded
from muniment.governance.profiles import NO_BUDGET, Budget, Pressure, Profile, budget_of
from muniment.kernel.one_process import NeverPickled
from muniment.space.denials import DeniedAttempt
from muniment.space.open_store import OpenStore
from muniment.space.options import OperationObserver, Progress, no_progress, unmeasured
from muniment.space.outgoing import record_read
from muniment.space.seen_part import SeenPart
from muniment.space.space import Space
from muniment.space.token_counter import TokenCounter

LISTING = "conversations.list"  # who may not call this is given no suggestions


class Deployment(Struct, frozen=True, kw_only=True):
    """How a store was opened, for `system.doctor`: never a secret, and no name that a host chose.

    `trouble` is why it could not be opened as usual. `settings` are the names of ours that the environment sets.
    """

    at_rest: bool = False
    key_file: Path | None = None
    settings: list[str] = []
    unknown_settings: int = 0
    trouble: MunimentError | None = None


class Session(NeverPickled, Struct, frozen=True, kw_only=True):
    """What a caller has: the store, the space that is open in it (None when there is none), and the rights."""

    store: OpenStore
    opened: Space | None
    access: Access
    progress: Progress = no_progress
    profile: Profile | None = None
    pressure: Callable[[], Pressure | None] = unmeasured
    token_counter: TokenCounter | None = None
    timestamp_url: str | None = None
    witnesses: tuple[HttpWitness, ...] = ()
    skills: tuple[Path, ...] = ()  # directories with agent skills
    catalogue: Callable[[], tuple[Operation, ...]] = tuple
    deployment: Deployment = Deployment()
    client: str | None = None  # the name of who calls, where a key says so
    client_until_ms: int | None = None  # when that key ends; None: never, or nobody calls by a key
    observer: OperationObserver | None = None
    window: bool = False  # made from another session, which keeps the store
    leave: Callable[[], None] | None = None  # gives back the space, which stays open until then

    @property
    def inspected(self) -> Space:
        """The open space, sound or not."""
        if self.opened is None:
            raise self._none_open()
        return self.opened

    @property
    def space(self) -> Space:
        """The open space, or the reason why nothing of it can be read or written."""
        space = self.opened
        if space is None:
            raise self._none_open()
        space.require_sound()
        return space

    @property
    def seen(self) -> SeenPart:
        """What the caller sees of the open space."""
        return SeenPart(space=self.opened or self.space, access=self.access, progress=self.progress)

    def budget(self) -> Budget:
        """Return the ceilings in force now. Reads the pressure, so call it once per operation."""
        return NO_BUDGET if self.profile is None else budget_of(self.profile, self.pressure())

    def pass_through(self, operation: str, terms: Terms) -> None:
        """Raise when the access or the state of the store forbids an operation (`group.verb`)."""
        self.store.require_open()
        self.access.require(terms.effect)
        self.access.require_within(operation, terms.heeds)
        for right in terms.also:
            self.access.require_second(operation, right)
        self.access.require_family(operation, terms.family)
        if self.opened is None:
            if not (terms.keyless or terms.spaceless):
                raise self._none_open()
        elif self.opened.fault is not None and not terms.inspecting:
            self.opened.require_sound()

    def require_owner(self, at: str) -> None:
        """Refuse a client what reaches beyond its space: other spaces, the store itself, keys and files beside it."""
        if self.client is not None:
            raise AccessDenied(at=at)

    def _none_open(self) -> MunimentError:
        return KeyUnavailable(problem="opened_without_key") if self.store.keys is None else StoreMissing(at="space")

    def refused(self, operation: str, denied: AccessDenied | CapabilityHidden) -> None:
        """Record a refused attempt, where the space is open and sound."""
        if self.opened is not None and self.opened.fault is None:
            policy = denied.problem if isinstance(denied, CapabilityHidden) else None
            self.opened.denials.note(DeniedAttempt(operation, denied.at or "", policy or ""), self.access.subject)

    def suggest(self, unknown: UnknownConversation, request: Struct) -> None:
        """Add conversations that a request may have meant, as far as the access may list them."""
        access = self.access
        may_list = Effect.READ in access.effects and hiding_family(Family.LISTING, access.policies) is None
        if may_list and access.missing(LISTING, tuple(Bound)) is None and self.opened is not None:
            SeenPart(space=self.opened, access=access).suggest(unknown, request)

    def finished(self, operation: str, terms: Terms, request: Request, report: object) -> None:
        """Record what a reading operation is about to return, where a policy asks for it; durable before it returns."""
        if self.access.policies and is_recorded(terms.family, self.access.policies):
            record_read(self.space, self.access, operation, request, report)

    def check_key(self, key: ConversationKey) -> None:
        """Refuse a malformed conversation key, and one that names another space."""
        check_key(key)
        if key.space is not None and key.space != self.space.name:
            raise ForeignSpace(at="space")
