"""Answers to requests that change memory on a page: first whether it was done, would be done, or why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.memory.amend_report import AmendReport
from muniment.operations.memory.forget_report import ForgetReport
from muniment.operations.notebook.decide_report import DecideReport
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle
from muniment.transports.cli.scalars import label
from muniment.transports.cli.struct_page import tell_struct

# reason in a report -> how a page says it, where the word itself does not read well
REASONS: dict[str, str] = {
    "ambiguous": "several items match; name one of them with --item",
    "confirmation_differs": "the token is of other words, or what they match has changed: take it from a new dry run",
    "confirmation_required": "a search for words takes two calls: one with --dry-run, which prints a token, "
    "and the same with --token instead",
    "decided_otherwise": "the other verdict was given before",
    "forgotten": "it was forgotten",
    "formatted_dump": "it is a dump, not a statement",
    "kept": "a hold keeps it",
    "needs_feedback": "it comes from feedback about tools alone",
    "nothing_changed": "it is so already",
    "not_in_use": "the item is not in use",
    "private_target": "nothing is made private here",
    "slot_taken": "another item took its place",
    "source_hidden": "a turn that it retells is masked or erased",
    "target_not_found": "there is no such item",
    "weak_skill": "a skill has at least 2 steps and 20 characters",
}
TOLD_BEFORE = frozenset({"accepted", "changed", "dry_run", "reason"})  # members that the first line tells


def _tell(answer: AmendReport | ForgetReport | DecideReport, act: str, page: OutputPage) -> None:
    """Write in a line what became of a request, or would; then the rest of the report."""
    page.line(_outcome(answer, act))
    tell_struct(answer, page, without=TOLD_BEFORE)


def _outcome(answer: AmendReport | ForgetReport | DecideReport, act: str) -> StyledText:
    why = REASONS.get(answer.reason or "", label(answer.reason or ""))
    if answer.reason is not None and answer.verdict is not None:
        return StyledText(f"{'dry run: would not' if answer.dry_run else 'did not'} {act}: {why}", TextStyle.BAD)
    if answer.reason is not None:
        return StyledText(f"no change: {why}")
    style = TextStyle.PLAIN if answer.verdict is None else TextStyle.BAD  # the report lists what is kept
    return StyledText(f"dry run: would {act}; nothing was changed" if answer.dry_run else f"done: {act}", style)


def _tell_amendment(report: AmendReport, page: OutputPage) -> None:
    _tell(report, f"{label(report.amendment)} the item", page)


def _tell_forgotten(report: ForgetReport, page: OutputPage) -> None:
    count = len(report.items)
    _tell(report, f"forget {count:,} item{'s' * (count != 1)}" if count else "forget", page)
    if report.token is not None:
        page.line(StyledText("To forget them, repeat it without --dry-run, with --token and this token."))


def _tell_decision(report: DecideReport, page: OutputPage) -> None:
    _tell(report, f"{report.asked.value} the proposal", page)


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {
    AmendReport: _tell_amendment,
    ForgetReport: _tell_forgotten,
    DecideReport: _tell_decision,
}
