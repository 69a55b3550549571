"""The noun group `transcripts`: commit turns, replay, browse and search them, redact and annotate them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Effect, Family, Group, SecondRight, operation
from muniment.declaration.session import Session
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.context import Composition, Context, PromptRequest, Shape, compose_context
from muniment.operations.examples import ATTRIBUTE, TURN
from muniment.operations.parameters import (
    DryRun,
    InConversation,
    ListedTurns,
    PageCursor,
    Requester,
    ThroughView,
)
from muniment.operations.transcripts.annotate import AnnotationReport, Attributes, annotate
from muniment.operations.transcripts.commit import CommitReceipt, DeliveredTurn, commit
from muniment.operations.transcripts.commit_many import BatchReceipt, DeliveredTurns, commit_many
from muniment.operations.transcripts.hits import SearchPage, SearchRanking, SearchRequest, SearchScope
from muniment.operations.transcripts.redact import Passage, ReasonCode, RedactionReport, RedactionRequest, redact
from muniment.operations.transcripts.replay import Slice, replay
from muniment.operations.transcripts.timeline import LATEST, Anchor, Timeline, TimelineRequest, timeline

EVERYWHERE = SearchScope()
BY_RELEVANCE = SearchRanking()
AS_USUAL = Composition()
LATEST_TURNS = 10


class Transcripts(Group):
    """Commit turns, replay, browse and search them, make prompts from them, redact and annotate them."""

    name = "transcripts"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT_AND_CHANNELS, idempotent=True)
    def commit(
        self,
        turn: Annotated[DeliveredTurn, Meta(examples=[TURN])],
    ) -> CommitReceipt:
        """Commit one delivered turn; returns when it is durable.

        Appends `turn.committed`, and before it `conversation.opened` or `alias.recorded` when the conversation or its
        chat id is new, in one atomic step. Repeating a turn returns its first sequence with `committed` false; the same
        turn id with any difference raises `transcript.turn_conflict`. The delivery status decides what is stored of a
        turn; if nothing is, the report gives a reason, and that is not an error. Where the store detects personal data
        before commits, it is replaced by markers and counted. Raises `request.limit_exceeded` for what is too large,
        `transcript.alias_conflict`, `access.denied`.
        """
        return commit(self._session, turn)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT_AND_CHANNELS, idempotent=True)
    def commit_many(
        self,
        turns: Annotated[DeliveredTurns, Meta(examples=[[TURN]])],
    ) -> BatchReceipt:
        """Commit several delivered turns in one atomic step; returns when all of them are durable.

        Each is committed as `transcripts.commit` does it, in the given order, and has its receipt at the same place.
        Repeating a batch returns the first sequences with `committed` false. When one turn is refused, nothing of the
        batch is stored, and the error names the place of the turn (`turns[3]`). Raises `transcript.turn_conflict`,
        `transcript.alias_conflict`, `access.denied`, and `request.limit_exceeded` also for too many turns or bytes.
        """
        return commit_many(self._session, turns)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS, featured=True)
    def replay(
        self,
        conversation: InConversation,
        view: ThroughView = View.HOST_UI,
        limit: Annotated[int, Meta(description="Turns per page; 0 counts as 1.")] = 50,
        cursor: PageCursor = None,
    ) -> Slice:
        """Replay a conversation as a view shows it, oldest turn first, page by page.

        What the view withholds is absent and reported as an item with its reason. The cursor of a page leads to the
        next one as long as conversation, view and access stay the same; any other use raises `cursor.invalid`. The
        budget of a profile may make a page shorter than `limit` and leave out references and items (`budget_applied`);
        it never shows more. Raises `transcript.unknown_conversation`.
        """
        return replay(self._session, conversation, view, limit, cursor)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS, request="TimelinePageRequest")
    def timeline(
        self,
        conversation: InConversation,
        anchor: Annotated[
            Anchor, Meta(description="Where the page is: the latest turns, or a turn or time to show turns around.")
        ] = LATEST,
        view: ThroughView = View.HOST_UI,
        limit: Annotated[int, Meta(description="Turns per page; above 0.")] = 50,
        lifecycle: ListedTurns = LifecycleFilter.ACTIVE,
        cursor: Annotated[
            str | None, Meta(description="Cursor of either direction of the page before. Without it: the first page.")
        ] = None,
    ) -> Timeline:
        """Show the latest turns of a conversation, or the turns before, after or around one of them.

        Turns come in the order of their sequence. Masked and erased ones are skipped, archived ones too unless
        `lifecycle` asks for them. To go on, repeat the request with the cursor of either direction: every page shows
        the conversation as it was at the first one, each turn once; later commits are not included, and a lifecycle
        change raises `cursor.stale`. Raises `transcript.unknown_conversation`, `transcript.unknown_place`, and
        `cursor.invalid` when anything in the request was changed.
        """
        request = TimelineRequest(conversation=conversation, anchor=anchor, view=view, limit=limit, lifecycle=lifecycle)
        return timeline(self._session, request, cursor)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS)
    def latest(
        self,
        conversation: InConversation,
        n: Annotated[int, Meta(description="How many turns; above 0.")] = LATEST_TURNS,
        view: ThroughView = View.HOST_UI,
        lifecycle: ListedTurns = LifecycleFilter.ACTIVE,
    ) -> Timeline:
        """Show the newest turns of a conversation on one page, oldest first.

        This is the page that `transcripts.timeline` shows for the anchor `latest` and the limit `n`: masked and erased
        turns are skipped and not counted, archived ones too unless `lifecycle` asks for them. Its cursors lead on with
        that request. Raises `transcript.unknown_conversation`, `request.limit_exceeded`.
        """
        request = TimelineRequest(conversation=conversation, anchor=LATEST, view=view, limit=n, lifecycle=lifecycle)
        return timeline(self._session, request, None)

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS, featured=True)
    def search(
        self,
        query: Annotated[str, Meta(description='Words, "phrases", -without, from:, in:, role:, before:, after:, on:.')],
        view: ThroughView = View.HOST_UI,
        within: Annotated[SearchScope, Meta(description="Where to search. Default: the whole space.")] = EVERYWHERE,
        ranking: Annotated[SearchRanking, Meta(description="How to rank. Default: by relevance.")] = BY_RELEVANCE,
        limit: Annotated[int, Meta(description="Messages per page; above 0.")] = 10,
        cursor: PageCursor = None,
    ) -> SearchPage:
        """Search what users and assistants said, as a view shows it; the best hits first.

        A query consists of words, of which any may occur, "phrases", which must occur, and words after `-`, which must
        not; `from:`, `in:`, `role:`, `before:`, `after:` and `on:` narrow it down. What the view hides is not found,
        not counted and not shown, and an excerpt is part of what the view shows. To go on, repeat the request with the
        cursor; when the hits or their order have changed by then, it raises `cursor.stale`. Raises `request.invalid`
        for a query without a term or with control characters, `request.limit_exceeded` for one that is too long,
        `transcript.unknown_conversation`.
        """
        from muniment.operations.transcripts.search import search  # noqa: PLC0415 - numpy is imported when it is needed

        request = SearchRequest(query=query, view=view, within=within, ranking=ranking, limit=limit)
        return search(self._session, request, cursor)

    @operation(
        Effect.READ,
        family=Family.REPLAY,
        heeds=SUBJECT_AND_CHANNELS,
        also=(SecondRight(effect=Effect.APPEND, when="composition.record"),),
    )
    def context(
        self,
        conversation: InConversation,
        budget_tokens: Annotated[int, Meta(description="Maximum of tokens for all messages together.")],
        query: Annotated[
            str | None,
            Meta(description="The next question: earlier messages that answer it are quoted. Without it: none are."),
        ] = None,
        shape: Annotated[Shape, Meta(description="Format of the messages.")] = Shape.OPENAI,
        view: ThroughView = View.MODEL_CONTEXT,
        composition: Annotated[Composition, Meta(description="How the context is made.")] = AS_USUAL,
    ) -> Context:
        """Make the messages for a prompt: the newest turns that fit a budget, and earlier messages that answer a query.

        Turns come whole, in the order of the conversation, tool calls with their results. Earlier messages are quoted
        in one block before them, which is marked as untrusted and cannot be closed from inside. What the view withholds
        is counted with its reason and never included. The budget is counted by `Options.token_counter`, or estimated,
        and never exceeded; a profile may allow fewer characters. With `composition.record`, which needs the right to
        append, `context.issued` is appended and durable before anything is returned. Raises
        `transcript.unknown_conversation`, unless `composition.begins` says that the conversation may be new.
        """
        request = PromptRequest(
            conversation=conversation,
            budget_tokens=budget_tokens,
            query=query,
            shape=shape,
            view=view,
            composition=composition,
        )
        return compose_context(self._session, request)

    @operation(Effect.APPEND, family=Family.LIFECYCLE, heeds=SUBJECT_AND_CHANNELS, idempotent=True)
    def redact(
        self,
        conversation: InConversation,
        passage: Annotated[Passage, Meta(description="What to redact.")],
        views: Annotated[list[View], Meta(description="A view that no longer shows it; may be repeated.")],
        reason: ReasonCode,
        requester: Requester,
        note: Annotated[str | None, Meta(description="Why, in your own words; recorded.")] = None,
    ) -> RedactionReport:
        """Withhold a turn, or something in it, from named views from now on.

        Appends `turn.redacted` with the reason, the requester and your note. The content stays, and stays visible to
        the views that are not named, until it is erased; naming `raw_owner` names every view. Redactions may overlap,
        their order does not matter, and they cannot be undone. A whole message or part is then absent; a range is
        replaced by a marker such as `[redacted: legal]`, and proofs for that view no longer disclose the part. A
        repeat, with the same reason and no further view, completes with `changed` false and appends nothing. Raises
        `transcript.unknown_conversation`, `transcript.unknown_place`, `transcript.words_erased`, `request.invalid` for
        a range that is empty, reversed, beyond the text or in something without text, and `access.denied` for a view
        that the access does not include.
        """
        request = RedactionRequest(reason=reason, requester=requester, note=note or "")
        return redact(self._session, conversation, passage, views, request)

    @operation(Effect.APPEND, family=Family.COMMIT, heeds=SUBJECT_AND_CHANNELS, idempotent=True)
    def annotate(
        self,
        conversation: InConversation,
        attributes: Annotated[Attributes, Meta(examples=[[ATTRIBUTE]])],
        dry_run: DryRun = False,
        idempotency_key: Annotated[
            str | None, Meta(description="Your name for this write; recorded, and suppresses nothing.")
        ] = None,
    ) -> AnnotationReport:
        """Record attributes of turns and messages, each accepted or refused by itself with a reason.

        Appends one `attr.recorded` for each that is accepted, all in one atomic step. Writing an id again replaces its
        attribute; an id that occurs twice in one request is refused. The values are erased with their turn. `dry_run`
        appends nothing and reports what a write would do, and what each view would not show. Sizes are bytes of
        canonical JSON, times UTC milliseconds. Raises `transcript.unknown_conversation`, `request.limit_exceeded`,
        `access.denied`.
        """
        return annotate(self._session, conversation, attributes, idempotency_key, dry=dry_run)
