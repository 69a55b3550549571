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
OF_A_MOMENT = ("load", "commit")  # facts that rows have of their own, or need not

HEAD = """\
# Drills

A drill damages or overloads a store on purpose and checks what must still hold: acknowledged turns exist, edits are
detected, and hidden or erased content does not come back. Each drill also runs a *control*: the same damage without the
protection. The drill must detect the failure there.
"""

NOTES = """\
## How to read the results

- [README.md](README.md) explains each drill. `python -m replay drills --release` writes a row when a drill ends;
  [drills.json](drills.json) contains the same data.
- Each row has its own date and commit. `-dirty` means that the commit had uncommitted changes.
- A row with a share was run in a smaller size. The next column is the size that a release requires.
- Seconds are not a benchmark, because drills can share the machine.
- Cuts, flips and faults happen on copies in memory. The model of a disk during a power cut follows the assumptions of
  SQLite; no real disk was measured.
- `race`, `kill9`, `served_kill9` and `writers` depend on timing. A seed repeats their actions, but not their order.
"""

HEADLINES = ("powercut", "kill9", "edits", "wrongkey", "erase", "hostile")  # the sizes that say something by themselves
COLUMNS = (
    "drill",
    "",
    "tried",
    "required for a release",
    "what was tried, and what failed",
    "control, which must fail",
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
        """Put a row in the place of the former one; write the report again."""
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
    lines = [HEAD, *_summary(rows), "", NOTES, "## Machine", ""]
    for told, names in _machines(rows).items():
        which = "All drills" if len(names) == len(DRILLS) else ", ".join(f"`{name}`" for name in names)
        lines += [f"{which} ran on:", "", *(f"- {fact}" for fact in told), ""]
    lines += [
        "## Results",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
        *(_row(name, drill, rows.get(name)) for name, drill in DRILLS.items()),
    ]
    return "\n".join(lines) + "\n"


def _summary(rows: dict[str, Result]) -> Iterator[str]:
    """Yield what a reader in a hurry needs: how many drills passed, in which size, and the sizes that say most."""
    ran = [rows[name] for name in DRILLS if name in rows]
    lists = {
        "Failed": [row.name for row in ran if not row.passed],
        "Not run": [name for name in DRILLS if name not in rows],
        "Smaller than a release requires": [f"{row.name} ({row.share:.3g} of it)" for row in ran if row.share != 1.0],
    }
    tried = [row for row in ran if row.passed and row.number and row.name in HEADLINES]
    yield f"- {sum(row.passed for row in ran)} of {len(DRILLS)} drills passed, and also detected their controls."
    yield from (f"- {name}: {', '.join(names) or 'none'}." for name, names in lists.items())
    if tried:
        yield f"- The drills that passed include {', '.join(_figure(row.number, DRILLS[row.name]) for row in tried)}."


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
