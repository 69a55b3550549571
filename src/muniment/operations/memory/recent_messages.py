"""The newest messages of a conversation that a view shows, in the order of time."""

from __future__ import annotations

from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import ConversationKey
from muniment.events.message import Role, TextPart
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.transcripts.timeline import LATEST, TimelineRequest, timeline


class RecentMessage(NamedTuple):
    """A message of a conversation: its id, the position of its turn, who said it and when, and its text."""

    id: str
    position: int
    role: Role
    speaker: str
    observed_ms: int
    text: str


def recent_messages(session: Session, key: ConversationKey, view: View, count: int) -> list[RecentMessage]:
    """Return the newest messages with text that a view shows, at most so many, oldest first."""
    limit = session.space.limits.page_turns_max
    if count > limit:
        raise InvalidInput(at="recent_messages", problem="out_of_range", limit=limit, found=count)
    if not count:
        return []
    request = TimelineRequest(conversation=key, anchor=LATEST, view=view, limit=count, lifecycle=LifecycleFilter.ACTIVE)
    page = timeline(session, request, None)
    found = [
        RecentMessage(
            id=message.id,
            position=turn.position,
            role=message.role,
            speaker=message.speaker_id,
            observed_ms=message.observed_ms,
            text=text,
        )
        for turn in page.turns
        for message in turn.messages
        if message.role in {Role.USER, Role.ASSISTANT}
        and (text := "\n".join(part.content for part in message.parts if isinstance(part, TextPart))).strip()
    ]
    return found[-count:]
