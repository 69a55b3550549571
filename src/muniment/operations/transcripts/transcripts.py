"""The noun group `transcripts`: commit what was delivered, say things about it, replay it, find one's way in it."""

from __future__ import annotations

from muniment.declaration.operation import Group, operation
from muniment.declaration.session import Session
from muniment.events.attributes import Attribute
from muniment.events.changes import RedactionReason
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.turn import Turn
from muniment.governance.access import Effect
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.context.compose import Composing, PromptRequest
from muniment.operations.context.prompt import Composition, Context, Shape
from muniment.operations.transcripts.activity import Activity, TimeRange, count_activity
from muniment.operations.transcripts.annotate import AnnotationReport, annotate
from muniment.operations.transcripts.commit import CommitReceipt, commit
from muniment.operations.transcripts.conversations import Conversations, list_conversations
from muniment.operations.transcripts.hits import SearchPage, SearchRanking, SearchScope
from muniment.operations.transcripts.redact import Passage, RedactionReport, RedactionRequest, redact
from muniment.operations.transcripts.replay import Slice, replay
from muniment.operations.transcripts.timeline import LATEST, Anchor, Timeline, TimelineRequest, timeline

EVERYWHERE = SearchScope()
BY_RELEVANCE = SearchRanking()
AS_USUAL = Composition()


