"""A process that appends when it is told to: `python -m replay.bench.search.writer DIRECTORY COUNT [QUERY]`.

With a question it is asked first, so that there is an index in memory, with all that an index does to a process. For
each line of its standard input it commits so many turns and writes what one took.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from replay.bench.process import command, environment
from replay.machine import REPOSITORY
from replay.measure import Round, timed
from replay.stores import opened
from replay.words import Words

CONVERSATION = "written-while-searched"


class Writer:
    """The process, as who measures sees it."""

    def __init__(self, directory: Path, count: int, query: str | None) -> None:
        given = [str(directory), str(count), *([query] if query else [])]
        self._process = subprocess.Popen(
            command("replay.bench.search.writer", *given),
            cwd=REPOSITORY,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._heard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._process.communicate()

    def round(self) -> Round:
        """Have a round written."""
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._heard(), type=Round)

    def _heard(self) -> bytes:
        assert self._process.stdout is not None, "it is a pipe"
        return self._process.stdout.readline()


def main() -> None:
    """Get ready, then write a round for each line."""
    directory, count, *query = sys.argv[1:]
    with opened(Path(directory)) as runtime:
        for text in query:
            runtime.transcripts.search(text, View.RAW_OWNER)
        words = Words(small=True)
        print("ready", flush=True)
        for number, _ in enumerate(sys.stdin):
            turns = words.turns(CONVERSATION, number * int(count) + 1, int(count))
            print(msgspec.json.encode(timed(partial(_written, runtime, turns))).decode(), flush=True)


def _written(runtime: Runtime, turns: list[Turn]) -> int:
    return len([runtime.transcripts.commit(turn) for turn in turns])


if __name__ == "__main__":
    main()
