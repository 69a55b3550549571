"""What an entry of the feed says: its topic, its type, and what the view shows of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.declaration.feed import FeedEntry, FeedPage
from muniment.events.identity import Channel, ConversationId, SubjectId, TurnId
from muniment.events.records import EventKind
from muniment.governance.budgets import BudgetApplied
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import SHOWS_ORIGIN, View
from muniment.operations.memory.shown_item import ShownItem


class EventTopic(StrEnum):
    """What events are about."""

    TRANSCRIPT = "transcript"
    MEMORY = "memory"
    ERASURES = "erasures"
    FINDINGS = "findings"
    GOVERNANCE = "governance"


ALL_TOPICS = tuple(EventTopic)
OPERATOR_TOPICS = frozenset({EventTopic.FINDINGS, EventTopic.GOVERNANCE})  # about the space as a whole
SHOWS_OPERATIONS = SHOWS_ORIGIN  # the views that show these

# kind -> the topic of its events; an erasure is always of the topic `erasures`. Other kinds are nobody's news: a record
# of a read among them would make every read of an operator the next news.
TOPICS: dict[str, EventTopic] = {
    EventKind.TURN_COMMITTED: EventTopic.TRANSCRIPT,
    EventKind.TURN_REDACTED: EventTopic.TRANSCRIPT,
    EventKind.TURN_LIFECYCLE: EventTopic.TRANSCRIPT,
    EventKind.ATTR_RECORDED: EventTopic.TRANSCRIPT,
    EventKind.ITEM_RECORDED: EventTopic.MEMORY,
    EventKind.ITEM_REVISED: EventTopic.MEMORY,
    EventKind.ITEM_RETIRED: EventTopic.MEMORY,
    EventKind.ACCESS_DENIED: EventTopic.FINDINGS,
    EventKind.ERASURE_REFUSED: EventTopic.FINDINGS,
    EventKind.CONTENT_REVEALED: EventTopic.GOVERNANCE,
    EventKind.EXPORT_ISSUED: EventTopic.GOVERNANCE,
    EventKind.CONTENT_EXPORTED: EventTopic.GOVERNANCE,
    EventKind.ARCHIVE_EXPORTED: EventTopic.GOVERNANCE,
    EventKind.ARCHIVE_IMPORTED: EventTopic.GOVERNANCE,
    EventKind.POLICY_SET: EventTopic.GOVERNANCE,
    EventKind.MEMORY_POLICY_SET: EventTopic.GOVERNANCE,
    EventKind.APPROVAL_SET: EventTopic.GOVERNANCE,
    EventKind.APPROVAL_REQUESTED: EventTopic.GOVERNANCE,
    EventKind.APPROVAL_DECIDED: EventTopic.GOVERNANCE,
    EventKind.KEY_ROTATED: EventTopic.GOVERNANCE,
    EventKind.SIGNER_ANNOUNCED: EventTopic.GOVERNANCE,
    EventKind.SPACE_RESTORED: EventTopic.GOVERNANCE,
    EventKind.TOOLS_REGISTERED: EventTopic.GOVERNANCE,
    EventKind.TOOLS_REMOVED: EventTopic.GOVERNANCE,
}

TURN_ERASED, MESSAGE_ERASED, ITEM_ERASED = "turn.erased", "message.erased", "item.erased"


class SpaceEvent(FeedEntry, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened, of one turn or item: a change of several is told as several events.

    `type` is `turn.erased`, `message.erased` or `item.erased`, or the kind of the event in the log; `action` is what a
    change did: `archive`, `mask`, `correct`, or why something was redacted. `shown` is the turn, and `item_shown` the
    memory item, as the view shows it *now*, with what is withheld of the turn in `withheld`.

    An erasure says which `turn`, `message` or `item` of whose (`subject`) is gone, and has a `leaf` in the tree of the
    log. Its `receipt` proves offline, with the public key of the log, that the erasure is on record. `replaced`: an
    archive took the place of the conversation or notebook, which may have the turn or item again.
    """

    topic: EventTopic
    position: int
    time_ms: int
    action: str | None = None
    channel: Channel | None = None
    conversation: ConversationId | None = None
    turn: TurnId | None = None
    sequence: int | None = None
    message: str | None = None
    attribute: str | None = None
    item: str | None = None
    subject: SubjectId | None = None
    shown: SliceTurn | None = None
    withheld: list[RedactionItem] = []
    item_shown: ShownItem | None = None
    operation: str | None = None
    leaf: str | None = None
    receipt: str | None = None
    replaced: bool | None = None


class EventPage(FeedPage, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Events in the order in which they happened. Go on with `cursor`, now or when something may have happened."""

    view: View
    events: list[SpaceEvent]
    budget_applied: list[BudgetApplied] = []

    @property
    def entries(self) -> list[SpaceEvent]:
        """Return the events."""
        return self.events

    def covered(self) -> CoveredTurns:
        """Return the turns and items that this shows; where it shows none, there is nothing to put on record."""
        turns = [event.shown.position for event in self.events if event.shown is not None]
        items = [event.item_shown.position for event in self.events if event.item_shown is not None]
        shown = [*turns, *items]
        return CoveredTurns(positions=shown, recorded=None if shown else 0)
