"""The noun group `lifecycle`: what can happen to turns after they are committed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Document, Effect, Family, Group, SecondRight, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import Action, RetentionPolicy, Transition
from muniment.events.identity import Channel, ConversationId, TurnId, check_name
from muniment.operations.lifecycle.certificate import EvidenceFormat, certificate
from muniment.operations.lifecycle.erase import erase
from muniment.operations.lifecycle.holds import make_hold, release_hold
from muniment.operations.lifecycle.receipts import Receipts, receipts_of
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.retention import RetentionPolicies, RetentionReport, apply_policies, set_policy
from muniment.operations.lifecycle.review import review_request
from muniment.operations.lifecycle.scope import OneScope, Scope
from muniment.operations.lifecycle.transition import request_transition
from muniment.operations.parameters import DryRun, EraseAfter, InConversation, KeepAtLeast, Requester, Why, requested

EXPIRED = "expired"
WithItems = Annotated[bool, Meta(description="Of an erasure: also memory items that rest on nothing else.")]


class Lifecycle(Group):
    """Archive, restore, mask, unmask, erase; holds, retention, receipts and certificates."""

    name = "lifecycle"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(
        Effect.ERASE, family=Family.LIFECYCLE, heeds=SUBJECT_AND_CHANNELS, idempotent=True, request="TransitionRequest"
    )
    def request(
        self,
        conversation: InConversation,
        transition: Annotated[Transition, Meta(description="What to do with the turns.")],
        reason: Why,
        requester: Requester,
        turn: Annotated[
            TurnId | None, Meta(description="Id of the turn. Without it: all turns that the conversation has now.")
        ] = None,
    ) -> LifecycleReport:
        """Request a transition of one turn, or of all turns that a conversation has now.

        Appends one `turn.lifecycle` event with reason and requester when it changes anything. A repeat, and a request
        that matches no turn, completes with `changed` false and appends nothing. `erase` does what the operation
        `erase` does to the same turns: it destroys the content permanently and returns a receipt. Turns that a hold or
        a legal minimum keeps stay, and the report lists them. A transition is never refused because something was
        derived from the turn.
        """
        self._session.check_key(conversation)
        scope = Scope(conversation=conversation.conversation, channel=conversation.channel, turn=turn)
        scope.check_within(self._session.access)
        request = requested(self._session, reason, requester)
        if transition is Transition.ERASE:
            return erase(self._session, scope, request)
        return request_transition(self._session, scope, transition, request)

    @operation(
        Effect.ERASE,
        family=Family.LIFECYCLE,
        heeds=SUBJECT_AND_CHANNELS,
        also=(SecondRight(effect=Effect.ADMIN, when="scope.whole_space"),),
        idempotent=True,
    )
    def erase(
        self,
        scope: Annotated[OneScope, Meta(description="What to erase: exactly one thing.")],
        reason: Why,
        requester: Requester,
        with_memory: WithItems = False,
    ) -> LifecycleReport:
        """Erase the content of a message, a turn, a conversation, a subject or the whole space, permanently.

        Returns a receipt that lists every place that was reached and what is outside. Appends `turn.lifecycle` with
        reason `erase` for each run of turns that are erased; turns that a hold or a legal minimum keeps stay, and the
        report says which, and what keeps them. Memory items that rest on the turns stay and need a review; with
        `with_memory` those, and proposals, that rest on nothing else go along, and are listed. With a subject its own
        tool registries and the experience with their tools go along (`tools.removed`). A repeat changes nothing.
        Content is destroyed even where it can no longer be read. The whole space needs the right to administer, is
        erased completely or not at all, and ends with `space.erased`: nothing in it can be read or written afterwards,
        and it can still be audited. Raises `request.invalid` for a scope that is not exactly one thing.
        """
        scope.check(self._session.space.name)
        scope.check_within(self._session.access)
        request = requested(self._session, reason, requester)
        return erase(self._session, scope, request, with_memory=with_memory)

    @operation(Effect.READ, family=Family.LIFECYCLE)
    def review(
        self,
        action: Annotated[Action, Meta(description="The transition or hold to preview.")],
        scope: Annotated[OneScope, Meta(description="What it is about: exactly one thing.")],
        with_memory: WithItems = False,
    ) -> LifecycleReport:
        """Preview a transition, an erasure or a hold, and show what is in force, without doing anything.

        The report is the one that the real request returns: what is affected, what holds and legal minima keep, what
        can no longer be opened. It also lists the holds and policies in force for the scope; a review of the whole
        space lists all of them. Appends nothing and changes no byte of the store. `release` has no review.
        """
        scope.check(self._session.space.name)
        return review_request(self._session, action, scope, with_memory=with_memory)

    @operation(Effect.ADMIN, family=Family.LIFECYCLE, idempotent=True)
    def hold(
        self,
        scope: Annotated[OneScope, Meta(description="What to hold: exactly one thing.")],
        reason: Why,
        requester: Requester,
    ) -> LifecycleReport:
        """Hold the content of a turn, a conversation, a subject or the whole space: it cannot be erased until released.

        A hold of more than one turn also covers turns that are committed later. Several may be in force, and all must
        be released. Appends `turn.lifecycle` with reason `hold`, named by its `position`. A repeat by the same
        requester for the same reason returns the position of the first with `changed` false. Masking and archiving stay
        possible. Raises `transcript.unknown_conversation` and `transcript.unknown_place`.
        """
        scope.check(self._session.space.name)
        return make_hold(self._session, scope, requested(self._session, reason, requester))

    @operation(Effect.ADMIN, family=Family.LIFECYCLE, idempotent=True)
    def release(
        self,
        hold: Annotated[int, Meta(description="Position of the hold in the log.")],
        reason: Why,
        requester: Requester,
    ) -> LifecycleReport:
        """Release a hold by the position of its event; other holds of the same content stay.

        Appends `turn.lifecycle` with reason `release`. Releasing a hold again changes nothing. Raises
        `lifecycle.hold_missing` when there never was a hold at this position.
        """
        return release_hold(self._session, hold, requested(self._session, reason, requester))

    @operation(Effect.ADMIN, family=Family.LIFECYCLE, idempotent=True)
    def retain(
        self,
        reason: Why,
        requester: Requester,
        channel: Annotated[
            Channel | None, Meta(description="Channel that the policy is about. Without it: the whole space.")
        ] = None,
        conversation: Annotated[
            ConversationId | None, Meta(description="Conversation that the policy is about; needs the channel.")
        ] = None,
        keep_at_least_ms: KeepAtLeast = None,
        erase_after_ms: EraseAfter = None,
    ) -> RetentionPolicies:
        """Set how long content is kept: at least, and at most until `apply_retention` erases it.

        For one conversation (with its `channel`), for a channel, or for the whole space. Periods are milliseconds since
        the commit of a turn. Replaces the policy of the same scope, and without a period removes it; setting the same
        again changes nothing. Of several scopes the longest minimum applies, and the maximum of the narrowest. Appends
        `policy.set`; erases nothing by itself. Returns all policies in force.
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
        return set_policy(self._session, policy, requested(self._session, reason, requester))

    @operation(Effect.ERASE, family=Family.LIFECYCLE, idempotent=True)
    def apply_retention(
        self,
        requester: Requester,
        reason: Why = EXPIRED,
        dry_run: DryRun = False,
        limit: Annotated[
            int | None, Meta(description="Maximum of turns to erase. Without it: all that are due.")
        ] = None,
    ) -> RetentionReport:
        """Erase what is due under the policies and is kept neither by a hold nor by a legal minimum.

        Works in batches, each with a receipt of its own; what an interruption leaves is erased by a repeat.
        With `limit` the other turns stay for another time. With `dry_run` nothing is erased and the report says what
        would be. Appends `turn.lifecycle` as `erase` does.
        """
        return apply_policies(self._session, requested(self._session, reason, requester), limit, dry_run=dry_run)

    @operation(Effect.READ, family=Family.LIFECYCLE)
    def receipts(
        self,
        conversation: InConversation,
    ) -> Receipts:
        """List every transition, hold and release of a conversation: who requested it, why, and a proof from the log.

        `content_left` counts the erased turns whose content still exists; it is 0, or the store is not sound. Appends
        nothing.
        """
        self._session.check_key(conversation)
        return receipts_of(self._session, conversation)

    @operation(Effect.READ, family=Family.LIFECYCLE)
    def certificate(
        self,
        position: Annotated[int, Meta(description="Position of the erasure, as its report or receipt names it.")],
        format: Annotated[  # noqa: A002 - what the option is called everywhere
            EvidenceFormat, Meta(description="Lines for programs, or a page for people that carries the same lines.")
        ] = EvidenceFormat.JSONL,
    ) -> Document:
        """Make the certificate of an erasure: a signed document for the person whose content it was.

        It says what was erased (conversations, ids of turns, counts), when, at whose request and why, what was cleaned
        and what is outside, and proves from the log that the erasure is on record; it holds no erased content. It
        covers every event of the same request. `evidence verify` and the verifier check it offline. Appends nothing.
        Raises `evidence.missing` where there is no erasure, and `store.corrupt` when anything of the content is left.
        """
        return certificate(self._session, position, format)
