"""The noun group `conversations`: list them, count their turns, find one by a name, tell what changed, describe it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.events.identity import DEFAULT_CHANNEL, Channel, SubjectId
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.conversations.activity import Activity, TimeRange, count_activity
from muniment.operations.conversations.changed import changed
from muniment.operations.conversations.conversation_change import ConversationChange
from muniment.operations.conversations.describe import Description, describe
from muniment.operations.conversations.listed import (
    ConversationFilter,
    Conversations,
    ListRequest,
    list_conversations,
)
from muniment.operations.conversations.resolve import ResolvedConversation, resolve
from muniment.operations.examples import TIME_RANGE, TITLE
from muniment.operations.parameters import InChannel, InConversation, ListedTurns, OneConversation, PageCursor

ALL = ConversationFilter()


class ConversationGroup(Group):
    """Find conversations: list them, count their turns, resolve a name, set a title and tags."""

    name = "conversations"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT_AND_CHANNELS, request="ListConversationsRequest")
    def list_(
        self,
        channel: InChannel = None,
        lifecycle: ListedTurns = LifecycleFilter.ACTIVE,
        limit: Annotated[int, Meta(description="Conversations per page; above 0.")] = 50,
        cursor: PageCursor = None,
        only: Annotated[ConversationFilter, Meta(description="Which conversations. Default: all.")] = ALL,
        view: Annotated[
            View | None,
            Meta(description="View that decides which words are shown. Default: host_ui, where it is allowed."),
        ] = None,
    ) -> Conversations:
        """List conversations, the most recently observed first, with titles and previews.

        Counts the turns that `lifecycle` asks for: active ones, or archived ones too; never masked or erased ones. A
        conversation without any such turn is not listed. Titles, tags and previews (the first and the last words that
        are shown) are what the view shows of them; previews are never stored. To go on, repeat the request with the
        cursor; a change of the list raises `cursor.stale`, so that each conversation is shown once. Raises
        `access.denied` for a view or a subject that the access does not include.
        """
        request = ListRequest(channel=channel, lifecycle=lifecycle, limit=limit, only=only, view=view)
        return list_conversations(self._session, request, cursor)

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT_AND_CHANNELS)
    def activity(
        self,
        ranges: Annotated[
            list[TimeRange], Meta(description="Ranges of time, sorted and without overlap.", examples=[[TIME_RANGE]])
        ],
        channel: InChannel = None,
        conversation: OneConversation = None,
        lifecycle: ListedTurns = LifecycleFilter.ACTIVE,
    ) -> Activity:
        """Count the turns that were observed in ranges of time, and name the first and the last of each.

        Ranges are half-open, in UTC milliseconds; days and time zones are up to the caller. Without `channel` the whole
        space is counted. The observed time of a turn is that of its latest message. Masked and erased turns are not
        counted, archived ones when `lifecycle` asks for them. Raises `transcript.unknown_conversation`.
        """
        return count_activity(self._session, ranges, channel, conversation, lifecycle)

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT_AND_CHANNELS)
    def resolve(
        self,
        name: Annotated[str, Meta(description="A chat id, the id of a conversation, or channel/conversation.")],
        subject: Annotated[SubjectId | None, Meta(description="Whose chat id it is.")] = None,
        channel: Annotated[Channel, Meta(description="Channel of the chat or conversation.")] = DEFAULT_CHANNEL,
    ) -> ResolvedConversation:
        """Find the conversation that a chat id or another name means.

        With a subject a chat id comes first, as it does in a commit that names a chat and no conversation; then the id
        of a conversation in the channel; then `channel/conversation`, as lists print it. Raises
        `transcript.unknown_conversation`, with suggestions of conversations whose names are alike.
        """
        return resolve(self._session, name, subject, channel)

    @operation(Effect.READ, family=Family.LISTING, heeds=SUBJECT_AND_CHANNELS)
    def changed(
        self,
        conversation: InConversation,
        since: Annotated[
            str | None, Meta(description="State that an earlier call returned. Leave it out to get the present one.")
        ] = None,
    ) -> ConversationChange:
        """Tell whether a conversation has changed since an earlier call, so that you can reuse what you read then.

        Ask before you read, and keep the pages with the state that you got; only pages with the same digest belong to
        it. While the change is `none`, every view shows what it showed. After `appended` you only have to read the new
        turns. Redacting, masking and erasing count as `other`, and so does restarting a server. You get no state under
        a policy that records reads, or with an access that is limited to one subject: read each time.
        """
        return changed(self._session, conversation, since)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT_AND_CHANNELS, idempotent=True)
    def describe(
        self,
        conversation: InConversation,
        title: Annotated[
            str | None,
            Meta(description="Title, at most 1,024 bytes; empty: none. Without it: stays.", examples=[TITLE]),
        ] = None,
        tags: Annotated[
            list[str] | None, Meta(description="All tags, at most 32; may be repeated. Without it: they stay.")
        ] = None,
    ) -> Description:
        """Set the title or the tags of a conversation.

        Appends `attr.recorded` for each that differs; a repeat changes nothing. They are content of the first turn that
        is not hidden: whoever may see words sees them, masking that turn hides them, and erasing it erases them. Raises
        `transcript.unknown_conversation`, `request.limit_exceeded`, and `transcript.words_erased` when all turns are
        erased.
        """
        return describe(self._session, conversation, title, tags)
