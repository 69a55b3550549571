"""The noun group `transcripts`: commit what was delivered, say things about it, replay it, find one's way in it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.operation import Group, operation
from muniment.declaration.session import Session
from muniment.errors import AliasConflict, Corrupt, CursorInvalid, LimitExceeded, TurnConflict
from muniment.events.attributes import Attribute
from muniment.events.binding import deterministic
from muniment.events.changes import RedactionReason
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.labels import content_fields
from muniment.events.records import FROM_ARCHIVE, AliasRecorded, ConversationOpened, EventKind, MetaBody, TurnContent
from muniment.events.turn import Turn
from muniment.governance import admission
from muniment.governance.access import Effect
from muniment.governance.admission import AdmittedTurn, SkipReason
from muniment.governance.budgets import BudgetApplied, applied_to_slices
from muniment.governance.detection.detection import Replacements, without_detected
from muniment.governance.listing import LifecycleFilter
from muniment.governance.slices import RedactionItem, SliceAudit, SliceTurn, audit, cut
from muniment.governance.views import View
from muniment.ledger.ledger import CONTENT, Draft, Writer, draft
from muniment.operations.context.compose import compose
from muniment.operations.context.prompt import Composition, Context, PromptRequest, Shape
from muniment.operations.page import binding, limit_of_replay
from muniment.operations.transcripts.activity import Activity, Counting, TimeRange
from muniment.operations.transcripts.annotate import Annotating, AnnotationReport
from muniment.operations.transcripts.conversations import Conversations, ListingConversations
from muniment.operations.transcripts.hits import SearchPage, SearchRanking, SearchRequest, SearchScope
from muniment.operations.transcripts.redact import Passage, Redacting, RedactionReport, RedactionRequest
from muniment.operations.transcripts.timeline import LATEST, Anchor, Timeline, TimelineRequest, Walking

ALREADY_COMMITTED = "turn_already_committed"
ALREADY_ERASED = "turn_already_committed_and_erased"
TURNS_AT_A_TIME = 64  # what was opened of them is let go before the next are
EVERYWHERE = SearchScope()
BY_RELEVANCE = SearchRanking()
AS_USUAL = Composition()


class CommitReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a commit. A turn that was not committed has a reason and is not an error.

    `detection` is there where the store looks for something before commits: what it replaced by markers.
    """

    conversation: ConversationKey
    turn: TurnId
    committed: bool
    messages_before: int
    messages_after: int
    sequence: int | None = None
    position: int | None = None
    leaf: str | None = None
    reason: str | None = None
    detection: Replacements | None = None


class Slice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of turns as a view shows them. `next_cursor` is absent on the last page.

    What the budget of a profile left out stands in `budget_applied`; the counts of the audit are whole.
    """

    turns: list[SliceTurn]
    items: list[RedactionItem]
    audit: SliceAudit
    has_more: bool
    next_cursor: str | None = None
    budget_applied: list[BudgetApplied] = []


class ReplayMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of a replay ended."""

    after: int


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
        return Committing(self._session, turn).run()

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
        space = self._session.space
        self._session.access.require_view(view)
        self._session.check_key(conversation)
        limit, budget = limit_of_replay(limit, space.limits.page_turns_max), self._session.budget()
        detection = space.detection.view(view)
        with space.ledger.reader() as reader:
            bound = binding(self._session, reader, conversation.channel, conversation.conversation, view)
            after = 0 if cursor is None else space.cursors.accept("replay", bound, cursor, ReplayMark).after
            stream = space.transcript.stream_of(reader, conversation)
            if stream is None:
                if cursor is not None:
                    raise CursorInvalid
                return Slice(turns=[], items=[], audit=audit(view, [], [], detection), has_more=False)
            head = space.transcript.head(reader, stream)
            if after > head.turns:
                raise CursorInvalid
            last = min(after + budget.page(limit), head.turns)
            turns: list[SliceTurn] = []
            items: list[RedactionItem] = []
            most = (budget.host_refs_per_turn, budget.attributes_per_turn)
            for start in range(after + 1, last + 1, TURNS_AT_A_TIME):
                end = min(last, start + TURNS_AT_A_TIME - 1)
                for one in space.transcript.shown(reader, head, start, end, view):
                    turn, withheld = cut(one.record, view, *most, detection=detection)
                    turns.append(turn)
                    items += withheld
        more = last < head.turns
        return Slice(
            turns=turns,
            items=items[: budget.redaction_items],
            audit=audit(view, turns, items, detection),
            has_more=more,
            next_cursor=space.cursors.issue("replay", bound, ReplayMark(after=last)) if more else None,
            budget_applied=applied_to_slices(budget, items, min(limit, head.turns - after)),
        )

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
        return Walking(self._session, request).run(cursor)

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
        return Counting(self._session, channel, conversation, lifecycle).run(ranges)

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
        return ListingConversations(self._session, channel, lifecycle, limit).run(cursor)

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
        from muniment.operations.transcripts.search import search  # noqa: PLC0415 - numpy is imported when it is needed

        request = SearchRequest(query=query, view=view, within=within, ranking=ranking, limit=limit)
        return search(self._session, request, cursor)

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
        return compose(self._session, request)

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
        why = RedactionRequest(reason=reason, requester=requester, note=note or "")
        return Redacting(self._session, conversation, passage, views, why).run()

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
        return Annotating(self._session, conversation, attributes, idempotency_key).run(dry=dry_run)


