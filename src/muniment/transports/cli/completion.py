"""`muniment completion`: the script that teaches a shell to complete groups, commands, options, choices and files."""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import get_completion_class

from muniment.errors import InvalidInput
from muniment.transports.cli.fields import ChoiceParam

SHELLS = ("bash", "zsh", "fish")
PROGRAM, VARIABLE = "muniment", "_MUNIMENT_COMPLETE"  # the command, and the variable that the script asks it with
HELP = """Print the script that completes commands, options and choices in a shell.

Without SHELL, for the one that you use. Examples:

\b
  eval "$(muniment completion)"          in this shell; in ~/.bashrc or ~/.zshrc: always
  muniment completion fish | source      the same in fish"""


def completion_command() -> click.Command:
    """Return the command `completion`."""
    shell = click.Argument(["shell"], required=False, type=ChoiceParam(list(SHELLS)), metavar="[SHELL]")
    return click.Command(
        "completion",
        callback=_run,
        params=[shell],
        help=HELP,
        short_help="Print the script that completes commands in a shell.",
    )


def _run(shell: str | None) -> None:
    used = shell or os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119 - text, not a path of ours
    if used not in SHELLS:
        raise InvalidInput(at="shell", problem="missing_field", choices=SHELLS)
    made = get_completion_class(used)
    assert made is not None, "click knows each of them"
    script = made(click.Group(PROGRAM), {}, PROGRAM, VARIABLE)
    sys.stdout.write(script.source_template % script.source_vars() + "\n")
