"""What a run of pytest came to, read from its JUnit report, and how that differs from what a table expects."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from msgspec import Struct

from replay.hosts.tables import HostTable

BROKEN = frozenset({"failure", "error"})


class TestsRan(Struct, frozen=True, kw_only=True):
    """The names of tests, `classname::name`, by how they ended; one that passed and broke in its end has failed."""

    passed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()


def read(report: Path) -> TestsRan:
    """Read a JUnit report; without one, no test ran."""
    if not report.is_file():
        return TestsRan()
    ended: dict[str, set[str]] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest has just written it
        ended.setdefault(f"{case.get('classname')}::{case.get('name')}", set()).update(one.tag for one in case)
    failed = frozenset(name for name, tags in ended.items() if tags & BROKEN)
    skipped = frozenset(name for name, tags in ended.items() if "skipped" in tags) - failed
    return TestsRan(passed=frozenset(ended) - failed - skipped, failed=failed, skipped=skipped)


def differences(table: HostTable, ran: TestsRan) -> list[str]:
    """Return what is not as the table expects; nothing is the goal."""
    expected = table.expected_failures.keys()
    findings = [f"failed: {name}" for name in sorted(ran.failed - expected)]
    findings += [f"passes, but is expected to fail: {name}" for name in sorted(ran.passed & expected)]
    findings += [f"is expected to fail, but did not run: {name}" for name in sorted(expected - ran.failed - ran.passed)]
    if len(ran.passed) != table.passed:
        findings.append(f"{len(ran.passed)} passed instead of {table.passed}")
    return findings
