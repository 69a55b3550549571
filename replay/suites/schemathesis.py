"""schemathesis over the OpenAPI document of the server: requests that fit it and requests that do not, by the thousand.

All its checks are on. One is told what a rule is here: a request that fits the schema may be refused with 400, because
a schema cannot say that a text must be a query that parses, a time lie before another, or a cursor belong to its
listing. What such a refusal looks like is still checked against the document.

Operations that end the access of the suite itself run last, in a store of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from replay.suites.finding import SuiteResult, ran, tail
from replay.suites.installed import Installed
from replay.suites.served import serving

ENDING = ("/v1/clients/revoke", "/v1/clients/rotate", "/v1/system/close")
TIMEOUT_S = 3600
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "409", "413", "422"]
"""


def schemathesis(installed: Installed, scratch: Path, cases: int, seed: int) -> Iterator[SuiteResult]:
    """Run every operation, and then those that nothing can follow."""
    command = installed.schemathesis()
    config = scratch / "schemathesis.toml"
    config.write_text(CONFIG)
    options = ["--checks", "all", "--max-examples", str(cases), "--seed", str(seed), "--no-color"]
    parts = {
        "schemathesis": [word for path in ENDING for word in ("--exclude-path", path)],
        "schemathesis, what ends access": [word for path in ENDING for word in ("--include-path", path)],
    }
    for name, filters in parts.items():
        with serving() as served:
            shown = ["--header", f"Authorization: Bearer {served.key}"]
            run = [*command, "--config-file", str(config), "run", f"{served.url}/openapi.json"]
            ending, said = ran([*run, *shown, *options, *filters], scratch, timeout_s=TIMEOUT_S)
        generated = re.search(r"(\d+) generated.*", said)
        counted = generated.group(0) if generated else "nothing generated"
        findings = [tail(said)] if ending or not generated else []
        yield SuiteResult(name=name, counted=f"{counted} (seed {seed})", findings=findings)
