"""Amendments as they are kept: checked, and with markers where the store replaces something."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.memory.amendment import AnyChange, ChangeItemAudience, new_words
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.candidate_checks import check_audience
from muniment.operations.memory.kept_words import kept_words


def kept_amendment(session: Session, item: MemoryItem, amendment: AnyChange) -> AnyChange:
    """Return an amendment with its words as they are kept."""
    if isinstance(amendment, ChangeItemAudience):
        check_audience(amendment.audience, item.plane, item.subject, "amendment.audience")
    words, limit = new_words(amendment), session.space.limits.item_bytes_max
    for name, text in words.items():
        if not text.strip():
            raise InvalidInput(at=f"amendment.{name}", problem="empty")
    size = sum(len(text.encode()) for text in words.values())
    if size > limit:
        raise LimitExceeded(at="amendment", problem="too_large", limit=limit, found=size)
    marked = kept_words(session.space, item.subject)
    return replace(amendment, **{name: marked(text) for name, text in words.items()})
