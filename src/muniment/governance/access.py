"""What a caller may do: effects, views and, for a public entry, the one subject it may speak for.

Access is a value. A runtime holds one and `restricted` makes a runtime that holds less; operations take no access
parameter (DESIGN §7). Rights only ever shrink: `narrowed` intersects.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.errors import AccessDenied
from muniment.governance.views import View


class Effect(StrEnum):
    """What an operation may do to a store."""

    READ = "read"
    APPEND = "append"
    ERASE = "erase"
    ADMIN = "admin"


class Access(Struct, frozen=True, kw_only=True):
    """Rights: the effects and views allowed, and the only subject allowed (None: any)."""

    effects: frozenset[Effect] = frozenset(Effect)
    views: frozenset[View] = frozenset(View)
    subject: str | None = None

    def narrowed(self, other: Access) -> Access:
        """Return the rights that both allow; two different subjects leave no effect at all."""
        subject = self.subject if other.subject is None else other.subject
        clash = self.subject is not None and other.subject is not None and self.subject != other.subject
        return Access(
            effects=frozenset() if clash else self.effects & other.effects,
            views=self.views & other.views,
            subject=subject,
        )

    def require(self, effect: Effect) -> None:
        """Refuse an operation whose effect is not allowed."""
        if effect not in self.effects:
            raise AccessDenied(at=effect)

    def require_view(self, view: View) -> None:
        """Refuse a view that is not allowed."""
        if view not in self.views:
            raise AccessDenied(at=view)

    def require_subjects(self, *subjects: str | None) -> None:
        """Refuse a turn that claims another subject than the one this access speaks for (BEHAVIOUR AC-05)."""
        if self.subject is not None and any(claimed not in (None, self.subject) for claimed in subjects):
            raise AccessDenied(at="subject")

    def spelled(self) -> str:
        """Return the rights as text that is equal for equal rights alone; cursors are bound to it."""
        subject = "" if self.subject is None else f"={self.subject}"
        return "|".join([",".join(sorted(self.effects)), ",".join(sorted(self.views)), subject])
