"""The conformance suite of MCP, for both revisions of the protocol that the server speaks.

With fixtures, all that a revision requires must pass. Without them, as the server is in production, exactly the
scenarios of `expected/` fail: those call fixtures by name, or ask for what a server of requests that stand alone does
not offer (subscriptions, levels of a log, completions). Any other one that fails, and one of these that
passes, is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from replay.suites.finding import SuiteResult, ran, tail
from replay.suites.fixtures import with_fixtures
from replay.suites.installed import Installed
from replay.suites.served import serving

REVISIONS = {"2025-11-25": 84, "2026-07-28": 119}  # revision -> how many checks must pass, so that none is left out
EXPECTED = Path(__file__).parent / "expected"
TIMEOUT_S = 120


def mcp_conformance(installed: Installed, scratch: Path) -> Iterator[SuiteResult]:
    """Run the suite against the server with fixtures, and against the server as it is."""
    command = installed.conformance()
    with serving(carrier=with_fixtures(installed.sdk_source()), shows_key=True) as served:
        for revision in REVISIONS:
            yield _checked(command, served.url, revision, scratch)
    with serving(shows_key=True) as served:
        for revision in REVISIONS:
            yield _checked(command, served.url, revision, scratch, EXPECTED / f"{revision}.yml")


def _checked(command: list[str], url: str, revision: str, scratch: Path, expected: Path | None = None) -> SuiteResult:
    kind = "with fixtures" if expected is None else "as it is"
    baseline = [] if expected is None else ["--expected-failures", str(expected)]
    place = url.replace("127.0.0.1", "localhost")  # the suite takes no other name for a server of this machine
    ending, said = ran(
        [*command, "server", "--url", f"{place}/mcp", "--requirements", revision, "-o", str(scratch), *baseline],
        scratch,
        timeout_s=TIMEOUT_S,
    )
    total = re.search(r"^Total: (\d+) passed, (\d+) failed", said, re.MULTILINE)
    passed, failed = total.groups() if total else ("0", "?")
    findings = [] if ending == 0 and total else [tail(said)]
    if expected is None and int(passed) < REVISIONS[revision]:
        findings.append(f"{REVISIONS[revision]} checks are required, {passed} passed")
    why = "are not required" if expected is None else "are expected to"
    counted = f"{passed} checks passed, {failed} failed in scenarios that {why}"
    return SuiteResult(name=f"MCP conformance {revision}, {kind}", counted=counted, findings=findings)
