"""The conversations of a space, page by page."""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.identity import Channel, ConversationId, check_name
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.cursor_lifetime import CursorLifetime, check_term, check_unchanged, term
from muniment.governance.listing import LifecycleFilter
from muniment.governance.profiles import Ceiling
from muniment.operations.page import binding, limit_of_query, short_leaf
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.conversation_list import ListEntry


class ConversationEntry(Struct, frozen=True, kw_only=True):
    """A conversation as it is listed: what the lifecycle filter shows of it, counted.

    `archived`: no turn of it is active. `revision` counts its events, `digest` is the leaf of the newest one, in
    hexadecimal.
    """

    channel: Channel
    conversation: ConversationId
    turns: int
    messages: int
    first_observed_ms: int
    last_observed_ms: int
    archived: bool
    revision: int
    digest: str


class Conversations(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of conversations, the most recent one first."""

    conversations: list[ConversationEntry]
    has_more: bool
    next_cursor: str | None = None
    budget_applied: list[BudgetApplied] = []


class ConversationsMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of conversations ended, and the newest event that could change their order."""

    after: int
    generation: int
    leaf: str
    term: CursorLifetime


class ListingConversations:
    """One page of conversations on its way."""

    def __init__(self, session: Session, channel: Channel | None, lifecycle: LifecycleFilter, limit: int) -> None:
        if channel is not None:
            check_name(channel, at="channel")
        self._session = session
        self._channel = channel
        self._lifecycle = lifecycle
        self._limit = limit_of_query(limit, session.space.limits.page_turns_max)
        self._budget = session.budget()

    def run(self, cursor: str | None) -> Conversations:
        """Return the page."""
        space = self._session.space
        now_ms = space.sources.clock.now_ms()
        with space.catalogue.caught_up(self._session.progress) as caught:
            bound = self._bound(caught)
            generation = caught.listing.generation(self._channel)
            after = None
            if cursor is not None:
                mark = space.cursors.accept("conversations", bound, cursor, ConversationsMark)
                check_term(mark.term, now_ms)
                check_unchanged((mark.generation, mark.leaf), (generation.position, short_leaf(generation.leaf)))
                after = mark.after
            found = caught.listing.entries(self._lifecycle, self._channel, after, self._limit + 1)
        page = self._budget.page(self._limit)
        shown, more = found[:page], len(found) > page
        over = applied(self._budget, {Ceiling.PAGE_TURNS: min(len(found), self._limit)})
        following = None
        if more:
            mark = ConversationsMark(
                after=shown[-1].stream,
                generation=generation.position,
                leaf=short_leaf(generation.leaf),
                term=term(now_ms),
            )
            following = space.cursors.issue("conversations", bound, mark)
        return Conversations(
            conversations=list(map(_told, shown)), has_more=more, next_cursor=following, budget_applied=over
        )

    def _bound(self, caught: CaughtUpCatalogue) -> tuple[str, ...]:
        channel = () if self._channel is None else (self._channel,)
        return binding(self._session, caught.reader, self._lifecycle, str(self._limit), *channel)


def _told(entry: ListEntry) -> ConversationEntry:
    return ConversationEntry(
        channel=Channel(entry.channel),
        conversation=ConversationId(entry.conversation),
        turns=entry.turns,
        messages=entry.messages,
        first_observed_ms=entry.first_ms,
        last_observed_ms=entry.last_ms,
        archived=entry.archived,
        revision=entry.revision,
        digest=entry.leaf.hex(),
    )