class Transcripts(Group):
    """Commit what was delivered, replay it under a view, find it, redact it, annotate it."""

    name = "transcripts"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.APPEND)
    def commit(self, turn: Turn) -> CommitReceipt:
        """Commit one delivered turn; returns when it is durable.

        Appends `turn.committed`, and before it `conversation.opened` or `alias.recorded` when the conversation or its
        chat id is new, in one atomic step. Repeating a turn returns its first sequence with `committed` false; the same
        turn id with any difference raises `transcript.turn_conflict`. What is kept of a turn follows from its delivery
        status; nothing left is a reason, not an error. Where the store looks for personal data before commits, what it
        finds is replaced by markers and counted. Raises `request.limit_exceeded` for what is too large,
        `transcript.alias_conflict`, `access.denied`.
        """
        return commit(self._session, turn)

    @operation(Effect.READ)
    def replay(
        self,
        conversation: ConversationKey,
        view: View = View.HOST_UI,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Slice:
        """Replay a conversation as a view shows it, oldest turn first, page by page.

        `limit` counts turns (0 counts as 1). What the view withholds is absent and reported as an item with its reason.
        A conversation that does not exist is an empty page. The cursor of a page leads to the next one as long as
        conversation, view and access stay the same; any other use raises `cursor.invalid`. The budget of a profile may
        make a page shorter than `limit` and leave out references and items (`budget_applied`); it never shows more.
        """
        return replay(self._session, conversation, view, limit, cursor)

    @operation(Effect.READ)
    def timeline(
        self,
        conversation: ConversationKey,
        anchor: Anchor = LATEST,
        view: View = View.HOST_UI,
        limit: int = 50,
        lifecycle: LifecycleFilter = LifecycleFilter.ACTIVE,
        cursor: str | None = None,
    ) -> Timeline:
        """Show a conversation around a place in it: the latest turns, or those before, after or around one.

        Turns come in the order of their sequence. Masked and erased ones are skipped, archived ones too unless
        `lifecycle` asks for them. `limit` counts turns and is above 0. To go on, repeat the request with the cursor of
        either direction: the run shows each turn of its first moment once, appends stay outside, a lifecycle change
        raises `cursor.stale`. Raises `transcript.unknown_conversation`, `transcript.unknown_place`, and
        `cursor.invalid` when anything in the request was changed.
        """
        request = TimelineRequest(conversation=conversation, anchor=anchor, view=view, limit=limit, lifecycle=lifecycle)
        return timeline(self._session, request, cursor)

    @operation(Effect.READ)
    def activity(
        self,
        ranges: list[TimeRange],
        channel: Channel | None = None,
        conversation: ConversationId | None = None,
        lifecycle: LifecycleFilter = LifecycleFilter.ACTIVE,
    ) -> Activity:
        """Count the turns that were observed in ranges of time, and name the first and the last of each.

        `ranges` are half-open, in UTC milliseconds, sorted, and do not overlap; days and time zones are the host's
        task. Without `channel` all of the space is counted; with `conversation` that one alone, of `channel` or the
        default one. The observed time of a turn is that of its latest message. Masked and erased turns are not counted,
        archived ones when `lifecycle` asks for them. Raises `transcript.unknown_conversation`.
        """
        return count_activity(self._session, ranges, channel, conversation, lifecycle)

    @operation(Effect.READ)
    def conversations(
        self,
        channel: Channel | None = None,
        lifecycle: LifecycleFilter = LifecycleFilter.ACTIVE,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Conversations:
        """List the conversations of the space, the most recently observed first.

        Counts what `lifecycle` lists of each: active turns, or archived ones too; never masked or erased ones, and a
        conversation of which nothing is left is not listed. `limit` counts conversations and is above 0. To go on,
        repeat the request with the cursor; a change of what is listed raises `cursor.stale`, so that a run shows each
        conversation once.
        """
        return list_conversations(self._session, channel, lifecycle, limit, cursor)

    @operation(Effect.READ)
    def search(
        self,
        query: str,
        view: View = View.HOST_UI,
        within: SearchScope = EVERYWHERE,
        ranking: SearchRanking = BY_RELEVANCE,
        limit: int = 10,
        cursor: str | None = None,
    ) -> SearchPage:
        """Search what users and assistants said, as a view shows it; the best hits first.

        A query is words, of which any may be there, "phrases", which must be, and what must not be there after `-`;
        `from:`, `in:`, `role:`, `before:`, `after:` and `on:` narrow it down. Nothing that the view hides is found,
        counted or shown, and an excerpt is a piece of what the view shows. `limit` counts messages and is above 0. To
        go on, repeat the request with the cursor; when other messages are found by then, or in another order, it is
        `cursor.stale`. Raises `request.invalid` for a query without a term or with control characters,
        `request.limit_exceeded` for one that is too long, `transcript.unknown_conversation`.
        """
        from muniment.operations.transcripts.search import Searching  # noqa: PLC0415  # numpy is imported by who searches

        return Searching(self._session, query, view, within, ranking).run(limit, cursor)

    @operation(Effect.READ)
    def context(
        self,
        conversation: ConversationKey,
        budget_tokens: int,
        query: str | None = None,
        shape: Shape = Shape.OPENAI,
        view: View = View.MODEL_CONTEXT,
        composition: Composition = AS_USUAL,
    ) -> Context:
        """Make the messages for a prompt: the newest turns that fit a budget, and earlier messages that answer a query.

        Turns come whole, in the order of the conversation, calls of tools with their results. Earlier messages are
        quoted in one block before them, marked as untrusted, in which nothing can close it. What the view withholds is
        counted with its reason and never there. The budget is counted by `Options.token_counter`, or estimated, and
        never exceeded; a profile may allow fewer characters. A conversation that does not exist has no turns. With
        `record` in the composition `context.issued` is appended, which takes the right to append, and is durable before
        a word is returned.
        """
        request = PromptRequest(
            conversation=conversation,
            budget_tokens=budget_tokens,
            query=query,
            shape=shape,
            view=view,
            composition=composition,
        )
        return Composing(self._session, request).run()

    @operation(Effect.APPEND)
    def redact(
        self,
        conversation: ConversationKey,
        passage: Passage,
        views: list[View],
        reason: RedactionReason,
        requester: str,
        note: str | None = None,
    ) -> RedactionReport:
        """Withhold a turn, or something in it, from named views from now on.

        Appends `turn.redacted` with the reason, the requester and a note of your own. The words stay, and stay visible
        to the views that are not named, until they are erased; naming `raw_owner` names every view. Redactions overlap
        as they like, their order does not matter, and there is no way back. What is named whole is then absent; in the
        place of a range stands a marker such as `[redacted: legal]`, and proofs for that view no longer disclose the
        part. A repeat, with the same reason and no further view, completes with `changed` false and appends nothing.
        Raises `transcript.unknown_conversation`, `transcript.unknown_place`, `transcript.words_erased`,
        `request.invalid` for a range that is empty, reversed, beyond the text or in what has no text, and
        `access.denied` for a view that the access does not include.
        """
        request = RedactionRequest(reason=reason, requester=requester, note=note or "")
        return redact(self._session, conversation, passage, views, request)

    @operation(Effect.APPEND)
    def annotate(
        self,
        conversation: ConversationKey,
        attributes: list[Attribute],
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> AnnotationReport:
        """Record attributes of turns and messages, each taken or refused alone with a reason.

        Appends one `attr.recorded` for each that is taken, all in one atomic step. Writing an id again replaces what it
        stood for; an id that occurs twice in one request is refused. The values die with their turn. `dry_run` appends
        nothing and answers what a write would do, and what each view would not show. The idempotency key is kept for
        correlation and suppresses nothing. Sizes are bytes of canonical JSON, times UTC
        milliseconds. Raises `transcript.unknown_conversation`, `request.limit_exceeded`, `access.denied`.
        """
        return annotate(self._session, conversation, attributes, idempotency_key, dry=dry_run)
