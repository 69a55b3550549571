"""Reports of `muniment replay` on a page."""

from __future__ import annotations

from msgspec import Struct

from muniment.replay.comparing import ComparisonReport
from muniment.replay.replay_report import RecordingReport, ReplayReport
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle

SHOWN_DIGITS = 12


class RecordedFixture(Struct, frozen=True, kw_only=True):
    """A recorded history, and where it is."""

    file: str
    recorded: RecordingReport


def tell_runs(report: ReplayReport, page: OutputPage) -> None:
    """Write each run, what failed, and what was not verified."""
    columns = ("fixture", "sha-256", "store", "mode", "passed", "failed", "unchecked", "result")
    rows = [
        [
            *map(StyledText, (run.fixture, run.fixture_digest[:SHOWN_DIGITS], run.store, run.mode)),
            *(StyledText(str(count)) for count in (run.held, run.failed, run.unchecked)),
            StyledText("passed", TextStyle.GOOD) if run.passed else StyledText("FAILED", TextStyle.BAD),
        ]
        for run in report.runs
    ]
    if rows:
        page.table(columns, rows)
    for run in report.runs:
        where = f"{run.fixture} on {run.store}, {run.mode}"
        if not run.passed and not any(check.fails for check in run.checks):
            page.line(StyledText("FAILED", TextStyle.BAD), StyledText(f"{where}: the fixture expects nothing"))
        for check in run.checks:
            if check.fails:
                line = f"{where}, line {check.line}, {check.command}: {check.what}: {check.difference}"
                page.line(StyledText("FAILED", TextStyle.BAD), StyledText(line))
    for unread in report.not_read:
        at = unread.at or unread.file
        where = at if at.startswith(unread.file) else f"{unread.file}, {at}"
        told = f"{where}: {(unread.problem or unread.code).replace('_', ' ')}"
        page.line(StyledText("NOT READ", TextStyle.BAD), StyledText(told))
    if report.not_verified:
        page.line()
        page.line(StyledText(f"Not verified: {len(report.not_verified)}", TextStyle.STRONG))
        for each in report.not_verified:
            page.line(StyledText(each), indent=2)
    page.line()
    passed = sum(run.passed for run in report.runs)
    mood = TextStyle.GOOD if report.passed else TextStyle.BAD
    page.line(StyledText(f"{passed} of {len(report.runs)} runs passed with muniment {report.version}.", mood))
    if report.not_read:
        page.line(StyledText(f"{len(report.not_read)} of the files could not be run.", TextStyle.BAD))


def tell_recording(file: str, report: RecordingReport, page: OutputPage) -> None:
    """Write what a recording holds and what it left out."""
    page.facts(
        [
            ("file", StyledText(file)),
            ("commands", StyledText(str(report.commands))),
            ("events read", StyledText(str(report.events))),
        ]
    )
    for title, counted in (("events left out", report.left_out), ("commands that end in an error", report.errors)):
        if counted:
            page.facts([(title, StyledText(", ".join(f"{count} {name}" for name, count in counted.items())))])


def tell_comparison(report: ComparisonReport, page: OutputPage) -> None:
    """Write the first difference, or that there is none."""
    if report.same:
        page.line(StyledText("No differences.", TextStyle.GOOD))
        return
    where = "one has more runs than the other" if report.difference is None else report.difference.told()
    page.line(StyledText("They differ", TextStyle.BAD), StyledText(where))
