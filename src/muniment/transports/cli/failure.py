"""How a command ends that did not succeed: one sentence for a person, one document for a machine, one exit code.

| exit code | error of kind |
|---|---|
| 2 | invalid: the command line or the request |
| 3 | denied: right, key or confirmation is missing |
| 4 | missing: no such store, space or file |
| 5 | conflict: the store says otherwise |
| 6 | corrupt: the store or the evidence does not hold |
| 7 | unavailable: try again, or see to the disk |
| 8 | exhausted: a limit, or the disk is full |

0 is success, 1 a demo or a replay whose expectations did not hold, 130 an interrupt, 141 a pipe that was closed. With
`--json` the error is the document on standard output, `{"error": {...}}`; without it, a sentence on standard error.
Neither quotes what was typed or what is stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from muniment.errors import InvalidInput, Kind, MunimentError

EXIT_CODES: dict[Kind, int] = {
    Kind.INVALID: 2,
    Kind.DENIED: 3,
    Kind.MISSING: 4,
    Kind.CONFLICT: 5,
    Kind.CORRUPT: 6,
    Kind.UNAVAILABLE: 7,
    Kind.EXHAUSTED: 8,
}
INTERRUPTED, PIPE_CLOSED = 130, 141
# problem of an error, or its code when it names none -> what a person may do about it on the command line
HINTS: dict[str, str] = {
    "exists": "--dry-run tells what would be lost, --replace says that it is meant.",
    "behind_pin": "--dry-run tells what would be lost, --replace says that it is meant.",
    "not_empty": "--mode restore replaces what is here.",
    "unknown_format": "--format says which it is; then each line that is refused is told.",
    "nobody_to_ask": "--yes answers the question.",
    "store.read_only": "Reading takes a lock beside the log, too: copy the store to where it can be written.",
    "store.missing": "--store and --space say which one is meant. The first commit or import makes it.",
}


class Misfit(click.BadParameter):
    """What was typed is not of the type of its field: where, why, and what is wanted; never what was typed."""

    def __init__(self, at: str | None, problem: str, wanted: str) -> None:
        super().__init__(wanted)
        self.at = at
        self.problem = problem


def tell_failure(error: MunimentError, *, as_json: bool, hint: str = "") -> int:
    """Say why a command did not succeed; return its exit code."""
    if as_json:
        sys.stdout.write(json.dumps({"error": error.report()}) + "\n")
    else:
        sys.stderr.write(f"muniment: {error}\n" + (f"{hint}\n" if hint else ""))
    return EXIT_CODES[error.kind]


def misuse(error: click.UsageError) -> tuple[InvalidInput, str]:
    """Return the error for a command line that is not understood, and a hint in words of our own."""
    where = error.ctx.command_path if error.ctx is not None else "muniment"
    hint = f"'{where} --help' tells what there is."
    if isinstance(error, click.NoSuchOption):
        return InvalidInput(at="option", problem="unknown_word"), _offered(error.possibilities) + hint
    if isinstance(error, Misfit):
        return InvalidInput(at=error.at, problem=error.problem), error.message
    if isinstance(error, click.BadOptionUsage):
        return InvalidInput(at=error.option_name.lstrip("-").replace("-", "_"), problem="value_misplaced"), hint
    is_group = error.ctx is not None and isinstance(error.ctx.command, click.Group)
    return InvalidInput(at="command" if is_group else "arguments", problem="unknown_word"), hint


def _offered(possibilities: Sequence[str] | None) -> str:
    return f"Did you mean {' or '.join(sorted(possibilities))}? " if possibilities else ""
