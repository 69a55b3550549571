"""A story on a small disk: a store is left there, the disk is filled, and each step after that is a process of its own.

`python -m replay.drills.fresh_process PLACE closed|killed reserve|none` prints what was wrong, a line each. A step is
the same with its name behind it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from muniment.errors import MunimentError
from muniment.events.identity import ConversationId, TurnId
from muniment.governance.views import View
from muniment.log.reserve import NAME as RESERVE
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.drills.governed import pages
from replay.drills.small_disk import fill
from replay.stores import opened
from replay.words import Words, key_of

TALK, TURNS, ERASED = "talk", 5, "turn-2"


def leave(home: Path, ending: str) -> None:
    """Leave a store with a few turns, closed or as somebody leaves it who is killed."""
    runtime = opened(home)
    words = Words(small=True)
    for number in range(1, TURNS + 1):
        runtime.transcripts.commit(words.turn(TALK, number))
    if ending == "killed":
        os._exit(0)
    runtime.close()


def read(runtime: Runtime) -> list[str]:
    """Read every view, and inspect."""
    wrong = [
        f"a view of {len(turns)} turns" for view in View if len(turns := pages(runtime, key_of(TALK), view)) != TURNS
    ]
    if not runtime.system.health().sound or runtime.evidence.inspect().fail_closed:
        wrong.append("not sound")
    return wrong


def erase(runtime: Runtime) -> list[str]:
    """Erase a turn; the former keys must go with it."""
    report = runtime.lifecycle.erase(
        Scope(conversation=ConversationId(TALK), turn=TurnId(ERASED)), "asked for", "drill"
    )
    versions = runtime.system.health().key_versions
    return (
        [] if report.changed and report.receipt is not None and versions == 1 else [f"{versions} versions of the key"]
    )


def see(runtime: Runtime) -> list[str]:
    """See what was erased, and only that."""
    phases = {turn["turn"]: turn["phase"] for turn in pages(runtime, key_of(TALK), View.RAW_OWNER)}
    wrong = [] if phases.pop(ERASED, None) == "erased" else ["the turn is not erased"]
    return wrong if set(phases.values()) == {"active"} else [*wrong, "other turns are not what they were"]


STEPS: dict[str, Callable[[Runtime], list[str]]] = {"read": read, "erase": erase, "see": see}


def tell(home: Path, ending: str, reserve: str) -> list[str]:
    """Tell the story; return what was wrong."""
    _process(home, ending, reserve, "leave")
    if reserve == "none":
        for path in home.rglob(RESERVE):
            path.unlink()
    fill(home)
    return [line for name in STEPS for line in _process(home, ending, reserve, name)]


def _process(home: Path, *words: str) -> list[str]:
    command = [sys.executable, "-m", "replay.drills.fresh_process", str(home), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"{words[-1]}: {line}" for line in (done.stdout + done.stderr[-500:]).splitlines()]


def main(place: str, ending: str, reserve: str, step: str | None = None) -> None:
    """Tell the story, or take one step of it."""
    home, wrong = Path(place), []
    if step is None:
        wrong = tell(home, ending, reserve)
    elif step == "leave":
        leave(home, ending)
    else:
        try:
            with opened(home) as runtime:
                wrong = STEPS[step](runtime)
        except MunimentError as refused:
            wrong = [str(refused)]
    for line in wrong:
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
