"""When a space was busy: turns counted by ranges of time."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import Channel, ConversationId, ConversationKey, check_name, given_key
from muniment.governance.listing import LifecycleFilter
from muniment.operations.place import Moment, Place, place_of
from muniment.projections.conversation import Conversation
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.conversation_list import ListedConversation
from muniment.projections.transcript import Transcript


class TimeRange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A half-open range of time in UTC milliseconds: `from_ms` is inside, `until_ms` is not."""

    from_ms: Annotated[Moment, Meta(description="Start, in UTC milliseconds.")]
    until_ms: Annotated[Moment, Meta(description="End, in UTC milliseconds; not included.")]


class RangeActivity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many listed turns were observed in a range, and the first and the last of them."""

    from_ms: int
    until_ms: int
    turns: int
    first: Place | None = None
    last: Place | None = None


class Activity(Struct, frozen=True, kw_only=True):
    """What was observed in each of the ranges, in their order."""

    ranges: list[RangeActivity]


def count_activity(
    session: Session,
    ranges: list[TimeRange],
    channel: Channel | None,
    conversation: ConversationId | None,
    lifecycle: LifecycleFilter,
) -> Activity:
    """Count turns, range by range."""
    if channel is not None:
        check_name(channel, at="channel")
    key = given_key(conversation, channel)
    if key is not None:
        session.check_key(key)
    space = session.space
    check_ranges(ranges, space.limits.activity_ranges_max)
    with session.seen.catalogue() as caught:
        stream = None if key is None else session.seen.opened(caught.reader, key, caught.listing).stream

        def is_wanted(listed: ListedConversation) -> bool:
            return listed.stream == stream if key is not None else channel in {None, listed.names.channel}

        counts = caught.listing.busy([(span.from_ms, span.until_ms) for span in ranges], lifecycle, is_wanted)
        return Activity(
            ranges=[
                RangeActivity(from_ms=span.from_ms, until_ms=span.until_ms, turns=0)
                if count is None
                else RangeActivity(
                    from_ms=span.from_ms,
                    until_ms=span.until_ms,
                    turns=count.turns,
                    first=_place(space.transcript, caught, *count.first[1:]),
                    last=_place(space.transcript, caught, *count.last[1:]),
                )
                for span, count in zip(ranges, counts, strict=True)
            ]
        )


def _place(transcript: Transcript, caught: CaughtUpCatalogue, stream: int, sequence: int) -> Place:
    names = caught.listing.conversation(stream).names
    key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
    conversation = Conversation(transcript, caught.reader, key, stream)
    return place_of(key, conversation.head, conversation.at(sequence))


def check_ranges(ranges: list[TimeRange], ranges_max: int) -> None:
    """Refuse ranges that are none, too many, reversed, not sorted, or that overlap."""
    if not ranges:
        raise InvalidInput(at="ranges", problem="empty")
    if len(ranges) > ranges_max:
        raise LimitExceeded(at="ranges", problem="too_many", limit=ranges_max, found=len(ranges))
    end_ms = ranges[0].from_ms
    for place, span in enumerate(ranges):
        if span.until_ms < span.from_ms:
            raise InvalidInput(at=f"ranges[{place}]", problem="reversed")
        if span.from_ms < end_ms:
            raise InvalidInput(at=f"ranges[{place}]", problem="not_sorted")
        end_ms = span.until_ms
