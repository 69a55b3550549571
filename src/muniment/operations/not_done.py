"""What reports call not done: every word for it in one table, each with the kind of trouble that it is.

A report that says so of a request, or of a part of it, is a verdict, which each transport tells in its own way. What
was done before, and needs nothing now, is done. A preview is judged as the request that it previews.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.declaration.operation import JudgedReport
from muniment.errors import Kind

# reason or decision in a report -> the kind of trouble; a word that is not here says that all was done
NOT_DONE: dict[str, Kind] = {
    # what was meant
    "target_not_found": Kind.MISSING,
    "ambiguous": Kind.INVALID,
    "confirmation_required": Kind.DENIED,
    "confirmation_differs": Kind.CONFLICT,
    # what stays
    "kept": Kind.CONFLICT,
    "unreadable": Kind.CORRUPT,
    # amendments
    "not_in_use": Kind.CONFLICT,
    "private_target": Kind.INVALID,
    "slot_taken": Kind.CONFLICT,
    "source_hidden": Kind.CONFLICT,
    "needs_feedback": Kind.INVALID,
    "weak_skill": Kind.INVALID,
    "formatted_dump": Kind.INVALID,
    # decisions about candidates and proposals
    "refuse": Kind.INVALID,
    "defer": Kind.INVALID,
    "hand_off": Kind.INVALID,
    "forgotten": Kind.CONFLICT,
    "decided_otherwise": Kind.CONFLICT,
}


class AnsweredRequest(JudgedReport, frozen=True, kw_only=True, omit_defaults=True):
    """A report about a request to change something, which may be done in part or not at all."""

    @property
    def verdict(self) -> Kind | None:
        """Return the trouble that the first word tells of; None where all was done."""
        return next((NOT_DONE[word] for word in self.words() if word in NOT_DONE), None)

    def words(self) -> Iterator[str | None]:
        """Yield the reasons and decisions in the report, those of `NOT_DONE` among them."""
        raise NotImplementedError
