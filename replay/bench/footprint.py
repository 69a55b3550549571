"""Footprint: a fresh process opens a store and replays all of it: `python -m replay.bench.footprint DIRECTORY`.

Prints as JSON the bytes of memory that it had after each step.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from muniment.governance.views import View
from replay.bench.contestants import CONVERSATION
from replay.bench.figures import Amount, Figure
from replay.bench.process import resident, said_by
from replay.bench.scene import Grown, Measured, Measuring
from replay.stores import opened
from replay.words import key_of

STEP_TURNS = 500
MIB = 2**20


class Had(NamedTuple):
    """The bytes that a process had: all modules loaded, the store open, a page replayed, everything replayed."""

    loaded: int
    open: int
    page: int
    whole: int


def footprint(grown: Grown) -> Measuring:
    """Replay everything in a fresh process."""
    had = said_by("replay.bench.footprint", str(grown.directory), form=Had)
    yield Measured(
        Figure(
            subject="footprint",
            what=f"memory growth of a new process that opens and replays {grown.turns:,} turns",
            measured=Amount(median=(had.whole - had.loaded) / MIB, unit="MiB", digits=1),
            note=f"{had.loaded / MIB:.1f} MiB with all modules loaded, {had.open / MIB:.1f} with the store open, "
            f"{had.page / MIB:.1f} after a page of {STEP_TURNS} turns, {had.whole / MIB:.1f} at the end",
        )
    )


def main() -> None:
    """Open, replay a page, replay everything."""
    loaded = resident()
    runtime = opened(Path(sys.argv[1]))
    replay, key, had = runtime.transcripts.replay, key_of(CONVERSATION), [loaded, resident()]
    page = replay(key, View.RAW_OWNER, STEP_TURNS)
    had.append(resident())
    while page.has_more:
        page = replay(key, View.RAW_OWNER, STEP_TURNS, page.next_cursor)
    print(json.dumps([*had, resident()]), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
