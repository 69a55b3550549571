"""The noun group `lifecycle`: what may happen to turns after they were committed."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.operation import Group, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import Action, LifecycleRequest, RetentionPolicy, Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId, check_name
from muniment.governance.access import Effect
from muniment.operations.lifecycle.erase_space import erase_space
from muniment.operations.lifecycle.erase_turns import erase_turns
from muniment.operations.lifecycle.holds import make_hold, release_hold
from muniment.operations.lifecycle.receipts import Receipts, receipts_of
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.retention import RetentionPolicies, RetentionReport, apply_policies, set_policy
from muniment.operations.lifecycle.review import review_request
from muniment.operations.lifecycle.scope import Scope, target_of
from muniment.operations.lifecycle.transition import request_transition

REASON_BYTES_MAX = 4096
TIME_IS_OVER = "its time is over"


class Lifecycle(Group):
    """Archive, restore, mask, unmask, erase; holds and retention; and the receipts of it."""

    name = "lifecycle"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.ERASE)
    def request(
        self,
        conversation: ConversationKey,
        transition: Transition,
        reason: str,
        requester: str,
        turn: TurnId | None = None,
    ) -> LifecycleReport:
        """Ask for a transition of one turn, or of all turns that a conversation has now.

        Appends one `turn.lifecycle` event with reason and requester when it changes anything. A repeat, and a request
        that no turn matches, completes with `changed` false and appends nothing. `erase` is `erase` of the same
        turns: it destroys the words permanently and answers with a receipt; turns that a hold or a legal minimum keeps
        stay, and the report says which. Nothing is refused because something was derived from the turn.
        """
        self._session.check_key(conversation)
        scope = Scope(conversation=conversation.conversation, channel=conversation.channel, turn=turn)
        request = self._request(reason, requester)
        if transition is Transition.ERASE:
            return self._erased(scope, request)
        return request_transition(self._session, scope, transition, request)

    @operation(Effect.ERASE)
    def erase(self, scope: Scope, reason: str, requester: str) -> LifecycleReport:
        """Erase the words of a message, a turn, a conversation, a subject or the whole space, permanently.

        Answers with a receipt that names every place that was reached and what lies outside. Appends `turn.lifecycle`
        with reason `erase` for each run of turns that go; turns that a hold or a legal minimum keeps stay, and the
        report says which, by what. A repeat changes nothing. Words are destroyed also where they cannot be read any
        more. The whole space needs the right to administer, goes whole or not at all, and ends with `space.erased`:
        nothing in it can be read or written afterwards, and the audit still holds. Raises `request.invalid` for a scope
        that is not exactly one thing.
        """
        scope.check(self._session.space.name)
        self._session.access.require_subjects(scope.subject)
        return self._erased(scope, self._request(reason, requester))

    @operation(Effect.READ)
    def review(self, action: Action, scope: Scope) -> LifecycleReport:
        """Show what a transition, an erasure or a hold would do now, and what is in force, without doing it.

        The report is the one that the real request gives: what is affected, what holds and legal minima keep, what does
        not open any more. It also lists the holds and policies in force that bear on the scope; a review of the whole
        space lists all of them. Appends nothing and changes no byte of the store. `release` is not reviewed.
        """
        scope.check(self._session.space.name)
        return review_request(self._session, action, scope)

    @operation(Effect.ADMIN)
    def hold(self, scope: Scope, reason: str, requester: str) -> LifecycleReport:
        """Hold words: of a turn, a conversation, a subject or the whole space; nobody erases them until the release.

        A hold of more than one turn is also about the turns that are still to come. Several may be in force, and all
        must be released. Appends `turn.lifecycle` with reason `hold`, named by its `position`; the same hold by the
        same requester for the same reason is in force once, and a repeat answers with its position and `changed` false.
        Masking and archiving stay possible. Raises `transcript.unknown_conversation` and `transcript.unknown_place`.
        """
        scope.check(self._session.space.name)
        return make_hold(self._session, scope, self._request(reason, requester))

    @operation(Effect.ADMIN)
    def release(self, hold: int, reason: str, requester: str) -> LifecycleReport:
        """Release a hold by the position of its event; other holds of the same words stay.

        Appends `turn.lifecycle` with reason `release`. A hold that was released before changes nothing. Raises
        `lifecycle.hold_missing` when there never was a hold at this position.
        """
        return release_hold(self._session, hold, self._request(reason, requester))

    @operation(Effect.ADMIN)
    def retain(
        self,
        reason: str,
        requester: str,
        channel: Channel | None = None,
        conversation: ConversationId | None = None,
        keep_at_least_ms: int | None = None,
        erase_after_ms: int | None = None,
    ) -> RetentionPolicies:
        """Set how long words are kept: at least, and at most until `apply_retention` erases them.

        Of one conversation (with its `channel`), of a channel, or of the whole space. Milliseconds since the commit of
        a turn. Replaces what was set for the same scope, with neither period it is taken back; setting the same again
        changes nothing. Of several scopes the longest minimum holds, and the end of the narrowest. Appends
        `policy.set`; erases nothing by itself. Answers with all policies in force.
        """
        if conversation is not None and channel is None:
            raise InvalidInput(at="channel", problem="missing_field")
        for at, name in (("channel", channel), ("conversation", conversation)):
            if name is not None:
                check_name(name, at=at)
        policy = RetentionPolicy(
            channel=channel,
            conversation=conversation,
            keep_at_least_ms=keep_at_least_ms,
            erase_after_ms=erase_after_ms,
        )
        return set_policy(self._session, policy, self._request(reason, requester))

    @operation(Effect.ERASE)
    def apply_retention(
        self, requester: str, reason: str = TIME_IS_OVER, dry_run: bool = False, limit: int | None = None
    ) -> RetentionReport:
        """Erase what is due under the policies and is neither held nor kept by a legal minimum.

        Works in batches, each with a receipt of its own; an interruption leaves whole batches, and a repeat goes on.
        `limit` counts turns: the others stay for another time. With `dry_run` nothing is erased and the report says
        what would be. Appends `turn.lifecycle` as `erase` does.
        """
        return apply_policies(self._session, self._request(reason, requester), limit, dry_run=dry_run)

    @operation(Effect.READ)
    def receipts(self, conversation: ConversationKey) -> Receipts:
        """List every transition, hold and release of a conversation: who asked, why, and a proof that the log holds it.

        `content_left` counts the turns of an erasure whose content is there all the same; it is 0, or the store is not
        sound. Reading appends nothing.
        """
        self._session.check_key(conversation)
        return receipts_of(self._session, conversation)

    # --- shared -------------------------------------------------------------------------------------------------------

    def _erased(self, scope: Scope, request: LifecycleRequest) -> LifecycleReport:
        if scope.whole_space is not None:
            return erase_space(self._session, request)
        target = target_of(self._session.space, scope, self._session.progress)
        return erase_turns(self._session, scope, target, replace(request, subject=scope.subject))

    def _request(self, reason: str, requester: str) -> LifecycleRequest:
        """Return who asks for something, why and when."""
        if not reason.strip():
            raise InvalidInput(at="reason", problem="empty")
        if len(reason.encode()) > REASON_BYTES_MAX:
            raise InvalidInput(at="reason", problem="too_long", limit=REASON_BYTES_MAX)
        check_name(requester, at="requester")
        now_ms = self._session.space.sources.clock.now_ms()
        return LifecycleRequest(reason=reason, requester=requester, requested_ms=now_ms)
