"""A conversation around a place in it, page by page in both directions.

| anchor | the page |
|---|---|
| latest | the last turns |
| before, after | the turns that stand next to the place, without it |
| around | half of the limit (rounded down) before the place, then the place itself and what follows |
| first_in_range | from the first turn that was observed in a half-open range of time, on |

Only listed turns count (`governance.listing`), and they always come in the order of their sequence. A place is named by
turn, message, sequence or position; when it is named by several, they must be the same place. A place whose turn is not
listed is a gap between turns and as good as any other place.

A page has a cursor for each direction in which there is more. It is bound to the whole request, so that the request
that follows is the same one with the cursor. The turns of a run are those of its first page: what is committed
meanwhile is not in it; a lifecycle change makes its cursors stale. A redaction lists no turn more or less: it applies
from the next page on. The budget of a profile may make each page of a run shorter than the limit; the run leads through
the same turns.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import CursorInvalid, InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.identity import ConversationKey, Sequence, TurnId, message_id
from muniment.events.records import TurnMeta
from muniment.governance.budgets import BudgetApplied, applied_to_slices
from muniment.governance.cursor_lifetime import CursorLifetime, check_term, check_unchanged, term
from muniment.governance.listing import LifecycleFilter, before, listed, onward
from muniment.governance.phases import PhaseRun, Step, runs
from muniment.governance.slices import RedactionItem, SliceAudit, SliceTurn, audit, cut
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.log.port import Reader, StreamHead
from muniment.operations.page import binding, limit_of_query, short_leaf
from muniment.operations.place import Moment, Place, place_of, turn_at
from muniment.projections.conversation_list import ConversationList


class AnchorKind(StrEnum):
    """What a page of a timeline is laid against."""

    LATEST = "latest"
    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"
    FIRST_IN_RANGE = "first_in_range"


class Anchor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a page is laid against: a place by any of its names, or a half-open range of UTC milliseconds."""

    at: Annotated[
        AnchorKind,
        Meta(description="The latest turns, or turns before, after or around a turn, or from a time on."),
    ] = AnchorKind.LATEST
    turn: Annotated[TurnId | None, Meta(description="Id of a turn.")] = None
    message: Annotated[str | None, Meta(description="Id of a message: <turn>#<number>, counted from 0.")] = None
    sequence: Annotated[
        Sequence | None, Meta(description="Sequence of a turn in its conversation, counted from 1.")
    ] = None
    position: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="Position in the log, counted from 0.")] = (
        None
    )
    from_ms: Annotated[Moment | None, Meta(description="Not before this time, in UTC milliseconds.")] = None
    until_ms: Annotated[Moment | None, Meta(description="Before this time, in UTC milliseconds.")] = None

    def check(self) -> None:
        """Refuse an anchor that lacks what its kind takes, or has what it does not take."""
        given = {name for name in PLACE_NAMES + RANGE_NAMES if getattr(self, name) is not None}
        taken = TAKES[self.at]
        for name in sorted(given - set(taken)):
            raise InvalidInput(at=f"anchor.{name}", problem="not_taken")
        if taken == PLACE_NAMES and not given:
            raise InvalidInput(at="anchor", problem="missing_place")
        if taken == RANGE_NAMES:
            for name in sorted(set(taken) - given):
                raise InvalidInput(at=f"anchor.{name}", problem="missing_field")
            if (self.until_ms or 0) < (self.from_ms or 0):
                raise InvalidInput(at="anchor.until_ms", problem="reversed")


PLACE_NAMES = ("turn", "message", "sequence", "position")
RANGE_NAMES = ("from_ms", "until_ms")

TAKES: dict[AnchorKind, tuple[str, ...]] = {
    AnchorKind.LATEST: (),
    AnchorKind.BEFORE: PLACE_NAMES,
    AnchorKind.AFTER: PLACE_NAMES,
    AnchorKind.AROUND: PLACE_NAMES,
    AnchorKind.FIRST_IN_RANGE: RANGE_NAMES,
}

LATEST = Anchor()


class Timeline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of a timeline: listed turns as a view shows them, in the order of their sequence.

    `anchor` is the place that the page was laid against. `revision` counts the events of the conversation, `digest` is
    the leaf of the newest one, in hexadecimal.
    """

    conversation: ConversationKey
    turns: list[SliceTurn]
    items: list[RedactionItem]
    audit: SliceAudit
    has_older: bool
    has_newer: bool
    revision: int
    digest: str
    older_cursor: str | None = None
    newer_cursor: str | None = None
    anchor: Place | None = None
    budget_applied: list[BudgetApplied] = []


class TimelineSnapshot(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """The conversation that a run leads through: its turns, the transitions of them, and its head at the first page."""

    turns: int
    steps: int
    revision: int
    leaf: str


class TimelineMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a run goes on: to the turns before `edge`, or (newer) to those from it on."""

    newer: bool
    edge: int
    snapshot: TimelineSnapshot
    term: CursorLifetime


