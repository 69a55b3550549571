"""The noun group `events`: what happens in a space."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.governance.views import View
from muniment.operations.events.read_events import FeedRequest, read_events
from muniment.operations.events.space_event import EventPage, EventTopic
from muniment.operations.parameters import InChannel, OneConversation, ThroughView


class EventGroup(Group):
    """Follow what happens: new turns, changes, memory, erasures, what operators look at."""

    name = "events"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS, request="ReadEventsRequest")
    def read(
        self,
        after: Annotated[
            str | None,
            Meta(
                description="Id of the last event, cursor of the last page, or `now`. Without it: from the beginning."
            ),
        ] = None,
        limit: Annotated[int, Meta(description="Maximum of events.")] = 50,
        view: ThroughView = View.HOST_UI,
        channel: InChannel = None,
        conversation: OneConversation = None,
        *,
        topics: Annotated[
            list[EventTopic] | None, Meta(description="Only these topics. Without it: all that the caller may see.")
        ] = None,
    ) -> EventPage:
        """Read what happened in the space or a conversation, as a view shows it now; go on behind its cursor.

        Topics: `transcript` (turns, redactions, lifecycle, attributes), `memory` (items), `erasures` (each with a
        receipt that proves it), `findings` (refused access, refused erasures) and `governance` (policies, approvals,
        holds, keys, exports). The last two take an operator's view, and a caller without a subject and channels;
        `memory` one without channels; a conversation has neither. A cursor stays valid for as long as the log does,
        for the same key rights, view and conversation; topics may change. What the caller may not see leaves no trace:
        a conversation of others is as empty as one that does not exist. Raises `cursor.invalid`, `access.denied`.
        """
        request = FeedRequest(view=view, channel=channel, conversation=conversation, topics=topics, limit=limit)
        return read_events(self._session, request, after)
