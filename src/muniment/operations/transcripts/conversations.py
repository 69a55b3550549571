"""The conversations of a space, page by page."""

from __future__ import annotations

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.identity import Channel, ConversationId, check_name
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.cursor_lifetime import CursorLifetime, check_unchanged
from muniment.governance.listing import LifecycleFilter
from muniment.governance.profiles import Ceiling
from muniment.operations.page import Page, short_leaf
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


def list_conversations(
    session: Session, channel: Channel | None, lifecycle: LifecycleFilter, limit: int, cursor: str | None
) -> Conversations:
    """Return a page of the conversations of the space, or of one channel."""
    if channel is not None:
        check_name(channel, at="channel")
    page = Page(session, "conversations", ConversationsMark, limit, cursor)
    with session.space.catalogue.caught_up(session.progress) as caught:
        mark = page.begin_run(caught.reader, lifecycle, str(page.limit), *(() if channel is None else (channel,)))
        generation = caught.listing.generation(channel)
        newest = (generation.position, short_leaf(generation.leaf))
        if mark is not None:
            check_unchanged((mark.generation, mark.leaf), newest)
        after = None if mark is None else mark.after
        entries = caught.listing.entries(lifecycle, channel, after, page.limit + 1)
    shown, more = page.cut(entries)
    following = None
    if more:
        position, leaf = newest
        following = page.cursor_to(
            ConversationsMark(after=shown[-1].stream, generation=position, leaf=leaf, term=page.term)
        )
    return Conversations(
        conversations=[_entry(listed) for listed in shown],
        has_more=more,
        next_cursor=following,
        budget_applied=applied(page.budget, {Ceiling.PAGE_TURNS: min(len(entries), page.limit)}),
    )


def _entry(entry: ListEntry) -> ConversationEntry:
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
