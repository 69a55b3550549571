"""Redactions: what of a turn is withheld from named views, though its words are still there."""

from __future__ import annotations

from msgspec import Struct

from muniment.events.changes import RedactionReason, RedactionTarget
from muniment.governance.views import View


class Redaction(Struct, frozen=True, kw_only=True):
    """A redaction of one turn, named by the position of its event. What it names is withheld from these views alone."""

    position: int
    target: RedactionTarget
    views: frozenset[View]
    reason: RedactionReason

    def covers(self, message: int | None) -> bool:
        """Tell whether all of a turn (None) or all of a message of it is redacted."""
        target = self.target
        whole = target.part is None and target.field is None
        return whole and target.message in (None, message)
