"""When a space was busy: turns counted by ranges of time."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey, check_name
from muniment.governance.listing import LifecycleFilter
from muniment.operations.place import Moment, Place, place_of, turn_at
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.conversation_list import ListedConversation


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


class Counting:
    """One request for activity on its way."""

    def __init__(
        self, session: Session, channel: Channel | None, conversation: ConversationId | None, lifecycle: LifecycleFilter
    ) -> None:
        if channel is not None:
            check_name(channel, at="channel")
        self._session = session
        self._channel = channel
        self._lifecycle = lifecycle
        self._key = None
        if conversation is not None:
            self._key = ConversationKey(conversation=conversation, channel=channel or DEFAULT_CHANNEL)
            session.check_key(self._key)

    def run(self, ranges: list[TimeRange]) -> Activity:
        """Count, range by range."""
        space = self._session.space
        check_ranges(ranges, space.limits.activity_ranges_max)
        with space.catalogue.caught_up(self._session.progress) as caught:
            stream = None
            if self._key is not None:
                stream = space.transcript.stream_of(caught.reader, self._key)
                if stream is None:
                    raise UnknownConversation(at="conversation")

            def wanted(one: ListedConversation) -> bool:
                return one.stream == stream if self._key is not None else self._channel in {None, one.names.channel}

            spans = [(each.from_ms, each.until_ms) for each in ranges]
            busy = caught.listing.busy(spans, self._lifecycle, wanted)
            return Activity(
                ranges=[
                    RangeActivity(from_ms=each.from_ms, until_ms=each.until_ms, turns=0)
                    if found is None
                    else RangeActivity(
                        from_ms=each.from_ms,
                        until_ms=each.until_ms,
                        turns=found.turns,
                        first=self._place(caught, *found.first[1:]),
                        last=self._place(caught, *found.last[1:]),
                    )
                    for each, found in zip(ranges, busy, strict=True)
                ]
            )

    def _place(self, caught: CaughtUpCatalogue, stream: int, sequence: int) -> Place:
        transcript, names = self._session.space.transcript, caught.listing.conversation(stream).names
        head = transcript.head(caught.reader, stream)
        key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
        return place_of(key, head, turn_at(transcript, caught.reader, head, sequence))


def check_ranges(ranges: list[TimeRange], most: int) -> None:
    """Refuse ranges that are none, too many, reversed, not sorted or not apart."""
    if not ranges:
        raise InvalidInput(at="ranges", problem="empty")
    if len(ranges) > most:
        raise LimitExceeded(at="ranges", problem="too_many", limit=most, found=len(ranges))
    behind = ranges[0].from_ms
    for place, each in enumerate(ranges):
        if each.until_ms < each.from_ms:
            raise InvalidInput(at=f"ranges[{place}]", problem="reversed")
        if each.from_ms < behind:
            raise InvalidInput(at=f"ranges[{place}]", problem="not_sorted")
        behind = each.until_ms
