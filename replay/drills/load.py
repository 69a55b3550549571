"""A process under load: commits to a store without pause, and acknowledges each step through its standard output.

Of some turns it remembers an item, and some of these it forgets (`remembering`).

Started by the drills as `python -m replay.drills.load`. An acknowledgement is written after the commit has returned.
The `hasty` kind is the control: it acknowledges first and commits then, as a store that answers before it is durable.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from pathlib import Path

from muniment.errors import StoreBusy
from muniment.runtime.runtime import Runtime
from replay.drills.remembering import forget, is_forgotten, is_remembered, remember
from replay.stores import opened
from replay.words import Words

REPOSITORY = Path(__file__).resolve().parents[2]
CHARACTERS = 200


class Step(StrEnum):
    """What a process acknowledges of a turn: that it is committed, its item remembered, or that forgotten."""

    TURN = "turn"
    ITEM = "item"
    FORGOTTEN = "forgotten"


def start(
    directory: Path, conversation: str, *, turns: int, threads: int = 1, hasty: bool = False
) -> subprocess.Popen[bytes]:
    """Start a process that commits to the store in a directory; `turns` for each of its threads."""
    kind = "hasty" if hasty else "honest"
    return subprocess.Popen(
        [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "replay.drills.load",
            str(directory),
            conversation,
            str(turns),
            str(threads),
            kind,
        ],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _commit(runtime: Runtime, conversation: str, turns: int, *, hasty: bool) -> None:
    words = Words(small=True)
    for number in range(1, turns + 1):
        turn = words.turn(conversation, number, characters=CHARACTERS)
        steps: list[tuple[Step, Callable[[], object]]] = [(Step.TURN, partial(runtime.transcripts.commit, turn))]
        if is_remembered(number):
            steps.append((Step.ITEM, partial(remember, runtime, conversation, number)))
        if is_forgotten(number):
            steps.append((Step.FORGOTTEN, partial(forget, runtime, conversation, number)))
        for step, do in steps:
            if hasty:
                _acknowledge(step, conversation, number)
            do()
            if not hasty:
                _acknowledge(step, conversation, number)


def _acknowledge(step: Step, conversation: str, number: int) -> None:
    os.write(1, f"{step} {conversation} {number}\n".encode())  # one write, shorter than a pipe's atom


def acknowledged(line: bytes) -> tuple[Step, str, int]:
    """Return what a line acknowledges: a step of a conversation, and the number of its turn."""
    step, rest = line.decode().split(maxsplit=1)
    conversation, number = rest.rsplit(maxsplit=1)
    return Step(step), conversation, int(number)


def main() -> int:
    """Commit until all is committed or somebody kills us."""
    directory, conversation, turns, threads, kind = sys.argv[1:]
    try:
        with opened(Path(directory)) as runtime, ThreadPoolExecutor(int(threads)) as pool:
            jobs = [
                pool.submit(_commit, runtime, f"{conversation}.{thread}", int(turns), hasty=kind == "hasty")
                for thread in range(int(threads))
            ]
            for job in jobs:
                job.result()
    except StoreBusy:
        return 75
    return 0


if __name__ == "__main__":
    sys.exit(main())
