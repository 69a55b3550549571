"""Parameters that several operations share, each with the description that every transport shows; who asks, and why."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import Channel, ConversationId, ConversationKey, check_name
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.kernel.times import DURATION

REASON_BYTES_MAX = 4096
NOT_EMPTY = {"minLength": 1}

InConversation = Annotated[ConversationKey, Meta(description="The conversation.")]
OnlyConversation = Annotated[
    ConversationKey | None, Meta(description="This conversation only. Without it: the whole space.")
]
InChannel = Annotated[Channel | None, Meta(description="This channel only. Without it: all channels.")]
OneConversation = Annotated[
    ConversationId | None, Meta(description="This conversation only: one of the channel, or of the default channel.")
]
ThroughView = Annotated[View, Meta(description="View that decides what is shown.")]
ListedTurns = Annotated[LifecycleFilter, Meta(description="Active turns only, or archived ones too.")]
PageCursor = Annotated[str | None, Meta(description="Next cursor of the page before. Without it: the first page.")]
Why = Annotated[str, Meta(description="Why; recorded. At most 4,096 bytes.", extra_json_schema=NOT_EMPTY)]
Requester = Annotated[
    str, Meta(description="Who requests it; recorded. A name of at most 512 bytes.", extra_json_schema=NOT_EMPTY)
]
SealedBy = Annotated[
    str | None, Meta(description="Key that seals the files, as in --keys. Without it: the root key of the store.")
]
DryRun = Annotated[bool, Meta(description="Only report what would be done.")]
KeepAtLeast = Annotated[
    int | None, Meta(description="Milliseconds since the commit before which nothing is erased.", extra=DURATION)
]
EraseAfter = Annotated[
    int | None, Meta(description="Milliseconds since the commit after which retention erases.", extra=DURATION)
]


def check_reason(reason: str, at: str) -> None:
    """Refuse a reason that is empty or too long."""
    if not reason.strip():
        raise InvalidInput(at=at, problem="empty")
    if len(reason.encode()) > REASON_BYTES_MAX:
        raise InvalidInput(at=at, problem="too_long", limit=REASON_BYTES_MAX)


def requested(session: Session, reason: str, name: str, at: str = "requester") -> LifecycleRequest:
    """Return a request of now; refuse a reason that is empty or too long, and a malformed name of who asks."""
    check_reason(reason, at="reason")
    check_name(name, at=at)
    now_ms = session.space.sources.clock.now_ms()
    return LifecycleRequest(reason=reason, requester=name, requested_ms=now_ms)
