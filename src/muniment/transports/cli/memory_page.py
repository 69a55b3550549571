"""Memory on a page: each item in a few lines, then what happened to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.events.identity import short_message_id, spelled
from muniment.formats.memories.memory_folders import NO_MEMORY_FILES
from muniment.memory.tool_registry import RegistryProblem
from muniment.operations.memory.list_items import ItemDetail, ItemRevision, ListedItems
from muniment.operations.memory.prompt_report import PromptBlock
from muniment.operations.memory.recall_report import HitEvidence, RecallHit, Recollection
from muniment.operations.memory.shown_item import ShownItem
from muniment.operations.notebook.list_proposals import ListedProposals
from muniment.operations.notes.imported_notes import MemoryImport
from muniment.operations.subjects.inspect_memory import MemoryInspection
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import moment
from muniment.transports.cli.struct_page import tell_struct

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


def _tell_recollection(report: Recollection, page: OutputPage) -> None:
    """Write the hits, each with what it rests on, and why there are none where there are none."""
    for hit in report.hits:
        _tell_hit(hit, page)
    if report.hits and any(hit.components for hit in report.hits):
        _tell_components(report.hits, page)
    if not report.hits:
        page.line(StyledText("nothing found"))
    rows = [
        [
            StyledText(each.plane.value),
            StyledText(f"{each.selected}"),
            StyledText(f"{each.matched}"),
            StyledText(f"{each.candidates}"),
            StyledText(f"{each.withheld}"),
            StyledText(each.miss or ""),
        ]
        for each in report.planes
        if each.candidates or each.withheld
    ]
    page.table(["plane", "hits", "matched", "candidates", "withheld", "why none"], rows, "planes")
    findings = sum(each.findings for each in report.planes)
    if findings:
        page.line(StyledText(f"mounted skills: {findings:,} problems, see skills mounted", TextStyle.BAD))
    _tell_registries(report.registries, page)
    told = [] if report.semantic == "absent" else [StyledText(f"by meaning: {report.semantic}")]
    told += [StyledText("the question was extended with the newest messages")] if report.extended else []
    if told:
        page.line(*told)


def _tell_block(block: PromptBlock, page: OutputPage) -> None:
    """Write the text as it is, then what is in it."""
    if block.text:
        page.line(StyledText(block.text))
    counts = {
        "tokens": f"{block.tokens:,} of {block.budget_tokens:,} ({block.counter})",
        "recalled": f"{block.recalled}",
    }
    counts |= {"withheld": f"{block.withheld}"} if block.withheld else {}
    page.facts([(name, StyledText(count)) for name, count in counts.items()])
    rows = [
        [StyledText(each.section.value), StyledText(f"{each.included} of {each.offered}"), StyledText(f"{each.size:,}")]
        for each in block.sections
        if each.offered
    ]
    page.table(["section", "included", "tokens"], rows, "sections")
    _tell_registries(block.registries, page)


def _tell_registries(problems: list[RegistryProblem], page: OutputPage) -> None:
    for each in problems:
        page.line(StyledText(on_one_line(f"no hints of registry {each.registry}: {each.reason}")))


def _tell_hit(hit: RecallHit, page: OutputPage) -> None:
    who = hit.topic if hit.role is None else f"{hit.role} {hit.speaker}"
    page.heading(on_one_line(f"{hit.plane}  {who}"))
    page.line(StyledText(hit.text, TextStyle.STRONG), indent=INDENT)
    state = [] if hit.state is None else [hit.state.value, f"confidence {hit.confidence}"]
    state += [] if hit.observed_ms is None else [f"observed {moment(hit.observed_ms)}"]
    told = [*state, f"score {hit.score:.3f}", f"relevance {hit.relevance:.2f}"]
    page.line(StyledText(on_one_line("  ".join([hit.id, *told])), TextStyle.FAINT), indent=INDENT)
    for source in hit.evidence:
        page.line(StyledText(on_one_line(f"from {_place(source)}")), indent=INDENT)


def _place(source: HitEvidence) -> str:
    """Return where a source is, or why that is not said or shown."""
    if source.conversation is None:
        return f"a turn  withheld: {source.withheld}"
    where = spelled(source.conversation.channel, source.conversation.conversation)
    named = f"{where}  {short_message_id(source.message) if source.message else source.turn}"
    return named if source.withheld is None else f"{named}  withheld: {source.withheld}"


def _tell_components(hits: list[RecallHit], page: OutputPage) -> None:
    """Write the components of each score, without those that are zero everywhere."""
    names = list(dict.fromkeys(name for hit in hits for name in hit.components or {}))
    rows = [
        [
            StyledText(on_one_line(short_message_id(hit.id))),
            *[StyledText(f"{(hit.components or {}).get(name, 0.0):.3f}") for name in names],
            StyledText(f"{hit.score:.3f}"),
        ]
        for hit in hits
    ]
    page.table(["hit", *names, "total"], rows, "scores")


def _tell_import(report: MemoryImport, page: OutputPage) -> None:
    """Write what became of each file and, of a folder without any, what was looked for."""
    tell_struct(report, page)
    if any(file.unread == NO_MEMORY_FILES for file in report.files):
        page.line(StyledText("No MEMORY.md, USER.md or memory/*.md in this folder.", TextStyle.BAD))
        page.line(StyledText("`memory journal --out DIR` writes them into DIR/<subject>: import that folder."))


def _tell_inspection(report: MemoryInspection, page: OutputPage) -> None:
    """Write what memory holds; which operations there are is in the help, and in `--json`."""
    tell_struct(report, page, without=frozenset({"operations", "positions"}))


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
    Recollection: _tell_recollection,
    PromptBlock: _tell_block,
    MemoryImport: _tell_import,
    MemoryInspection: _tell_inspection,
}
