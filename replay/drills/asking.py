"""Questions to a store, and a fresh process that asks them: `python -m replay.drills.asking DIRECTORY`.

The process reads questions from its standard input and writes how many messages answer each, view by view.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.governance.views import View
from muniment.operations.transcripts.hits import SearchPage, SearchScope
from muniment.runtime.runtime import Runtime
from replay.stores import opened

REPOSITORY = Path(__file__).resolve().parents[2]
HITS_MAX = 100

Counts = dict[View, int]


class Asking(Struct, frozen=True, kw_only=True):
    """A question, and where it looks."""

    query: str
    within: SearchScope = SearchScope()

    def ask(self, runtime: Runtime, view: View) -> SearchPage:
        """Ask it under a view."""
        return runtime.transcripts.search(self.query, view, self.within, limit=HITS_MAX)

    def counts(self, runtime: Runtime) -> Counts:
        """Return how many messages answer it under each view."""
        return {view: len(self.ask(runtime, view).hits) for view in View}


def asked_afresh(directory: Path, questions: list[Asking]) -> list[Counts]:
    """Ask in a fresh process."""
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])
    said = subprocess.run(
        [sys.executable, "-m", "replay.drills.asking", str(directory)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": path},
        input=msgspec.json.encode(questions),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(said.stdout, type=list[Counts])


def main() -> None:
    """Answer the questions."""
    questions = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Asking])
    with opened(Path(sys.argv[1])) as runtime:
        counted = [question.counts(runtime) for question in questions]
    sys.stdout.buffer.write(msgspec.json.encode(counted))


if __name__ == "__main__":
    main()
