"""`muniment` and `python -m muniment`. Every foreseen ending has an exit code (see `failure`)."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import shell_complete

from muniment.errors import FileUnavailable, MunimentError
from muniment.transports.cli.app import tree
from muniment.transports.cli.failure import INTERRUPTED, PIPE_CLOSED, hint_of, misuse, tell_failure
from muniment.transports.cli.store_options import StoreOptions

NAME = "muniment"
OUTPUT_LOST = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
)  # told nobody, or only a part
COMPLETION = "_MUNIMENT_COMPLETE"  # set by the script of `muniment completion`


def main(arguments: Sequence[str] | None = None, door: StoreOptions | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    door = door or StoreOptions()
    _open_what_was_closed()
    try:
        code = _run(given, door)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more; what is still in the buffer goes nowhere, quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as fault:
        if fault.errno not in OUTPUT_LOST:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return tell_failure(FileUnavailable(at="output", problem="not_accessible"), as_json=False)
    return code


def _open_what_was_closed() -> None:
    """Open standard streams that the caller closed, before a file of the store gets their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - as long as the process lives
            setattr(sys, name, stream)


def _run(given: list[str], door: StoreOptions) -> int:
    root = tree()
    instruction = os.environ.get(COMPLETION)
    if instruction:
        return shell_complete(root, {}, NAME, COMPLETION, instruction)
    try:
        # not `root.main`, which ends the process by itself when a pipe is closed
        with root.make_context(NAME, given, obj=door) as ctx:
            outcome = root.invoke(ctx)
    except click.exceptions.Exit as wanted:
        return wanted.exit_code
    except MunimentError as error:
        return tell_failure(error, as_json=door.as_json, hint=hint_of(error, door.named))
    except click.UsageError as usage:
        misused, hint = misuse(usage)
        return tell_failure(misused, as_json=door.as_json or "--json" in given, hint=hint)
    except (click.Abort, KeyboardInterrupt) as interrupt:
        for note in getattr(interrupt, "__notes__", ()):  # how far it came
            sys.stderr.write(f"\nmuniment: {note}\n")
        return INTERRUPTED
    return outcome if isinstance(outcome, int) else 0


if __name__ == "__main__":
    sys.exit(main())
