"""What drills found at the size of a release, kept: one row for each drill, in `drills.json`, told in `DRILLS.md`.

A row is put at once when its drill has ended, and takes the place of the former row of that drill alone. So a release
can be run in pieces, by several processes, and go on where it was interrupted. The report is written from the rows.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from replay.drills.outcome import Outcome
from replay.drills.table import DRILLS, Drill
from replay.machine import machine

SCRATCH = Path("/dev/shm")  # noqa: S108 - what is described, not written to
OF_A_MOMENT = ("busy with", "commit")  # facts that rows have of their own, or need not

HEAD = """\
# Drills

Written by `python -m replay drills --release`, a row whenever a drill has ended; the same for machines is in
[drills.json](drills.json). What each drill does and what must hold is said in [README.md](README.md).

- A row is of the day and the commit that stand in it; `-dirty` is a commit with changes that were not committed.
- A row with a share was run smaller than a release is held to: the figure beside it is the one that is owed.
- Seconds are those of a drill that may have shared the machine with others. They are no figures of speed.
- Cuts, flips and faults are made on copies in memory: what a real disk does when its power goes is modelled after what
  SQLite assumes of disks, not measured.
- `race`, `kill9` and `writers` depend on the moments that the machine gives them: a seed repeats their deeds, not the
  order in which they met.
"""

COLUMNS = (
    "drill",
    "",
    "tried",
    "figure of a release",
    "what was tried, and what was found",
    "control",
    "date",
    "commit",
    "seed",
    "s",
)


class Result(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One drill that ran at the size of a release, or at a share of it. `number` 0 is everything that there is."""

    name: str
    number: int
    figure: int
    share: float
    seed: int
    seconds: float
    commit: str
    date: str
    machine: dict[str, str]
    said: str
    passed: bool
    control: str

    def stands_for(self, commit: str, seed: int, share: float) -> bool:
        """Tell whether there is no need to run it again."""
        return self.passed and self.commit == commit and self.seed == seed and self.share >= share


class Results:
    """The rows in a file, and the report beside it."""

    def __init__(self, file: Path, report: Path) -> None:
        self._file = file
        self._report = report

    def rows(self) -> dict[str, Result]:
        """Return the row of each drill that has one."""
        if not self._file.exists():
            return {}
        return {one.name: one for one in msgspec.json.decode(self._file.read_bytes(), type=list[Result])}

    def put(self, result: Result) -> None:
        """Put a row in the place of the former one; write the report anew."""
        with _alone(self._file.parent):
            rows = self.rows() | {result.name: result}
            kept = [rows[name] for name in sorted(rows, key=_place)]
            _write(self._file, msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
            _write(self._report, markdown(rows).encode())


def facts() -> dict[str, str]:
    """Return what a reader must know of this machine."""
    return {name: value for name, value in machine(SCRATCH).items() if name not in OF_A_MOMENT}


def said_by(outcome: Outcome) -> str:
    """Return what was tried, and what failed."""
    return f"{outcome.tried}; {outcome.found}"


def markdown(rows: dict[str, Result]) -> str:
    """Return the report."""
    lines = [HEAD]
    for told, names in _machines(rows).items():
        lines += [f"{', '.join(f'`{name}`' for name in names)} on:", "", *(f"- {fact}" for fact in told), ""]
    lines += [
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
        *(_row(name, drill, rows.get(name)) for name, drill in DRILLS.items()),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, drill: Drill, row: Result | None) -> str:
    if row is None:
        cells = [f"`{name}`", "not run", "", _figure(drill.release, drill)]
        cells += [""] * (len(COLUMNS) - len(cells))
    else:
        share = "" if row.share == 1.0 else f" ({row.share:.3g} of it)"
        cells = [
            f"`{name}`",
            "passed" if row.passed else "**FAILED**",
            _figure(row.number, drill) + share,
            _figure(row.figure, drill),
            row.said,
            row.control,
            row.date,
            f"`{row.commit}`",
            str(row.seed),
            f"{row.seconds:.0f}",
        ]
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def _figure(number: int, drill: Drill) -> str:
    return f"{number:,} {drill.unit}" if number else f"all {drill.unit}"


def _machines(rows: dict[str, Result]) -> dict[tuple[str, ...], list[str]]:
    """Return which drills ran on which machine."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(rows, key=_place):
        told = tuple(f"{fact}: {value}" for fact, value in rows[name].machine.items())
        found.setdefault(told, []).append(name)
    return found


def _place(name: str) -> int:
    return list(DRILLS).index(name) if name in DRILLS else len(DRILLS)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep other processes, and other threads, from putting rows meanwhile."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, data: bytes) -> None:
    """Write a file so that whoever reads it, or interrupts, finds it whole."""
    waiting = path.with_name(f".{path.name}.new")
    waiting.write_bytes(data)
    waiting.replace(path)
