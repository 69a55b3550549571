"""Runs suites: installs each, starts the server, prints what it came to. One that cannot be installed is left out."""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from replay.suites.finding import SuiteResult
from replay.suites.installed import Installed
from replay.suites.mcp_conformance import mcp_conformance
from replay.suites.mcp_inspector import mcp_inspector
from replay.suites.schemathesis import schemathesis
from replay.throwaway import NotInstallable


class SuiteOrder(Struct, frozen=True, kw_only=True):
    """Which suites, how many cases for each operation, or for how long, from which seed, and where they are kept."""

    names: tuple[str, ...]
    cases: int
    seed: int
    minutes: int | None = None
    installed: Path | None = None


SUITES: dict[str, Callable[[Installed, Path, SuiteOrder], Iterator[SuiteResult]]] = {
    "schemathesis": lambda installed, scratch, order: schemathesis(
        installed, scratch, order.cases, order.seed, order.minutes
    ),
    "mcp-conformance": lambda installed, scratch, _: mcp_conformance(installed, scratch),
    "mcp-inspector": lambda installed, scratch, _: mcp_inspector(installed, scratch),
}


def run_suites(order: SuiteOrder) -> bool:
    """Run suites and tell what they found; return whether that was nothing."""
    for name in ("muniment", "uvicorn", "mcp"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the suites provoke refusals by the thousand
    is_clean = True
    for name in order.names or tuple(SUITES):
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="muniment-suites-") as made:
            scratch = Path(made)
            installed = Installed(order.installed or scratch / "installed")
            try:
                for result in SUITES[name](installed, scratch, order):
                    is_clean = is_clean and not result.findings
                    print(f"[{time.monotonic() - began:4.0f} s] {result.line()}", flush=True)
            except NotInstallable as missing:
                print(f"{name}: left out, not installable here: {missing}", file=sys.stderr)
    return is_clean
