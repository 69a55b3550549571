"""Reports of `muniment replay run` as JUnit XML, which CI systems show: a suite for each run, a case for each check.

| in the report | in the XML |
|---|---|
| a check that held | a case |
| a check that failed, or is expected and empty | a case with a `failure`: how it differs |
| what nobody expects anything of | a case that is `skipped` |
| a run in which nothing held | a case with an `error` |
| a file that could not be run | a suite with a case with an `error` |
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from muniment.replay.replay_report import CheckOutcome, FixtureNotRead, FixtureRun, ReplayReport

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_of(report: ReplayReport) -> str:
    """Return a report as the text of a JUnit file."""
    root = ET.Element("testsuites", name=f"muniment {report.version}")
    for run in report.runs:
        _add_run(root, run)
    for unread in report.not_read:
        _add_unread(root, unread)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_run(root: ET.Element, run: FixtureRun) -> None:
    name = f"{run.fixture} on {run.store}, {run.mode}"
    failed = sum(check.fails for check in run.checks)
    nothing_held = not run.passed and not failed
    skipped = run.failed + run.unchecked - failed
    suite = _suite(root, name, len(run.checks) + nothing_held, failed, int(nothing_held), skipped)
    for check in run.checks:
        case = _case(suite, name, f"line {check.line}, {check.command}: {check.what}")
        if check.fails:
            ET.SubElement(case, "failure", message=_text(check.difference or "differs"))
        elif check.verdict is CheckOutcome.UNCHECKED:
            ET.SubElement(case, "skipped", message="nothing is expected")
    if nothing_held:
        ET.SubElement(_case(suite, name, "expectations"), "error", message="the fixture expects nothing")


def _add_unread(root: ET.Element, unread: FixtureNotRead) -> None:
    suite = _suite(root, unread.file, 1, 0, 1, 0)
    told = ": ".join(filter(None, (unread.code, unread.at, unread.problem)))
    ET.SubElement(_case(suite, unread.file, "read"), "error", message=_text(told))


def _suite(root: ET.Element, name: str, tests: int, failures: int, errors: int, skipped: int) -> ET.Element:
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    return ET.SubElement(root, "testsuite", {"name": _text(name)} | {key: str(count) for key, count in counts.items()})


def _case(suite: ET.Element, run: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_text(run), name=_text(name))


def _text(text: str) -> str:
    """Return text that XML can hold."""
    return NO_XML.sub("\ufffd", text)
