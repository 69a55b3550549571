"""The conversations of a space, page by page, each with what a view shows of its title, its tags and its ends.

Counts and times are facts, and every caller who may list sees them. Words (a title, tags, the first and last words) are
read for the conversations of the page alone, and shown as the view shows them. A filter by tag finds what the view
shows, so that nothing can be guessed that is not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import Channel, ConversationId, SubjectId, check_name
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.cursor_lifetime import CursorLifetime, check_unchanged
from muniment.governance.listing import LifecycleFilter
from muniment.governance.policy import hiding_view
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.operations.conversations.glance import Glance, Preview
from muniment.operations.page import Page, short_leaf
from muniment.operations.place import Moment
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.conversation_list import ConversationList, ListedConversation, ListEntry

SHOWN_AS_USUAL = View.HOST_UI
ENDLESS_MS = 2**62


class ConversationFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which conversations to list; without anything, all of them.

    Of a subject: those with a turn in which it speaks or is named. Of a time: those with a turn that was observed then,
    in UTC milliseconds; `until_ms` is not included.
    """

    subject: Annotated[
        SubjectId | None, Meta(description="Only with turns of this subject, or that it speaks or is named in.")
    ] = None
    tag: Annotated[str | None, Meta(description="Only with this tag, where the view shows it.")] = None
    since_ms: Annotated[
        Moment | None, Meta(description="Only with turns observed at this time or later, in UTC milliseconds.")
    ] = None
    until_ms: Annotated[
        Moment | None, Meta(description="Only with turns observed before this time, in UTC milliseconds.")
    ] = None


class ConversationEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A conversation as it is listed: what the lifecycle filter shows of it, counted, and its words as shown.

    `archived`: no turn of it is active. `revision` counts its events, `digest` is the leaf of the newest one, in
    hexadecimal. `first` and `last` are the first and the last words that are shown, cut to a line.
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
    title: str | None = None
    tags: list[str] = []
    first: Preview | None = None
    last: Preview | None = None


class Conversations(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of conversations, the most recent one first. Without `view`, no words are shown."""

    conversations: list[ConversationEntry]
    has_more: bool
    view: View | None = None
    next_cursor: str | None = None
    budget_applied: list[BudgetApplied] = []


class ConversationsMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of conversations ended, and the newest event that could change their order."""

    after: int
    generation: int
    leaf: str
    term: CursorLifetime


class ListRequest(Struct, frozen=True, kw_only=True):
    """Which conversations to list, and how."""

    channel: Channel | None
    lifecycle: LifecycleFilter
    limit: int
    only: ConversationFilter
    view: View | None


def list_conversations(session: Session, request: ListRequest, cursor: str | None) -> Conversations:
    """Return a page of the conversations of the space, or of those that a filter leaves."""
    channel, only, lifecycle = request.channel, request.only, request.lifecycle
    for at, name in (("channel", channel), ("only.subject", only.subject), ("only.tag", only.tag)):
        if name is not None:
            check_name(name, at=at)
    if only.since_ms is not None and only.until_ms is not None and only.until_ms < only.since_ms:
        raise InvalidInput(at="only.until_ms", problem="reversed")
    session.access.require_subjects(only.subject)
    view = shown_through(session, request.view)
    page = Page(session, "conversations", ConversationsMark, request.limit, cursor)
    with session.seen.catalogue() as caught:
        mark = page.begin_run(caught.reader, encode_plain([request, view]).decode())
        generation = caught.listing.generation(channel)
        newest = (generation.position, short_leaf(generation.leaf))
        if mark is not None:
            check_unchanged((mark.generation, mark.leaf), newest)
        after = None if mark is None else mark.after
        glance = None if view is None else Glance(session.space, caught, view)
        wanted = _wanted(caught.listing, only, lifecycle, glance)
        entries = caught.listing.entries(lifecycle, channel, after, page.limit + 1, wanted)
        shown, more = page.cut(entries)
        told = [_entry(listed, caught, lifecycle, glance) for listed in shown]
    following = None
    if more:
        position, leaf = newest
        following = page.cursor_to(
            ConversationsMark(after=shown[-1].stream, generation=position, leaf=leaf, term=page.term)
        )
    return Conversations(
        conversations=told,
        has_more=more,
        view=view,
        next_cursor=following,
        budget_applied=applied(page.budget, {Ceiling.PAGE_TURNS: min(len(entries), page.limit)}),
    )


def shown_through(session: Session, asked: View | None) -> View | None:
    """Return the view that shows words: the one that was asked for, or the usual one where the access includes it."""
    access = session.access
    if asked is not None:
        access.require_view(asked)
        return asked
    is_open = SHOWN_AS_USUAL in access.views and hiding_view(SHOWN_AS_USUAL, access.policies) is None
    return SHOWN_AS_USUAL if is_open else None


def _wanted(
    listing: ConversationList, only: ConversationFilter, lifecycle: LifecycleFilter, glance: Glance | None
) -> Callable[[ListedConversation], bool] | None:
    """Return what a filter asks of a conversation, the cheapest question first; None when it asks nothing."""
    asks: list[Callable[[ListedConversation], bool]] = []
    if only.subject is not None:
        person = listing.person(only.subject)
        asks.append(lambda one: person is not None and one.has_listed(lifecycle, person))
    if only.since_ms is not None or only.until_ms is not None:
        since_ms, until_ms = only.since_ms or 0, ENDLESS_MS if only.until_ms is None else only.until_ms
        asks.append(lambda one: one.has_between(lifecycle, since_ms, until_ms))
    if only.tag is not None:
        asks.append(lambda one: glance is not None and only.tag in glance.tags(one))
    return (lambda one: all(ask(one) for ask in asks)) if asks else None


def _entry(
    entry: ListEntry, caught: CaughtUpCatalogue, lifecycle: LifecycleFilter, glance: Glance | None
) -> ConversationEntry:
    listed = caught.listing.conversation(entry.stream)
    words = None if glance is None else glance.words(listed, lifecycle)
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
        title=None if words is None else words.title,
        tags=[] if words is None else words.tags,
        first=None if words is None else words.first,
        last=None if words is None else words.last,
    )
