"""Memory on a page: each item in a few lines, then what happened to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.memory.list_items import ItemDetail, ItemRevision, ListedItems
from muniment.operations.memory.shown_item import ShownItem
from muniment.operations.notebook.list_proposals import ListedProposals
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import moment

INDENT = 2


def _tell_items(report: ListedItems, page: OutputPage) -> None:
    """Write the items, and how many there are."""
    for item in report.items:
        _tell_item(item, page)
    _tell_counts("items", report, page)


def _tell_proposals(report: ListedProposals, page: OutputPage) -> None:
    """Write the items that are proposed, and why somebody proposes them."""
    for proposal in report.proposals:
        _tell_item(proposal.item, page)
        if proposal.rationale is not None:
            page.line(StyledText(on_one_line(f"because {proposal.rationale}")), indent=INDENT)
    _tell_counts("proposals", report, page)


def _tell_counts(what: str, report: ListedItems | ListedProposals, page: OutputPage) -> None:
    counts = [(what, StyledText(f"{report.total:,}"))]
    if report.withheld:
        counts.append(("withheld", StyledText(f"{report.withheld:,}")))
    if report.next_after is not None:
        counts.append(("next after", StyledText(f"{report.next_after}")))
    page.facts(counts)


def _tell_detail(report: ItemDetail, page: OutputPage) -> None:
    """Write an item and its revisions, or why there is nothing to show."""
    if report.item is None:
        page.line(StyledText(f"not shown: {report.missing}", TextStyle.BAD))
        return
    _tell_item(report.item, page)
    for revision in report.revisions:
        _tell_revision(revision, page)


def _tell_item(item: ShownItem, page: OutputPage) -> None:
    page.heading(on_one_line(f"{item.kind}  {item.topic or f'withheld: {item.withheld}'}"))
    if item.text is not None:
        page.line(StyledText(item.text, TextStyle.STRONG), indent=INDENT)
    state = [item.state.value, f"{item.band} confidence", f"revision {item.revision}"]
    state += ["pinned"] if item.pinned else []
    state += [item.stale.value] if item.stale != "none" else []
    state += [f"expires {moment(item.expires_ms)}"] if item.expires_ms is not None else []
    if item.retired is not None:
        state.append(item.retired if item.successor is None else f"{item.retired} by {item.successor}")
    page.line(StyledText(on_one_line("  ".join(state))), indent=INDENT)
    told = f"{item.id}  of {item.subject}  {item.plane}  observed {moment(item.observed_ms)}  position {item.position}"
    page.line(StyledText(on_one_line(told), TextStyle.FAINT), indent=INDENT)
    for source in item.evidence:
        page.line(StyledText(on_one_line(f"from {source.citation}  {source.phase}")), indent=INDENT)
    if not item.evidence:
        page.line(StyledText(f"from {item.evidence_count} turn{'s' * (item.evidence_count != 1)}"), indent=INDENT)


def _tell_revision(revision: ItemRevision, page: OutputPage) -> None:
    by = "" if revision.requester is None else f"by {revision.requester}: {revision.reason}"
    successor = "" if revision.successor is None else f"by item {revision.successor}"
    words = [f"{moment(revision.time_ms)}  {revision.action}", successor, by]
    page.line(StyledText(on_one_line("  ".join(word for word in words if word))))
    for sign, text in (("-", revision.former_text), ("+", revision.text)):
        if text is not None:
            page.line(StyledText(f"{sign} {text}"), indent=INDENT)


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {
    ListedItems: _tell_items,
    ListedProposals: _tell_proposals,
    ItemDetail: _tell_detail,
}
