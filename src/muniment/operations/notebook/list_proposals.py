"""List the proposals about a subject through a view."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import EntryRole, Retirement
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.item_page import item_page
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.operations.page import check_limit
from muniment.space.space import Space


class ProposalFilter(StrEnum):
    """Which proposals are listed: those that nobody has decided about, or all."""

    OPEN = "open"
    ALL = "all"


class ShownProposal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A proposal as a view shows it: the item that it would be, and why somebody proposes it.

    `item.retired` says what became of it: `proposed`, `accepted` or `rejected`.
    """

    item: ShownItem
    rationale: str | None = None


class ListedProposals(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Proposals about a subject, in the order of their recording.

    `total` counts those that the view shows on all pages, `withheld` those that it does not show. `next_after` is the
    position to go on behind; absent on the last page.
    """

    proposals: list[ShownProposal]
    total: int
    withheld: int
    next_after: int | None = None

    def covered(self) -> CoveredTurns:
        """Return the entries that this shows."""
        return CoveredTurns(positions=[proposal.item.position for proposal in self.proposals])


class ProposalPage(NamedTuple):
    """Which page of which proposals."""

    state: ProposalFilter
    limit: int
    after: int | None


def list_proposals(session: Session, subject: SubjectId, view: View, page: ProposalPage) -> ListedProposals:
    """Return a page of the proposals about a subject."""
    space = session.space
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    check_limit(page.limit, space.limits.report_items_max)
    with space.ledger.reader() as reader:
        found = sorted(_proposals(space, reader, subject, page.state), key=lambda entry: entry.position)
        chosen = item_page(found, view, page.limit, page.after)
        shower = ItemShower(space, reader, view, session.access.subject)
        return ListedProposals(
            proposals=[_shown(shower, entry) for entry in chosen.items],
            total=chosen.total,
            withheld=chosen.withheld,
            next_after=chosen.next_after,
        )


def _proposals(space: Space, reader: Reader, subject: str, state: ProposalFilter) -> Iterator[MemoryItem]:
    for head in space.notebooks.heads(reader, subject):
        for entry in space.notebooks.items(reader, head):
            is_listed = state is ProposalFilter.ALL or entry.retired is Retirement.PROPOSED
            if is_listed and entry.meta.entry.role is EntryRole.PROPOSAL and entry.text is not None:
                yield entry


def _shown(shower: ItemShower, proposal: MemoryItem) -> ShownProposal:
    item = shower.shown(proposal)
    rationale = None if proposal.content is None or item.text is None else proposal.content.rationale
    told = None if rationale is None else shower.text(rationale, proposal.subject)
    return ShownProposal(item=item, rationale=told)
