"""The feed of a space: what happened behind a cursor, as one caller sees it through one view.

1. The cursor says which event of the log to go on with, and behind which of its entries. It is bound to the log and its
   epoch, to the access and the request, but not to topics and limit: a caller may change these on the way.
2. Events are looked at in the order of the log, by their kind first; only what may be news is opened and judged.
3. The cursor of a page that reached the end of the log goes on there. It is another one on every page, so two pages do
   not tell whether something happened in between that the caller may not see. The id of an entry never changes.
4. Receipts of erasures are made last, under a checkpoint that covers them; one is signed where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import merge
from itertools import islice
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import (
    AccessDenied,
    CursorInvalid,
    InvalidInput,
    SignerUnavailable,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from muniment.events.identity import Channel, ConversationId, ConversationKey, check_given, given_key
from muniment.governance.access import Bound
from muniment.governance.budgets import applied_to_slices
from muniment.governance.views import View
from muniment.log.port import EventRow, Reader
from muniment.operations.events.erasure_receipts import with_receipts
from muniment.operations.events.event_judge import EventJudge
from muniment.operations.events.numbered_event import NumberedEvent
from muniment.operations.events.seen_turns import FeedScope, streams_of_others
from muniment.operations.events.space_event import (
    ALL_TOPICS,
    OPERATOR_TOPICS,
    SHOWS_OPERATIONS,
    EventPage,
    EventTopic,
    SpaceEvent,
)
from muniment.operations.page import Page
from muniment.space.space import Space

NOW = "now"  # instead of a cursor: with what happens from now on
OF_CONVERSATIONS = frozenset({EventTopic.TRANSCRIPT, EventTopic.ERASURES})
UNSIGNABLE = (SignerUnavailable, StoreFull, StoreNewer, StoreReadOnly)  # the news goes out without a receipt


class FeedRequest(Struct, frozen=True, kw_only=True):
    """What to tell, and of what."""

    view: View
    channel: Channel | None
    conversation: ConversationId | None
    topics: list[EventTopic] | None
    limit: int


class FeedMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a feed goes on: with the entries of the event at `position` whose numbers are greater than `number`.

    `seen_ms` makes the cursors of pages differ from each other; it is 0 in the ids of entries.
    """

    position: int
    number: int = 0
    seen_ms: int = 0


class FoundEvent(Struct, frozen=True, kw_only=True):
    """An entry, and where it is."""

    position: int
    numbered: NumberedEvent

    @property
    def mark(self) -> FeedMark:
        """What goes on behind this entry."""
        return FeedMark(position=self.position, number=self.numbered.number)


def read_events(session: Session, request: FeedRequest, after: str | None) -> EventPage:
    """Return what happened behind a cursor, or from where the request says."""
    space, access = session.space, session.access
    access.require_view(request.view)
    check_given(("channel", request.channel), ("conversation", request.conversation))
    topics = _topics(session, request)
    page = Page(session, "events", FeedMark, request.limit, None if after == NOW else after)
    now_ms = space.sources.clock.now_ms()
    key = given_key(request.conversation, request.channel)
    channel = request.channel if key is None else key.channel
    with space.ledger.reader() as reader:
        named = ["" if name is None else f"={name}" for name in (channel, request.conversation)]
        mark, size = page.begin(reader, request.view, *named), reader.frontier().size
        if mark is None:
            mark = FeedMark(position=size if after == NOW else 0)
        if mark.position > size:
            raise CursorInvalid
        others = streams_of_others(session, size - mark.position)
        scope = FeedScope(request.view, topics, channel, request.conversation, page.budget, others)
        judge = EventJudge(session, reader, scope)
        found = list(islice(_found(judge, _rows(space, reader, key, mark.position), mark), page.limit + 1))
    shown, has_more = found[: page.size], len(found) > page.size
    following = replace(shown[-1].mark if has_more else FeedMark(position=size), seen_ms=now_ms)
    events = [replace(one.numbered.event, id=page.cursor_to(one.mark)) for one in shown]
    provable = {one.position for one in shown if one.numbered.is_provable}
    if provable:
        with suppress(*UNSIGNABLE):
            events = with_receipts(space, events, provable, request.view)
    items = [item for event in events for item in event.withheld]
    return EventPage(
        view=request.view,
        events=list(_with_items(events, page.budget.redaction_items)),
        cursor=page.cursor_to(following),
        has_more=has_more,
        budget_applied=applied_to_slices(page.budget, items, min(len(found), page.limit)),
    )


def _with_items(events: Iterable[SpaceEvent], items_max: int | None) -> Iterator[SpaceEvent]:
    """Yield events with no more of what is withheld than a page has."""
    left = items_max
    for event in events:
        yield event if left is None else replace(event, withheld=event.withheld[:left])
        left = None if left is None else max(0, left - len(event.withheld))


def _topics(session: Session, request: FeedRequest) -> frozenset[EventTopic]:
    """Return the topics that were asked for, or all that the caller may know of; refuse one that it may not."""
    asked = frozenset(ALL_TOPICS if request.topics is None else request.topics)
    if not asked:
        raise InvalidInput(at="topics", problem="empty")
    is_of_some = request.channel is not None or request.conversation is not None
    outside = asked - OF_CONVERSATIONS if is_of_some else frozenset()
    refused = {topic: at for topic in sorted(asked) if (at := _refusal(session, topic, request.view)) is not None}
    if request.topics is not None:
        if outside:
            raise InvalidInput(at="topics", problem="not_taken")
        for at in refused.values():
            raise AccessDenied(at=at)
    return asked - outside - refused.keys()


def _refusal(session: Session, topic: EventTopic, view: View) -> str | None:
    """Return what keeps the caller from a topic, or None."""
    bounds = session.access.bounds
    if topic in OPERATOR_TOPICS:
        return bounds[0] if bounds else None if view in SHOWS_OPERATIONS else view
    return Bound.CHANNELS if topic is EventTopic.MEMORY and Bound.CHANNELS in bounds else None


def _rows(space: Space, reader: Reader, key: ConversationKey | None, first: int) -> Iterable[EventRow]:
    """Return the events from a position on that may be told; of one conversation, by the way that reads less."""
    last = reader.frontier().size - 1
    if key is None:
        return reader.events(first, last)
    stream = space.transcript.stream_of(reader, key)
    streams = [*space.transcript.former_streams(reader, key), *([] if stream is None else [stream])]
    heads = [space.transcript.head(reader, each) for each in streams]
    if last - first < sum(head.seq for head in heads):
        return (row for row in reader.events(first, last) if row.stream in streams)
    own = merge(*(reader.in_stream(head.stream, 1, head.seq) for head in heads), key=attrgetter("position"))
    return (row for row in own if row.position >= first)


def _found(judge: EventJudge, rows: Iterable[EventRow], mark: FeedMark) -> Iterator[FoundEvent]:
    for row in rows:
        if judge.is_news(row):
            after = mark.number if row.position == mark.position else 0
            for numbered in judge.told(row.position, after):
                yield FoundEvent(position=row.position, numbered=numbered)
