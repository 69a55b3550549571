"""Timeline: a conversation around a place in it, page by page in both directions.

| anchor | the page |
|---|---|
| latest | the last turns |
| before, after | the turns next to the place, without it |
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
from muniment.errors import CursorInvalid, InvalidInput, UnknownPlace
from muniment.events.identity import ConversationKey, Sequence, TurnId, named_message
from muniment.governance.budgets import BudgetApplied, applied_to_slices
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.cursor_lifetime import CursorLifetime, check_unchanged
from muniment.governance.listing import LifecycleFilter, before, listed, onward
from muniment.governance.phases import PhaseRun
from muniment.governance.slices import RedactionItem, SliceAudit, SliceTurn, audit
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.operations.page import Page, short_leaf
from muniment.operations.place import Moment, Place, place_of
from muniment.projections.conversation import Conversation, shown_turns
from muniment.projections.conversation_list import ConversationList


class AnchorKind(StrEnum):
    """Where a page of a timeline is."""

    LATEST = "latest"
    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"
    FIRST_IN_RANGE = "first_in_range"


class Anchor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a page is: around a place by any of its names, or a half-open range of UTC milliseconds."""

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

    `anchor` is the place that was named. `revision` counts the events of the conversation, `digest` is
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

    def covered(self) -> CoveredTurns:
        """Return the turns that this shows."""
        return CoveredTurns(sequences=[turn.sequence for turn in self.turns])


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
    """Where a page is: its turns, the gap where it would be if it had any, and the anchor that was given.

    `wanted` is how many turns it would have without a budget.
    """

    spans: list[PhaseRun]
    gap: int
    wanted: int
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


def timeline(session: Session, request: TimelineRequest, cursor: str | None) -> Timeline:
    """Return a page of a conversation around an anchor."""
    session.access.require_view(request.view)
    session.check_key(request.conversation)
    page = Page(session, "timeline", TimelineMark, request.limit, cursor)
    request.anchor.check()
    space = session.space
    if cursor is None and request.anchor.at is AnchorKind.FIRST_IN_RANGE:
        with session.seen.catalogue() as caught:
            page.begin_run(caught.reader, request.spelled())
            conversation = session.seen.opened(caught.reader, request.conversation, caught.listing)
            first = _first_in_range(caught.listing, conversation, request)
            return _page(session, request, page, conversation, _snapshot(conversation), first)
    with space.ledger.reader() as reader:
        mark = page.begin_run(reader, request.spelled())
        conversation = session.seen.opened(reader, request.conversation)
        if mark is None:
            return _page(
                session, request, page, conversation, _snapshot(conversation), _anchored(conversation, request)
            )
        _check_same(conversation, mark.snapshot)
        direction = AnchorKind.AFTER if mark.newer else AnchorKind.BEFORE
        return _page(session, request, page, conversation, mark.snapshot, AnchoredGap(direction, mark.edge))


def _snapshot(conversation: Conversation) -> TimelineSnapshot:
    head = conversation.head
    return TimelineSnapshot(turns=head.turns, steps=conversation.steps(), revision=head.seq, leaf=short_leaf(head.leaf))


def _check_same(conversation: Conversation, snapshot: TimelineSnapshot) -> None:
    """Refuse a cursor of another history, and one from before a change of the lifecycle."""
    rows = conversation.reader.in_stream(conversation.stream, snapshot.revision, snapshot.revision)
    if [short_leaf(row.leaf) for row in rows] != [snapshot.leaf]:
        raise CursorInvalid
    check_unchanged(snapshot.steps, conversation.steps())


# --- where the page is ------------------------------------------------------------------------------------------------


class AnchoredGap(NamedTuple):
    """The gap between turns at which a page is anchored, on which side the page is, and the place that was named."""

    at: AnchorKind
    gap: int
    place: Place | None = None


def _anchored(conversation: Conversation, request: TimelineRequest) -> AnchoredGap:
    at = request.anchor.at
    if at is AnchorKind.LATEST:
        return AnchoredGap(at, conversation.head.turns + 1)
    place = _place(conversation, request.anchor)
    return AnchoredGap(at, place.sequence + (at is AnchorKind.AFTER), place)


