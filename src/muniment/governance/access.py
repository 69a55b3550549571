"""What a caller may do: effects, views, operations, and its bounds: the one subject, and the channels, it is kept to.

Whoever is bound sees what it would see of a store that holds nothing else (decision 0191). An operation says which
bounds it keeps to; under any other one it is refused, so one that knows no bounds takes an access without them.

Policies (`governance.policy`) apply on top of the rights and hide what they name from everybody who holds this access.
Access is a value. A runtime holds one and `restricted` makes a runtime that holds less; operations take no access
parameter. Rights only ever shrink: `narrowed` intersects rights and adds policies up.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import AccessDenied, CapabilityHidden
from muniment.governance.policy import Family, Policy, hiding_family, hiding_view
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain

EVERY_VERB = "*"  # of a group
ACCESSES_SPELLED_MAX = 256


class Effect(StrEnum):
    """What an operation may do to a store. `reveal` reads content that no view of the caller shows, and records it."""

    READ = "read"
    APPEND = "append"
    REVEAL = "reveal"
    ERASE = "erase"
    ADMIN = "admin"


class Bound(StrEnum):
    """What an access may be kept to: the turns and items of one subject, or the conversations of some channels."""

    SUBJECT = "subject"
    CHANNELS = "channels"


class SecondRight(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A right that an operation takes beside its effect: another effect, or one of several views.

    `when` says which requests take it; without it, every one does.
    """

    effect: Effect | None = None
    views: tuple[View, ...] = ()
    when: str | None = None