class PageLayout(NamedTuple):
    """Where a page lies: its turns, the gap where it would be had it any, and the place it was laid against.

    `asked` is how many turns it would have without a budget.
    """

    spans: list[PhaseRun]
    gap: int
    asked: int
    place: Place | None = None

    @property
    def low(self) -> int:
        """Where the page begins."""
        return self.spans[0].first if self.spans else self.gap

    @property
    def high(self) -> int:
        """Where what follows the page begins."""
        return self.spans[-1].last + 1 if self.spans else self.gap


class TimelineRequest(Struct, frozen=True, kw_only=True):
    """What was asked for, but the cursor."""

    conversation: ConversationKey
    anchor: Anchor
    view: View
    limit: int
    lifecycle: LifecycleFilter

    def spelled(self) -> str:
        """Return the request as text that is equal for equal requests alone; cursors are bound to it."""
        key = (self.conversation.channel, self.conversation.conversation)
        return encode_plain((key, self.anchor, self.view, self.limit, self.lifecycle)).decode()


class Walking:
    """One page of a timeline on its way."""

    def __init__(self, session: Session, request: TimelineRequest) -> None:
        session.access.require_view(request.view)
        session.check_key(request.conversation)
        limit_of_query(request.limit, session.space.limits.page_turns_max)
        request.anchor.check()
        self._session = session
        self._space = session.space
        self._request = request
        self._now_ms = self._space.sources.clock.now_ms()
        self._budget = session.budget()

    def run(self, cursor: str | None) -> Timeline:
        """Return the page."""
        if cursor is None and self._request.anchor.at is AnchorKind.FIRST_IN_RANGE:
            with self._space.catalogue.caught_up(self._session.progress) as caught:
                return self._first_page(caught.reader, caught.listing)
        with self._space.ledger.reader() as reader:
            return self._first_page(reader, None) if cursor is None else self._next_page(reader, cursor)

    def _first_page(self, reader: Reader, listing: ConversationList | None) -> Timeline:
        head = self._head(reader)
        steps = len(self._steps(reader, head))
        snapshot = TimelineSnapshot(turns=head.turns, steps=steps, revision=head.seq, leaf=short_leaf(head.leaf))
        shown = self._shown(reader, head, snapshot)
        if listing is None:
            return self._page(reader, head, snapshot, shown, self._laid(reader, head, shown))
        found = self._first_in_range(listing, head.stream)
        if found is None:
            return self._page(reader, head, snapshot, [], PageLayout([], gap=1, asked=0))
        place = place_of(self._request.conversation, head, turn_at(self._space.transcript, reader, head, found))
        return self._page(reader, head, snapshot, shown, self._laid_at(shown, AnchorKind.FIRST_IN_RANGE, found, place))

    def _next_page(self, reader: Reader, cursor: str) -> Timeline:
        bound = self._bound(reader)
        mark = self._space.cursors.accept("timeline", bound, cursor, TimelineMark)
        check_term(mark.term, self._now_ms)
        head, snapshot = self._head(reader), mark.snapshot
        known = [short_leaf(row.leaf) for row in reader.in_stream(head.stream, snapshot.revision, snapshot.revision)]
        if known != [snapshot.leaf]:
            raise CursorInvalid
        check_unchanged(snapshot.steps, len(self._steps(reader, head)))
        shown = self._shown(reader, head, snapshot)
        direction = AnchorKind.AFTER if mark.newer else AnchorKind.BEFORE
        return self._page(reader, head, snapshot, shown, self._laid_at(shown, direction, mark.edge))

    def _head(self, reader: Reader) -> StreamHead:
        stream = self._space.transcript.stream_of(reader, self._request.conversation)
        if stream is None:
            raise UnknownConversation(at="conversation")
        return self._space.transcript.head(reader, stream)

    def _shown(self, reader: Reader, head: StreamHead, snapshot: TimelineSnapshot) -> list[PhaseRun]:
        return listed(runs(snapshot.turns, self._steps(reader, head)), self._request.lifecycle)

    def _steps(self, reader: Reader, head: StreamHead) -> tuple[Step, ...]:
        return self._space.transcript.changes(reader, head).steps

    def _bound(self, reader: Reader) -> tuple[str, ...]:
        return binding(self._session, reader, self._request.spelled())

    # --- laying a page ------------------------------------------------------------------------------------------------

    def _laid(self, reader: Reader, head: StreamHead, shown: list[PhaseRun]) -> PageLayout:
        at = self._request.anchor.at
        if at is AnchorKind.LATEST:
            return self._laid_at(shown, at, head.turns + 1)
        place = self._place(reader, head)
        return self._laid_at(shown, at, place.sequence + (at is AnchorKind.AFTER), place)

    def _laid_at(self, shown: list[PhaseRun], at: AnchorKind, gap: int, place: Place | None = None) -> PageLayout:
        """Lay the page as it was asked for; when that is more than the budget lets it be, lay it anew."""
        limit = self._request.limit
        spans, most = _spans(shown, at, gap, limit), self._budget.page(limit)
        asked = _count(spans)
        return PageLayout(spans if asked <= most else _spans(shown, at, gap, most), gap, asked, place)

    def _first_in_range(self, listing: ConversationList, stream: int) -> int | None:
        anchor = self._request.anchor
        assert anchor.from_ms is not None, "was checked"
        assert anchor.until_ms is not None, "was checked"
        return listing.conversation(stream).first_between(self._request.lifecycle, anchor.from_ms, anchor.until_ms)

    def _place(self, reader: Reader, head: StreamHead) -> Place:
        """Return the one place that all given names lead to."""
        anchor = self._request.anchor
        found: dict[str, int | None] = {}
        if anchor.turn is not None:
            found["turn"] = self._sequence_of(reader, head, anchor.turn)
        if anchor.message is not None:
            turn, _, _ = anchor.message.rpartition("#")
            found["message"] = self._sequence_of(reader, head, TurnId(turn))
        if anchor.sequence is not None:
            found["sequence"] = anchor.sequence if anchor.sequence <= head.turns else None
        if anchor.position is not None:
            row = reader.sealed(anchor.position)
            found["position"] = row.turn_seq if row is not None and row.stream == head.stream else None
        centre = next(iter(found.values()))
        for name, sequence in found.items():
            if sequence is None or sequence != centre:
                raise UnknownPlace(at=f"anchor.{name}")
        assert centre is not None, "it was just looked at"
        read = turn_at(self._space.transcript, reader, head, centre)
        message = None if anchor.message is None else _index_of(anchor.message, read.record.meta)
        return place_of(self._request.conversation, head, read, message)

    def _sequence_of(self, reader: Reader, head: StreamHead, turn: TurnId) -> int | None:
        opened = self._space.transcript.turn(reader, head, self._request.conversation, turn)
        return None if opened is None else opened.row.turn_seq

    # --- showing it ---------------------------------------------------------------------------------------------------

    def _page(
        self, reader: Reader, head: StreamHead, snapshot: TimelineSnapshot, shown: list[PhaseRun], laid: PageLayout
    ) -> Timeline:
        turns: list[SliceTurn] = []
        items: list[RedactionItem] = []
        detection = self._space.detection.view(self._request.view)
        for span in laid.spans:
            for read in self._space.transcript.shown(reader, head, span.first, span.last, self._request.view):
                most = (self._budget.host_refs_per_turn, self._budget.attributes_per_turn)
                turn, withheld = cut(read.record, self._request.view, *most, detection=detection)
                turns.append(turn)
                items += withheld
        marks = {
            newer: TimelineMark(newer=newer, edge=edge, snapshot=snapshot, term=term(self._now_ms))
            for newer, edge, more in [
                (False, laid.low, before(shown, laid.low, 1)),
                (True, laid.high, onward(shown, laid.high, 1)),
            ]
            if more
        }
        bound = self._bound(reader)
        cursors = {newer: self._space.cursors.issue("timeline", bound, mark) for newer, mark in marks.items()}
        return Timeline(
            conversation=self._request.conversation,
            turns=turns,
            items=items[: self._budget.redaction_items],
            audit=audit(self._request.view, turns, items, detection),
            has_older=False in cursors,
            has_newer=True in cursors,
            revision=head.seq,
            digest=head.leaf.hex(),
            older_cursor=cursors.get(False),
            newer_cursor=cursors.get(True),
            anchor=laid.place,
            budget_applied=applied_to_slices(self._budget, items, laid.asked),
        )


def _spans(shown: list[PhaseRun], at: AnchorKind, gap: int, limit: int) -> list[PhaseRun]:
    """Return the turns of a page that is laid at a gap."""
    if at in {AnchorKind.LATEST, AnchorKind.BEFORE}:
        return before(shown, gap, limit)
    older = limit // 2 if at is AnchorKind.AROUND else 0
    return before(shown, gap, older) + onward(shown, gap, limit - older)


def _count(spans: list[PhaseRun]) -> int:
    return sum(span.last - span.first + 1 for span in spans)


def _index_of(message: str, meta: TurnMeta) -> int:
    """Return the place of a message in its turn by its id."""
    for index in range(len(meta.messages)):
        if message_id(TurnId(meta.delivery.turn), index) == message:
            return index
    raise UnknownPlace(at="anchor.message")
