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

0 is success, 130 an interrupt, 141 a closed pipe. 1 is a verdict: the command ran, and what it checked is not sound,
not complete or not as expected (a check of health, an import with refused lines, a replay), or something that it was
asked for was not done (a hold keeps turns, a candidate is refused); the report says what.

With `--json` the error is the document on standard output, `{"error": {...}}`, as `MunimentError.report` gives it in
Python; without it, a sentence on standard error. Neither quotes what was typed or what is stored; only a hint on
standard error may repeat the path of a file, of the store or of the pin, or name conversations that the caller may
list.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click

from muniment.errors import InvalidInput, Kind, MunimentError, StatementInvalid, UnknownConversation, UnknownPlace

EXIT_CODES: dict[Kind, int] = {
    Kind.INVALID: 2,
    Kind.DENIED: 3,
    Kind.MISSING: 4,
    Kind.CONFLICT: 5,
    Kind.CORRUPT: 6,
    Kind.UNAVAILABLE: 7,
    Kind.EXHAUSTED: 8,
}
VERDICT, INTERRUPTED, PIPE_CLOSED = 1, 130, 141
# problem of an error, or its code when it has none -> what to do about it on the command line
HINTS: dict[str, str] = {
    "not_empty": "Use --mode restore to replace what the space holds.",
    "unknown_format": "Name the format with --format; then each refused line is listed.",
    "unknown_tables": "It is the database of another program: `muniment import --help` lists what can be imported.",
    "nobody_to_ask": "Confirm with --yes.",
    "log_lost": "Restore a backup: muniment spaces restore BACKUP --replace",
    "waiting_writes": "Opening the copy takes them in.",
    "older_version": "Any command that may write brings it up to date.",
}


# what an unknown place is -> the command that lists those that there are
LISTS: dict[str, str] = {
    "item": "memory list",
    "proposal": "notebook proposals",
    "name": "skills list",
    "registry": "tools list",
    "turn": "transcripts replay",
    "message": "transcripts replay",
}
# code of an error that knows a file or directory -> what to do about it
PATH_HINTS: dict[str, str] = {
    "file.unavailable": "The file is {path}.",
    "store.missing": "No store at {path}, or no such space in it. The first commit or import creates both.",
    "store.former_life": "To keep this life of the log, too, delete the pin and open the store again: rm {quoted}",
    "store.rolled_back": "To give up what is missing, delete the pin and open the store again: rm {quoted}",
    "key.unavailable": "Cannot read the root key from {path}.",
    "key.exposed": "Make it private: chmod 600 {quoted}",
    "key.invalid": "The root key is expected in {path}.",
    "key.wrong": "The root key was read from {path}.",
}


def hint_of(error: MunimentError, named: Mapping[str, str]) -> str:
    """Return what to do about an error, with the path that it is about.

    For a conversation that is not there: names that are alike, of those that the caller may list.
    """
    import shlex  # noqa: PLC0415 - only a failed call needs these

    from muniment.transports.cli.plain_page import on_one_line  # noqa: PLC0415 - as above

    if isinstance(error, UnknownConversation) and error.suggestions:
        from muniment.events.identity import spelled  # noqa: PLC0415 - only a failed call needs it

        names = [on_one_line(spelled(key.channel, key.conversation)) for key in error.suggestions]
        return f"Did you mean {' or '.join(names)}?"
    path = error.path
    if path is None and error.code == "store.missing":
        from muniment.runtime.settings import settings  # noqa: PLC0415 - only a failed call needs it

        path = named.get("store") or str(settings().store)
    if path is not None and error.code in PATH_HINTS:
        told = on_one_line(path)
        return PATH_HINTS[error.code].format(path=told, quoted=shlex.quote(told))
    if isinstance(error, StatementInvalid):
        return on_one_line(error.explanation)
    if isinstance(error, UnknownPlace) and error.at in LISTS:
        return f"`muniment {LISTS[error.at]}` shows those that there are."
    return HINTS.get(error.problem or error.code, "")


class Misfit(click.BadParameter):
    """A word that does not fit its place: where, why, and what would fit; never what was typed.

    `choices` are all words that fit, `meant` those that were probably meant.
    """

    def __init__(
        self,
        at: str | None,
        problem: str,
        wanted: str = "",
        *,
        choices: Sequence[str] = (),
        meant: Sequence[str] = (),
        ctx: click.Context | None = None,
    ) -> None:
        super().__init__(wanted, ctx)
        self.at = at
        self.problem = problem
        self.choices = choices
        self.meant = meant


def tell_failure(error: MunimentError, *, as_json: bool, hint: str = "") -> int:
    """Write why a command failed; return its exit code."""
    if as_json:
        import json  # noqa: PLC0415 - only a failed call needs it

        sys.stdout.write(json.dumps({"error": error.report()}) + "\n")
    else:
        sys.stderr.write(f"muniment: {error}\n" + (f"{hint}\n" if hint else ""))
    return EXIT_CODES[error.kind]


def misuse(error: click.UsageError) -> tuple[InvalidInput, str]:
    """Return the error for a command line that cannot be parsed, and a hint that quotes nothing that was typed."""
    where = error.ctx.command_path if error.ctx is not None else "muniment"
    hint = f"Run '{where} --help'."
    if isinstance(error, click.NoSuchOption):
        return InvalidInput(at="option", problem="unknown_option", choices=sorted(error.possibilities or ())), hint
    if isinstance(error, Misfit):
        wanted = f"{_offered(error.meant)}{error.message or hint}"
        return InvalidInput(at=error.at, problem=error.problem, choices=error.choices), wanted
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return InvalidInput(at=error.param.name, problem="missing_field"), hint
    if isinstance(error, click.BadOptionUsage):
        return InvalidInput(at=error.option_name.lstrip("-").replace("-", "_"), problem="value_misplaced"), hint
    return InvalidInput(at="arguments", problem="unknown_word"), hint


def _offered(meant: Sequence[str]) -> str:
    return f"Did you mean {' or '.join(meant)}? " if meant else ""
