"""What is proved and what is wrong, on a page: links from memory to its sources, and inspections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from muniment.evidence.verifier import stamp_text, statement_lines, text_of
from muniment.operations.evidence.inspect import InspectionReport
from muniment.operations.evidence.verify import VerificationReport
from muniment.operations.provenance.derived_refs import SourceState
from muniment.operations.provenance.links import LinkPage
from muniment.projections.inspection.findings import MEANS, FindingKind
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import label, moment, tell_budget, tell_cursors
from muniment.transports.cli.struct_page import cell, is_there, tell_struct, tell_table


def _tell_links(shown: LinkPage, page: OutputPage) -> None:
    for link in shown.links:
        page.heading(on_one_line(f"{link.plane}  {link.key}  of {link.subject}  {moment(link.created_ms)}"))
        page.line(StyledText("derived from", TextStyle.STRONG), StyledText(on_one_line(link.citation)))
        proved = StyledText("source verified") if link.verified else StyledText("source NOT verified", TextStyle.BAD)
        page.line(proved, StyledText(f"position {link.position}"), StyledText(f"digest {link.digest}", TextStyle.FAINT))
        page.line(StyledText(_left(link.state)))
    if not shown.links:
        page.line(StyledText("no links", TextStyle.FAINT))
    tell_budget(shown.budget_applied, page)
    tell_cursors([("next cursor", shown.next_cursor)], page)


def _left(state: SourceState) -> str:
    """Return what is left of a source as text, without counts of zero."""
    counted = {name: getattr(state, name) for name in SourceState.__struct_fields__}
    turns = f"{counted.pop('turns'):,} turn{'s' * (state.turns != 1)}"
    return f"{turns}: " + (", ".join(f"{label(name)} {count:,}" for name, count in counted.items() if count) or "none")


def _tell_inspection(report: InspectionReport, page: OutputPage) -> None:
    """Write the verdict and the counts, then each kind of finding with its meaning, then the findings."""
    if report.fail_closed:
        page.line(StyledText("Problems found: do not trust what was inspected.", TextStyle.BAD))
    else:
        page.line(StyledText("No problems found.", TextStyle.GOOD))
    apart = {"fail_closed", "findings", "kinds", "budget_applied"}
    facts = [(name, getattr(report, name)) for name in InspectionReport.__struct_fields__ if name not in apart]
    page.facts([(label(name), cell(name, value)) for name, value in facts if is_there(value)])
    if report.kinds:
        kinds = [
            [StyledText(kind), StyledText(f"{count:,}"), StyledText(MEANS[FindingKind(kind)])]
            for kind, count in report.kinds.items()
        ]
        page.table(["kind", "findings", "means"], kinds, "kinds")
        tell_table("findings", list(report.findings), page)
    tell_budget(report.budget_applied, page)


def _tell_verification(report: VerificationReport, page: OutputPage) -> None:
    """Write what was proved, then what a certificate states and the proved events, if they were asked for."""
    tell_struct(replace(report, timestamps=[], statement=None, entries=[]), page)
    lines = [f"timestamp  {stamp_text(stamp)}" for stamp in report.timestamps]
    for line in (*lines, *statement_lines(report.statement), *text_of(report.entries)):
        page.line(StyledText(line))


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {
    LinkPage: _tell_links,
    InspectionReport: _tell_inspection,
    VerificationReport: _tell_verification,
}
