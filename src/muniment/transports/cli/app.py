"""The tree of commands: groups and verbs from the catalogue, loaded only where a call needs them.

`ALIASES` gives a verb a name at the top; `BESIDE` lists the commands that are no operations of the catalogue. Commands
are spelt with dashes; underscores are accepted, too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from muniment.declaration.operation import Operation

from muniment.errors import Kind
from muniment.transports.cli.command_group import CommandGroup
from muniment.transports.cli.failure import EXIT_CODES
from muniment.transports.cli.failure import __doc__ as endings
from muniment.transports.cli.store_options import door_options
from muniment.version import __version__

EXAMPLES = """\b
Examples:
  muniment demo
  muniment import chat.jsonl --subject ada
  muniment transcripts search "where is my parcel"
  muniment transcripts replay parcel-7
  muniment doctor
  muniment guide start"""
# name at the top -> group and verb
ALIASES: dict[str, tuple[str, str]] = {
    "import": ("spaces", "import"),
    "sql": ("tables", "query"),
    "explain": ("evidence", "explain"),
    "doctor": ("system", "doctor"),
}
# name at the top -> the module and the function that makes the command
BESIDE: dict[str, tuple[str, str]] = {
    "demo": ("muniment.transports.cli.demo.play", "demo_command"),
    "replay": ("muniment.transports.cli.replay_command", "replay_command"),
    "serve": ("muniment.transports.cli.serve_command", "serve_command"),
    "mcp": ("muniment.transports.cli.mcp_command", "mcp_command"),
    "guide": ("muniment.transports.cli.guide", "guide_command"),
    "completion": ("muniment.transports.cli.completion", "completion_command"),
}


def _exit_codes() -> str:
    """Return the exit codes for the help, from the table that documents them."""
    rows = [line.strip("| ").split(" | ") for line in (endings or "").splitlines() if line.startswith("| ")]
    failures = "; ".join(f"{code} {why}" for code, why in rows[1:])
    held = "1 a check found something wrong, or not all was done (a verdict, not an error)"
    return f"Exit codes: 0 success; {held}; {failures}; 130 interrupted; 141 pipe closed."


class NounGroup(CommandGroup):
    """The verbs of a noun group."""

    def elsewhere(self) -> dict[str, Sequence[str]]:
        """Return the verbs of all groups."""
        return _called()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the catalogue."""
        del ctx
        return [each.name.replace("_", "-") for each in _operations(self.name or "")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb."""
        del ctx
        return _verb(self.name or "", cmd_name.replace("-", "_"), cmd_name.replace("_", "-"))


class Tree(CommandGroup):
    """All noun groups, the aliases, and the commands beside them."""

    def elsewhere(self) -> dict[str, Sequence[str]]:
        """Return the verbs of all groups."""
        return _called()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the groups in the order of the catalogue, then the commands beside them."""
        del ctx
        return [*_groups(), *ALIASES, *BESIDE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a group or a command without loading the others."""
        del ctx
        if cmd_name in BESIDE:
            module, maker = BESIDE[cmd_name]
            beside: click.Command = getattr(import_module(module), maker)()
            return beside
        if cmd_name in ALIASES:
            return _verb(*ALIASES[cmd_name], cmd_name)
        if cmd_name not in _groups():
            return None
        doc = import_module("muniment.runtime.catalogue").group_class(cmd_name).__doc__
        return NounGroup(
            cmd_name,
            help=doc,
            short_help=(doc or "").partition("\n")[0],
            params=door_options(),
            callback=_alone,
            invoke_without_command=True,
            no_args_is_help=False,
        )


@click.pass_context
def _alone(ctx: click.Context) -> None:
    """Show the help of a group that was called without a command, and end as for an invalid request."""
    if ctx.invoked_subcommand is None:
        sys.stderr.write(ctx.get_help() + "\n")
        ctx.exit(EXIT_CODES[Kind.INVALID])


def _groups() -> list[str]:
    return list(import_module("muniment.runtime.catalogue").GROUPS)


def _operations(group: str) -> list[Operation]:
    catalogue = import_module("muniment.runtime.catalogue")
    return list(import_module("muniment.declaration.operation").operations_of(catalogue.group_class(group)))


def _called() -> dict[str, Sequence[str]]:
    """Return every verb, and how it is called from the top: with each of its groups."""
    called: dict[str, list[str]] = {}
    for group in _groups():
        for operation in _operations(group):
            verb = operation.name.replace("_", "-")
            called.setdefault(verb, []).append(f"{group} {verb}")
    return {**called}


@functools.cache  # it is asked for more than once in a call
def _verb(group: str, verb: str, name: str) -> click.Command | None:
    for operation in _operations(group):
        if operation.name == verb:
            command: click.Command = import_module("muniment.transports.cli.command").command_of(operation, name)
            return command
    return None


def tree() -> Tree:
    """Return the command `muniment`."""
    return Tree(
        "muniment",
        help="Store agent conversations as encrypted, verifiable evidence, and query them.",
        epilog=f"{EXAMPLES}\n\n{_exit_codes()}",
        params=[
            *door_options(),
            click.Option(
                ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_tell_version,
                help="Show the version and exit.",
            ),
        ],
        callback=_alone,
        invoke_without_command=True,
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )  # fmt: skip


def _tell_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"muniment {__version__}")
        ctx.exit()
