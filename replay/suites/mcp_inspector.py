"""The MCP Inspector, which people debug servers with, over HTTP and over standard input and output.

It lists tools (`--strict`: every schema in a form that all known clients read), calls one, and reads resources and
prompts. Each answer must be JSON with what was asked for; over HTTP also of all operations as tools.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from replay.stores import opened
from replay.suites.finding import SuiteResult, ran, tail
from replay.suites.installed import Installed
from replay.suites.served import fill, serving

TIMEOUT_S = 60
# what is asked -> the member of the answer that must hold something
ASKED: dict[tuple[str, ...], str] = {
    ("tools/list", "--strict"): "tools",
    ("tools/call", "--tool-name", "transcripts_search", "--tool-arg", "query=parcel"): "structuredContent",
    ("resources/list",): "resources",
    ("resources/templates/list",): "resourceTemplates",
    ("resources/read", "--uri", "muniment://capabilities"): "contents",
    ("prompts/list",): "prompts",
    ("prompts/get", "--prompt-name", "cite", "--prompt-args", "question=parcel"): "messages",
}


def mcp_inspector(installed: Installed, scratch: Path) -> Iterator[SuiteResult]:
    """Ask the server over both transports."""
    inspect = installed.inspector()
    for every in (False, True):
        with serving(every=every) as served:
            shown = ["--transport", "http", "--header", f"Authorization: Bearer {served.key}"]
            name = f"MCP Inspector over HTTP, {'all operations' if every else 'the usual tools'}"
            yield _asked(name, [*inspect, f"{served.url}/mcp", *shown], scratch)
    home = scratch / "stdio"
    with opened(home) as runtime:
        fill(runtime)
    store = ["--store", str(home / "store"), "--keys", f"file:{home / 'root.key'}", "--pin", str(home / "pins")]
    started = [str(Path(sys.executable).with_name("muniment")), "mcp", *store]
    yield _asked("MCP Inspector over standard input and output", [*inspect, *started], scratch)


def _asked(name: str, command: list[str], scratch: Path) -> SuiteResult:
    """Ask everything; an ending that is not 0, a warning, and an answer without what was asked for are findings."""
    findings: list[str] = []
    for (method, *options), member in ASKED.items():
        ending, said = ran([*command, "--method", method, *options], scratch, timeout_s=TIMEOUT_S)
        try:
            holds = bool(json.JSONDecoder().raw_decode(said)[0][member])
        except (ValueError, KeyError):
            holds = False
        if ending or not holds or "Warning: tool" in said:
            findings.append(f"{method} ended with {ending}: {tail(said)}")
    return SuiteResult(name=name, counted=f"{len(ASKED)} questions", findings=findings)
