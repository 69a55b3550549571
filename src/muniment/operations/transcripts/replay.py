"""Replay: a conversation as a view shows it, oldest turn first, page by page."""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import CursorInvalid, UnknownConversation
from muniment.events.identity import ConversationKey
from muniment.governance.budgets import BudgetApplied, applied_to_slices
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.listing import spans
from muniment.governance.slices import RedactionItem, SliceAudit, SliceTurn, audit
from muniment.governance.views import View
from muniment.operations.page import Page, limit_of_replay
from muniment.projections.conversation import shown_turns


class Slice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of turns as a view shows them. `next_cursor` is absent on the last page.

    What the budget of a profile left out is in `budget_applied`; the counts of the audit are whole.
    """

    turns: list[SliceTurn]
    items: list[RedactionItem]
    audit: SliceAudit
    has_more: bool
    next_cursor: str | None = None
    budget_applied: list[BudgetApplied] = []

    def covered(self) -> CoveredTurns:
        """Return the turns that this shows."""
        return CoveredTurns(sequences=[turn.sequence for turn in self.turns])


class ReplayMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of a replay ended."""

    after: int


def replay(session: Session, key: ConversationKey, view: View, limit: int, cursor: str | None) -> Slice:
    """Return a page of a conversation under a view."""
    space = session.space
    session.access.require_view(view)
    session.check_key(key)
    page = Page(session, "replay", ReplayMark, limit_of_replay(limit), cursor)
    budget, detection = page.budget, space.detection.view(view)
    with space.ledger.reader() as reader:
        mark = page.begin(reader, key.channel, key.conversation, view)
        after = 0 if mark is None else mark.after
        conversation = session.seen.find(reader, key)
        if conversation is None:
            raise UnknownConversation(at="conversation") if mark is None else CursorInvalid
        if after > conversation.head.turns:
            raise CursorInvalid
        rest = conversation.sequences[bisect_right(conversation.sequences, after) :]
        here, more = rest[: page.size], len(rest) > page.size
        turns, items = shown_turns(conversation, spans(here), view, detection, budget)
    return Slice(
        turns=turns,
        items=items[: budget.redaction_items],
        audit=audit(view, turns, items, detection),
        has_more=more,
        next_cursor=page.cursor_to(ReplayMark(after=here[-1])) if more else None,
        budget_applied=applied_to_slices(budget, items, min(page.limit, len(rest))),
    )