class Committing:
    """One commit on its way: what can be decided before the write transaction, and the plan that runs inside it."""

    def __init__(self, session: Session, turn: Turn) -> None:
        actor = turn.actor
        session.access.require_subjects(
            turn.subject, *((actor.subject, actor.acting_subject, actor.mounted_subject) if actor else ())
        )
        self._session = session
        self._space = session.space
        self._turn = turn
        self._now_ms = self._space.sources.clock.now_ms()
        self._kept = admission.admit(turn, self._space.limits, self._now_ms)
        conversation = turn.conversation if turn.conversation is not None else ConversationId(turn.chat or "")
        self.key = ConversationKey(conversation=conversation, channel=turn.channel, space=turn.space)
        session.check_key(self.key)
        self._turn_digest = self._space.transcript.turn_digest(self.key, turn.turn)
        if isinstance(self._kept, AdmittedTurn):
            self._mounted = self._kept.meta.actor.mounted_subject or turn.subject
            self._digest = self._digest_of_words()
            self._draft = self._drafted(self._kept)

    @property
    def skipped(self) -> SkipReason | None:
        """Why nothing of the turn is kept, or None when there is something to commit."""
        return self._kept if isinstance(self._kept, SkipReason) else None

    def run(self) -> CommitReceipt:
        """Commit the turn, or say why not."""
        if isinstance(self._kept, SkipReason):
            with self._space.ledger.reader() as reader:
                stream = self._space.transcript.stream_of(reader, self.key)
                messages = 0 if stream is None else self._space.transcript.head(reader, stream).messages
            return self._report(messages, messages, reason=self._kept)
        return self._space.ledger.transact(self.plan)

    def plan(self, writer: Writer) -> CommitReceipt:
        """Decide on the present state of the log and append; runs inside the write transaction."""
        assert isinstance(self._kept, AdmittedTurn), "a skipped turn has no plan"
        tx, transcript = writer.tx, self._space.transcript
        stream = transcript.stream_of(tx, self.key)
        alias = self._alias_claim(writer, stream)
        if tx.lookup(self._turn_digest) is not None:
            return self._repeated(writer, stream, alias_is_new=alias is not None)
        if stream is None:
            names = ConversationOpened(channel=self.key.channel, conversation=self.key.conversation)
            opened = writer.append(self._small(EventKind.CONVERSATION_OPENED, names), stream=None)
            stream = opened.stream
            tx.claim(transcript.conversation_digest(self.key.channel, self.key.conversation), stream, opened.position)
            writer.flush()  # names are read before they are believed, by the plans behind this one too
        if alias is not None:
            record = AliasRecorded(subject=self._mounted, channel=self.key.channel, chat=self._turn.chat or "")
            recorded = writer.append(self._small(EventKind.ALIAS_RECORDED, record), stream=stream)
            tx.claim(alias, stream, recorded.position)
            writer.flush()
        head = writer.head(stream)
        before = 0 if head is None else head.messages
        count = len(self._kept.parts)
        placed = writer.append(self._draft, stream=stream, messages=count)
        tx.claim(self._turn_digest, stream, placed.position)
        report = self._report(
            before, before + count, sequence=placed.turn_seq, position=placed.position, leaf=placed.leaf.hex()
        )
        return replace(report, detection=self._detection) if self._detection is not None else report

    def _alias_claim(self, writer: Writer, stream: int | None) -> bytes | None:
        """Return the digest to claim for a chat id that is new; None when it is known or absent."""
        if self._turn.chat is None:
            return None
        named = (self._mounted, self.key.channel, self._turn.chat)
        known = self._space.transcript.stream_of_alias(writer.tx, *named)
        if known is not None and known != stream:
            raise AliasConflict(at="chat")
        return self._space.transcript.alias_digest(*named) if known is None else None

    def _repeated(self, writer: Writer, stream: int | None, *, alias_is_new: bool) -> CommitReceipt:
        """Hold a turn whose id is known against the one that was committed under it."""
        if stream is None:
            raise Corrupt(at="conversation", problem="lookup_missing")
        ledger, transcript = self._space.ledger, self._space.transcript
        head = transcript.head(writer.tx, stream)
        opened = transcript.turn(writer.tx, head, self.key, self._turn.turn)
        assert opened is not None, "its digest was just found"
        row = opened.row
        erased = CONTENT not in opened.keys
        if not erased:
            _, content = ledger.words(opened)
            erased = not content.digest  # a message was: nothing is left that could tell (decision 0007)
            archived = content.digest == FROM_ARCHIVE
            same = self._is_kept(opened.meta, content) if archived else content.digest == self._digest
            if not erased and not same:
                raise TurnConflict(at="turn")
            if alias_is_new and not archived:
                raise Corrupt(at="chat", problem="alias_missing")
        return self._report(
            head.messages,
            head.messages,
            sequence=row.turn_seq,
            position=row.position,
            leaf=row.leaf.hex(),
            reason=ALREADY_ERASED if erased else ALREADY_COMMITTED,
        )

    def _is_kept(self, meta: MetaBody, content: TurnContent) -> bool:
        """Tell whether a turn that came from an archive is what is kept of this one, as it came or as it is written."""
        kept = self._kept
        assert isinstance(kept, AdmittedTurn), "a skipped turn is not compared"
        spellings = [replace(self._content(each), digest=FROM_ARCHIVE) for each in (kept, self._written)]
        return meta == kept.meta and content in spellings

    def _digest_of_words(self) -> bytes:
        """Return the keyed digest of the turn as it was handed over; text and a single text part are the same words."""
        turn = self._turn
        messages = [
            (each.role, each.authority, each.speaker_id, each.speaker_kind, each.observed_ms, each.parts())
            for each in turn.messages
        ]
        frame = (
            turn.turn, turn.subject, self.key.channel, self.key.conversation, turn.chat, turn.delivery, turn.source,
            turn.actor, turn.tools, turn.host_refs, turn.external, turn.candidates,
        )  # fmt: skip
        words, most = deterministic((frame, messages)), self._space.limits.turn_bytes_max
        if len(words) > most:  # parts have limits of their own; this bounds whatever else a turn holds
            raise LimitExceeded(at="turn", problem="too_large", limit=most, found=len(words))
        return self._space.ledger.words_digest(words)

    def _drafted(self, kept: AdmittedTurn) -> Draft:
        content = self._content(kept)
        fields = list(content_fields(content))
        sizes = iter([len(value) for _, value in fields])
        admission.check_sizes([[next(sizes) for _ in parts] for parts in kept.parts], self._space.limits)
        self._written, self._detection = without_detected(kept, self._space.detection.before_commit)
        if self._written is not kept:
            content = self._content(self._written)
            fields = list(content_fields(content))
        return draft(
            self._space.sources.entropy, EventKind.TURN_COMMITTED, kept.time_ms, kept.meta, content=(content, fields)
        )

    def _content(self, kept: AdmittedTurn) -> TurnContent:
        return TurnContent(parts=kept.parts, digest=self._digest, summaries=kept.summaries, labels=kept.labels)

    def _small(self, kind: EventKind, meta: ConversationOpened | AliasRecorded) -> Draft:
        return draft(self._space.sources.entropy, kind, self._now_ms, meta)

    def _report(
        self,
        before: int,
        after: int,
        *,
        sequence: int | None = None,
        position: int | None = None,
        leaf: str | None = None,
        reason: str | None = None,
    ) -> CommitReceipt:
        return CommitReceipt(
            conversation=self.key,
            turn=self._turn.turn,
            committed=reason is None,
            messages_before=before,
            messages_after=after,
            sequence=sequence,
            position=position,
            leaf=leaf,
            reason=reason,
        )