def _first_in_range(
    listing: ConversationList, conversation: Conversation, request: TimelineRequest
) -> AnchoredGap | None:
    """Return the gap before the first turn of a range of time; None when there is no turn in it."""
    anchor = request.anchor
    assert anchor.from_ms is not None, "was checked"
    assert anchor.until_ms is not None, "was checked"
    listed_turns = listing.conversation(conversation.stream)
    sequence = listed_turns.first_between(request.lifecycle, anchor.from_ms, anchor.until_ms)
    if sequence is None:
        return None
    place = place_of(conversation.key, conversation.head, conversation.at(sequence))
    return AnchoredGap(anchor.at, sequence, place)


def _place(conversation: Conversation, anchor: Anchor) -> Place:
    """Return the one place that all given names lead to."""
    head = conversation.head
    sequences: dict[str, int | None] = {}
    if anchor.turn is not None:
        sequences["turn"] = conversation.sequence_of(anchor.turn)
    if anchor.message is not None:
        named = named_message(anchor.message, conversation.mark)
        sequences["message"] = None if named is None else conversation.sequence_of(named.turn)
    if anchor.sequence is not None:
        sequences["sequence"] = anchor.sequence if anchor.sequence in conversation.sequences else None
    if anchor.position is not None:
        row = conversation.reader.sealed(anchor.position)
        is_here = row is not None and row.stream == conversation.stream and row.turn_seq in conversation.sequences
        sequences["position"] = row.turn_seq if row is not None and is_here else None
    centre = next(iter(sequences.values()))
    for name, sequence in sequences.items():
        if sequence is None or sequence != centre:
            raise UnknownPlace(at=f"anchor.{name}")
    assert centre is not None, "the first of them is none of these"
    read = conversation.at(centre)
    meta = read.record.meta
    message = None
    if anchor.message is not None:
        named = named_message(anchor.message, conversation.mark)
        if named is None or named.place >= len(meta.messages):
            raise UnknownPlace(at="anchor.message")
        message = named.place
    return place_of(conversation.key, head, read, message)


def _layout(shown: list[PhaseRun], anchored: AnchoredGap, page: Page[TimelineMark]) -> PageLayout:
    """Place the page as it was asked for, or a smaller one when that is more than the budget allows."""
    at, gap, place = anchored
    spans = _spans(shown, at, gap, page.limit)
    wanted = sum(span.last - span.first + 1 for span in spans)
    return PageLayout(spans if wanted <= page.size else _spans(shown, at, gap, page.size), gap, wanted, place)


def _spans(shown: list[PhaseRun], at: AnchorKind, gap: int, limit: int) -> list[PhaseRun]:
    """Return the turns of a page that is anchored at a gap."""
    if at in {AnchorKind.LATEST, AnchorKind.BEFORE}:
        return before(shown, gap, limit)
    older = limit // 2 if at is AnchorKind.AROUND else 0
    return before(shown, gap, older) + onward(shown, gap, limit - older)


# --- what is on it ----------------------------------------------------------------------------------------------------


def _page(
    session: Session,
    request: TimelineRequest,
    page: Page[TimelineMark],
    conversation: Conversation,
    snapshot: TimelineSnapshot,
    anchored: AnchoredGap | None,
) -> Timeline:
    """Return the page that is anchored at a gap, or an empty one."""
    shown = [] if anchored is None else listed(conversation.phases(snapshot.turns), request.lifecycle)
    layout = PageLayout([], gap=1, wanted=0) if anchored is None else _layout(shown, anchored, page)
    budget, detection = page.budget, session.space.detection.view(request.view)
    spans = [(span.first, span.last) for span in layout.spans]
    turns, items = shown_turns(conversation, spans, request.view, detection, budget)

    def cursor(edge: int, *, newer: bool) -> str | None:
        more = onward(shown, edge, 1) if newer else before(shown, edge, 1)
        mark = TimelineMark(newer=newer, edge=edge, snapshot=snapshot, term=page.term)
        return page.cursor_to(mark) if more else None

    older, following = cursor(layout.low, newer=False), cursor(layout.high, newer=True)
    return Timeline(
        conversation=request.conversation,
        turns=turns,
        items=items[: budget.redaction_items],
        audit=audit(request.view, turns, items, detection),
        has_older=older is not None,
        has_newer=following is not None,
        revision=conversation.head.seq,
        digest=conversation.head.leaf.hex(),
        older_cursor=older,
        newer_cursor=following,
        anchor=layout.place,
        budget_applied=applied_to_slices(budget, items, layout.wanted),
    )
