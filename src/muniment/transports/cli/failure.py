"""How a failed command ends: one sentence for a person, one document for a machine, one exit code.

| exit code | error of kind |
|---|---|
| 2 | invalid: the command line or the request |
| 3 | denied: missing right, key or confirmation |
| 4 | missing: no such store, space or file |
| 5 | conflict: contradicts what the store holds |
| 6 | corrupt: the store or the evidence failed a check |
| 7 | unavailable: try again, or fix the disk or the key |
| 8 | exhausted: over a limit, or the disk is full |

0 is success, 1 a demo or a replay whose expectations failed, 130 an interrupt, 141 a closed pipe. With `--json` the
error is the document on standard output, `{"error": {...}}`; without it, a sentence on standard error. Neither quotes
what was typed or what is stored; only a hint on standard error may repeat the path of the store or of the key file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

import click

from muniment.errors import InvalidInput, Kind, MunimentError
from muniment.transports.cli.plain_page import on_one_line

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
# problem of an error, or its code when it has none -> what to do about it on the command line
HINTS: dict[str, str] = {
    "not_empty": "Use --mode restore to replace what the space holds.",
    "unknown_format": "Name the format with --format; then each refused line is listed.",
    "nobody_to_ask": "Confirm with --yes.",
    "store.read_only": "Reading needs a lock next to the log, too.",
}


def hint_of(error: MunimentError, named: Mapping[str, str]) -> str:
    """Return what to do about an error, with the path of the store or key file that the options name."""
    if error.code in {"store.missing", "key.unavailable"}:
        from muniment.runtime.settings import settings  # noqa: PLC0415 - only a failed call needs it

        defaults = settings()
        if error.code == "store.missing":
            path = on_one_line(named.get("store") or str(defaults.store))
            return f"No store at {path}, or no such space in it. The first commit or import creates both."
        scheme, _, path = (named.get("keys") or defaults.keys).partition(":")
        if scheme == "file":
            return f"Cannot read the root key from {on_one_line(path)}."
    return HINTS.get(error.problem or error.code, "")


class Misfit(click.BadParameter):
    """A value that does not fit its field: where, why, and what would fit; never what was typed."""

    def __init__(self, at: str | None, problem: str, wanted: str) -> None:
        super().__init__(wanted)
        self.at = at
        self.problem = problem


def tell_failure(error: MunimentError, *, as_json: bool, hint: str = "") -> int:
    """Write why a command failed; return its exit code."""
    if as_json:
        sys.stdout.write(json.dumps({"error": error.report()}) + "\n")
    else:
        sys.stderr.write(f"muniment: {error}\n" + (f"{hint}\n" if hint else ""))
    return EXIT_CODES[error.kind]


def misuse(error: click.UsageError) -> tuple[InvalidInput, str]:
    """Return the error for a command line that cannot be parsed, and a hint that quotes nothing that was typed."""
    where = error.ctx.command_path if error.ctx is not None else "muniment"
    hint = f"Run '{where} --help' for the list."
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
