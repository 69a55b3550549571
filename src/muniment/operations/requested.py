"""Who asks for something, why and when: checked once, for every operation that records it."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import check_name

REASON_BYTES_MAX = 4096


def requested(session: Session, reason: str, name: str, at: str = "requester") -> LifecycleRequest:
    """Return a request of now; refuse a reason that is empty or too long, and a malformed name of who asks."""
    if not reason.strip():
        raise InvalidInput(at="reason", problem="empty")
    if len(reason.encode()) > REASON_BYTES_MAX:
        raise InvalidInput(at="reason", problem="too_long", limit=REASON_BYTES_MAX)
    check_name(name, at=at)
    now_ms = session.space.sources.clock.now_ms()
    return LifecycleRequest(reason=reason, requester=name, requested_ms=now_ms)
