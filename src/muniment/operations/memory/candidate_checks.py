"""What of candidates is refused before anything is decided: malformed names, foreign subjects, what is too much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import check_given, check_name
from muniment.events.memory_items import MemoryPlane
from muniment.memory.audience import audience_flaw
from muniment.memory.candidate import Candidate, ItemAudience

if TYPE_CHECKING:
    from muniment.declaration.session import Session

AUDIENCE_SUBJECTS_MAX = 256


def check_candidates(session: Session, candidates: list[Candidate]) -> None:
    """Refuse no candidates, too many, and malformed ones."""
    limit = session.space.limits.candidates_max
    if not candidates:
        raise InvalidInput(at="candidates", problem="empty")
    if len(candidates) > limit:
        raise LimitExceeded(at="candidates", problem="too_many", limit=limit, found=len(candidates))
    for number, candidate in enumerate(candidates):
        check_candidate(session, candidate, f"candidates[{number}]")


def check_candidate(session: Session, candidate: Candidate, at: str) -> None:
    """Refuse malformed names, subjects that the caller may not speak for, and statements that are too long."""
    session.access.require_subjects(candidate.subject)
    check_given((f"{at}.subject", candidate.subject), (f"{at}.id", candidate.id), (f"{at}.origin", candidate.origin))
    check_audience(candidate.audience, candidate.plane, candidate.subject, f"{at}.audience")
    limit, size = session.space.limits.item_bytes_max, sum(len(text.encode()) + 1 for text in _texts(candidate))
    if size > limit:
        raise LimitExceeded(at=at, problem="too_large", limit=limit, found=size)


def check_audience(audience: ItemAudience, plane: MemoryPlane, subject: str, at: str) -> None:
    """Refuse an audience with malformed names, and one that an item of the subject cannot have."""
    for name in ("only", "hidden_from"):
        for place, named in enumerate(getattr(audience, name)):
            check_name(named, at=f"{at}.{name}[{place}]")
    if len(audience.only) + len(audience.hidden_from) > AUDIENCE_SUBJECTS_MAX:
        found = len(audience.only) + len(audience.hidden_from)
        raise LimitExceeded(at=at, problem="too_many", limit=AUDIENCE_SUBJECTS_MAX, found=found)
    flaw = audience_flaw(audience.kept(), plane, subject)
    if flaw is not None:
        raise InvalidInput(at=at, problem=flaw)


def _texts(candidate: Candidate) -> Iterator[str]:
    yield from (candidate.topic, candidate.text, *candidate.keywords, *candidate.tags, *candidate.entities)
    yield from (text for text in (candidate.title, candidate.summary, candidate.note) if text is not None)
