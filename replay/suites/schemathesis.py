"""schemathesis over the OpenAPI document of the server: requests that fit it and requests that do not, by the thousand.

All its checks are on. One is told what a rule is here: a request that fits the schema may be refused with 400, because
a schema cannot say that a text must be a query that parses, a time lie before another, or a cursor belong to its
listing; and with 431, because the values of a query may together be too long. What such a refusal looks like is still
checked against the document.

Operations that end the access of the suite itself run last, in a store of their own. Streams of events never end, and
are left out.

How long it takes. Some 180 methods are asked; a case costs the suite about 30 ms, and the server 8 ms of these: no
operation is slow (the slowest answer of 19,520 took 2.5 s), so what counts is how many cases there are. Values at the
edges of each schema, which do not depend on `cases`, take 7 minutes; 500 cases each took 65 minutes. `minutes`
bounds a run: the suite then repeats its cases, operation by operation, until the time is spent. What a run came to
names the operation that was asked the fewest times, so that nobody takes a short run for a thorough one.

A resource that is used after it was deleted is looked for where there is a DELETE, which are the registries of the
foreign routes: the document links what belongs together there.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from muniment.runtime.catalogue import catalogue
from muniment.transports.gateway.gateway_document import gateway_paths
from muniment.transports.http.openapi import openapi, served
from muniment.transports.http.request_guard import SeenRequest
from replay.suites.finding import SuiteResult, ran, tail
from replay.suites.installed import Installed
from replay.suites.served import serving

ENDING = ("/v1/clients/revoke", "/v1/clients/rotate", "/v1/system/close")
PATHS = openapi(served(catalogue()), [gateway_paths(catalogue())])["paths"]
ENDLESS = tuple(path for path, methods in PATHS.items() if "x-follows" in methods.get("get", {}))
TIMEOUT_S = 2 * 3600
SPARE_S = 300  # what a run may take beside its minutes, to begin and to end
CONFIG = """
hooks = "left_out"

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "409", "413", "422", "431"]

[dictionaries.names]
values = ["desk"]

[[operations]]
include-path = "/agent-tool-registries/{id}"
"""
# A name of a query with no value is not sent: what is left may well fit the schema that it was meant to break.
HOOKS = """
import schemathesis

@schemathesis.hook
def filter_query(context, query):
    return not query or all(value not in ([], {}) for value in query.values())
"""
# what a registry needs to be there, so that there is something to delete
NAMED = ("path.id", *(f"body.{name}" for name in ("registry_id", "namespace", "fingerprint", "owner_id", "owner")))
BOUND = "".join(f'parameters."{name}" = {{ dictionary = "names", probability = 0.9 }}\n' for name in NAMED)


class CountedRequests:
    """Counts the requests of each path that a suite is to ask, while it runs."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._of_path = dict.fromkeys(paths, 0)

    def begun(self) -> None:
        """Wait for the end."""

    def streams(self) -> None:
        """Wait for the end."""

    def ended(self, request: SeenRequest) -> None:
        """Count a request."""
        if request.route in self._of_path:
            self._of_path[request.route] += 1

    def fewest(self) -> str:
        """Return which path was asked the fewest times, and how often."""
        path = min(self._of_path, key=lambda each: self._of_path[each])
        return f"fewest requests: {self._of_path[path]} of {path}"


def schemathesis(
    installed: Installed, scratch: Path, cases: int, seed: int, minutes: int | None = None
) -> Iterator[SuiteResult]:
    """Run every operation, and then those that nothing can follow; for some minutes, or until each had its cases."""
    command = installed.schemathesis()
    config = scratch / "schemathesis.toml"
    config.write_text(CONFIG + BOUND)
    (scratch / "left_out.py").write_text(HOOKS)
    options = ["--checks", "all", "--max-examples", str(cases), "--seed", str(seed), "--no-color"]
    bounded = [] if minutes is None else ["--max-time", str(minutes * 60)]
    parts = {
        "schemathesis": ([path for path in PATHS if path not in {*ENDING, *ENDLESS}], bounded),
        "schemathesis, what ends access": (list(ENDING), ["--phases", "examples,coverage,fuzzing"]),  # no links
    }
    timeout_s = TIMEOUT_S if minutes is None else minutes * 60 + SPARE_S
    for name, (paths, more) in parts.items():
        counting = CountedRequests(paths)
        filters = [word for path in paths for word in ("--include-path", path)]
        with serving(observer=counting) as server:
            shown = ["--header", f"Authorization: Bearer {server.key}"]
            run = [*command, "--config-file", str(config), "run", f"{server.url}/openapi.json"]
            try:
                ending, said = ran([*run, *shown, *options, *filters, *more], scratch, timeout_s=timeout_s)
            except subprocess.TimeoutExpired:
                ending, said = 1, f"it did not end within {timeout_s} s: give it fewer cases, or --minutes"
        generated = re.search(r"(\d+) generated.*", said)
        counted = generated.group(0) if generated else "nothing generated"
        findings = [_failures(said)] if ending or not generated else []
        yield SuiteResult(name=name, counted=f"{counted} (seed {seed}); {counting.fewest()}", findings=findings)


def _failures(said: str) -> str:
    """Return all failures that were reported, or the end of what was said where it ended otherwise."""
    reported = re.search(r"^=+ FAILURES =+$.*?(?=^=+ (?:WARNINGS|SUMMARY) =+$)", said, re.MULTILINE | re.DOTALL)
    return reported.group(0) if reported else tail(said)
