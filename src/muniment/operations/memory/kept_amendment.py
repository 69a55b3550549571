"""Amendments as they are kept: checked, and with markers where the store replaces something."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.governance.detection.parts import marked_text
from muniment.memory.amendment import Amendment, ChangeItemAudience, new_text
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.candidate_checks import check_audience


def kept_amendment(session: Session, item: MemoryItem, amendment: Amendment) -> Amendment:
    """Return an amendment with its text as it is kept."""
    if isinstance(amendment, ChangeItemAudience):
        check_audience(amendment.audience, item.plane, item.subject, "amendment.audience")
    text, limit = new_text(amendment), session.space.limits.item_bytes_max
    if text is None:
        return amendment
    if not text.strip():
        raise InvalidInput(at="amendment.text", problem="empty")
    if len(text.encode()) > limit:
        raise LimitExceeded(at="amendment.text", problem="too_large", limit=limit, found=len(text.encode()))
    detectors = session.space.detection.before_commit.detectors_beside(frozenset({item.subject}))
    return replace(amendment, text=marked_text(text, detectors))