class Access(Struct, frozen=True, kw_only=True):
    """Rights: the effects and views allowed, the only subject, channels and operations allowed, the policies in force.

    None: any. Operations are named `group.verb`, or `group.*` for all of a group.
    """

    effects: frozenset[Effect] = frozenset(Effect)
    views: frozenset[View] = frozenset(View)
    subject: str | None = None
    policies: frozenset[Policy] = frozenset()
    channels: frozenset[str] | None = None
    operations: frozenset[str] | None = None

    def narrowed(self, other: Access) -> Access:
        """Return the rights that both allow; two different subjects leave no effect at all."""
        subject = self.subject if other.subject is None else other.subject
        clash = self.subject is not None and other.subject is not None and self.subject != other.subject
        return Access(
            effects=frozenset() if clash else self.effects & other.effects,
            views=self.views & other.views,
            subject=subject,
            policies=self.policies | other.policies,
            channels=_both(self.channels, other.channels),
            operations=_both_cover(self.operations, other.operations),
        )

    @property
    def bounds(self) -> list[Bound]:
        """What it is kept to; nothing for an access to the whole space."""
        given = {Bound.SUBJECT: self.subject, Bound.CHANNELS: self.channels}
        return [bound for bound, limit in given.items() if limit is not None]

    def missing(self, operation: str, heeds: Collection[Bound]) -> str | None:
        """Return why an operation (`group.verb`) that keeps to some bounds is refused: what it is outside of, or None.

        `operations`: it is none of those allowed. A bound: it does not keep to that.
        """
        if self.operations is not None and not covers_operation(self.operations, operation):
            return "operations"
        return next((bound for bound in self.bounds if bound not in heeds), None)

    def require_within(self, operation: str, heeds: Collection[Bound]) -> None:
        """Refuse an operation that is not allowed, or that does not keep to a bound of this access."""
        if self.operations is None and self.subject is None and self.channels is None:  # as of most accesses
            return
        missing = self.missing(operation, heeds)
        if missing is not None:
            raise AccessDenied(at=missing)

    def require_whole(self) -> None:
        """Refuse what is about the space as a whole to an access with bounds."""
        if self.bounds:
            raise AccessDenied(at=self.bounds[0])

    def shows_channel(self, channel: str) -> bool:
        """Return whether conversations of a channel are shown."""
        return self.channels is None or channel in self.channels

    def shows_subject(self, subject: str | None) -> bool:
        """Return whether turns of a subject are shown."""
        return self.subject is None or subject == self.subject

    def require_channel(self, channel: str) -> None:
        """Refuse to write into a channel outside the ones allowed."""
        if self.channels is not None and channel not in self.channels:
            raise AccessDenied(at="channel")

    def covers(self, other: Access) -> bool:
        """Tell whether another access has no right that this one lacks."""
        return self.narrowed(other) == replace(other, policies=self.policies | other.policies)

    def require(self, effect: Effect) -> None:
        """Refuse an operation whose effect is not allowed."""
        if effect not in self.effects:
            raise AccessDenied(at=effect)

    def has(self, right: SecondRight) -> bool:
        """Return whether a second right is among these."""
        allowed = right.effect is None or right.effect in self.effects
        return allowed and (not right.views or not self.open_views.isdisjoint(right.views))

    @property
    def open_views(self) -> frozenset[View]:
        """The views that are allowed and that no policy hides: what is shown outside a named view is in one of them."""
        if not self.policies:  # as most accesses
            return self.views
        return frozenset(view for view in self.views if hiding_view(view, self.policies) is None)

    def hiding_right(self, right: SecondRight) -> Policy | None:
        """Return the policy that hides a view for which a second right would be there, or None."""
        hidden = [hiding_view(view, self.policies) for view in right.views if view in self.views]
        return None if self.has(right) else next((policy for policy in hidden if policy is not None), None)

    def require_second(self, operation: str, right: SecondRight) -> None:
        """Refuse an operation (`group.verb`) whose second right is missing, or hidden by a policy.

        A right that only some requests take is checked by these.
        """
        if right.when is not None or self.has(right):
            return
        policy = self.hiding_right(right)
        if policy is not None:
            raise CapabilityHidden(at=operation, problem=policy)
        raise AccessDenied(at=right.effect or right.views[0])

    def require_family(self, operation: str, family: Family) -> None:
        """Refuse an operation (`group.verb`) whose family a policy hides."""
        policy = hiding_family(family, self.policies)
        if policy is not None:
            raise CapabilityHidden(at=operation, problem=policy)

    def require_view(self, view: View) -> None:
        """Refuse a view that is not allowed, or that a policy hides."""
        if view not in self.views:
            raise AccessDenied(at=view)
        policy = hiding_view(view, self.policies)
        if policy is not None:
            raise CapabilityHidden(at=view, problem=policy)

    def views_in_force(self) -> list[View]:
        """Return the views that are allowed and that no policy hides."""
        return [view for view in View if view in self.views and hiding_view(view, self.policies) is None]

    def require_subjects(self, *subjects: str | None) -> None:
        """Refuse a turn that claims another subject than the one this access speaks for."""
        if self.subject is not None and any(claimed not in (None, self.subject) for claimed in subjects):
            raise AccessDenied(at="subject")

    def spelled(self) -> str:
        """Return the rights as text that is equal for equal rights alone; cursors are bound to it."""
        return _spelled(self)


@lru_cache(maxsize=ACCESSES_SPELLED_MAX)
def _spelled(access: Access) -> str:
    subject = "" if access.subject is None else f"={access.subject}"
    sets = (access.effects, access.views, access.policies)
    named = [None if names is None else sorted(names) for names in (access.channels, access.operations)]
    first = [] if named == [None, None] else [encode_plain(named).decode()]
    return "|".join([*first, *(",".join(sorted(each)) for each in sets), subject])


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return the names that are in both sets, where None is the set of all."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _both_cover(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return the names of operations that both sets cover, where None covers all."""
    if one is None or other is None:
        return _both(one, other)
    return frozenset(name for name in one | other if covers_operation(one, name) and covers_operation(other, name))


def covers_operation(names: frozenset[str], operation: str) -> bool:
    """Return whether an operation, or a whole group, is among names."""
    return operation in names or f"{operation.partition('.')[0]}.{EVERY_VERB}" in names
