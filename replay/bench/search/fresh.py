"""A fresh process that opens a store and answers one question: `python -m replay.bench.search.fresh DIRECTORY QUERY`.

Prints as JSON what it took. Modules are loaded before anything is measured; `--leave` ends it without closing, so that
nothing is kept for the next one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import muniment.operations.transcripts.search  # noqa: F401 - numpy and all, before anything is measured
from muniment.governance.views import View
from replay.bench.process import resident, said_by
from replay.stores import opened

LEAVE = "--leave"


class Answered(NamedTuple):
    """What it took until there was an answer: to open, to answer, and to close. `grown` is memory in bytes."""

    hits: int
    open_ms: float
    answer_ms: float
    answer_cpu_ms: float
    again_ms: float
    close_ms: float
    grown: int


def answered(directory: Path, query: str, *, leave: bool) -> Answered:
    """Ask in a fresh process."""
    given = [str(directory), query, *([LEAVE] if leave else [])]
    return said_by("replay.bench.search.fresh", *given, form=Answered)


def main() -> None:
    """Open, ask twice, close."""
    directory, query, *flags = sys.argv[1:]
    start = time.perf_counter()
    runtime = opened(Path(directory))
    open_ms = _since(start)
    before, start, cpu = resident(), time.perf_counter(), time.process_time()
    found = runtime.transcripts.search(query, View.RAW_OWNER)
    answer_ms, cpu_ms = _since(start), (time.process_time() - cpu) * 1000
    grown = resident() - before
    start = time.perf_counter()
    runtime.transcripts.search(query, View.RAW_OWNER)
    again_ms, start = _since(start), time.perf_counter()
    if LEAVE not in flags:
        runtime.close()
    print(json.dumps([len(found.hits), open_ms, answer_ms, cpu_ms, again_ms, _since(start), grown]), flush=True)
    os._exit(0)


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
