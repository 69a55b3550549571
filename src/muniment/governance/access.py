"""What a caller may do: effects, views and, for a public entry, the one subject it may speak for.

Policies (`governance.policy`) apply on top of the rights and hide what they name from everybody who holds this access.
Access is a value. A runtime holds one and `restricted` makes a runtime that holds less; operations take no access
parameter. Rights only ever shrink: `narrowed` intersects rights and adds policies up.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import AccessDenied, CapabilityHidden
from muniment.governance.policy import Family, Policy, hiding_family, hiding_view
from muniment.governance.views import View


class Effect(StrEnum):
    """What an operation may do to a store. `reveal` reads content that no view of the caller shows, and records it."""

    READ = "read"
    APPEND = "append"
    REVEAL = "reveal"
    ERASE = "erase"
    ADMIN = "admin"


class SecondRight(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A right that an operation takes beside its effect: another effect, or one of several views.

    `when` says which requests take it; without it, every one does.
    """

    effect: Effect | None = None
    views: tuple[View, ...] = ()
    when: str | None = None


class Access(Struct, frozen=True, kw_only=True):
    """Rights: the effects and views allowed, the only subject allowed (None: any), and the policies in force."""

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
        )

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
        subject = "" if self.subject is None else f"={self.subject}"
        sets = (self.effects, self.views, self.policies)
        return "|".join([*(",".join(sorted(each)) for each in sets), subject])
