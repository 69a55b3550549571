"""`muniment mcp`: the tools for a desktop client or an editor that starts this program and speaks MCP with it."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from importlib.util import find_spec

import click

from muniment.errors import ExtraMissing
from muniment.runtime.catalogue import catalogue
from muniment.runtime.settings import set_client_key
from muniment.transports.cli.fields import ChoiceParam
from muniment.transports.cli.opening import opened_to_serve
from muniment.transports.cli.output import write_json
from muniment.transports.cli.store_options import StoreOptions, door_options
from muniment.transports.mcp.editors import CLIENTS, RULE_FILES, RULES, config_of

HELP = """Serve this store over MCP, on standard input and output.

Desktop clients and editors start this command themselves: --print-config prints what to put into their configuration.
With a client key in MUNIMENT_CLIENT_KEY the tools do what that key allows, else what you may do yourself."""


def mcp_command() -> click.Command:
    """Return the command `mcp`."""
    return click.Command(
        "mcp",
        callback=_run,
        params=[
            click.Option(["--all", "every"], is_flag=True, help="Offer every operation as a tool."),
            click.Option(
                ["--print-config"],
                type=ChoiceParam(list(CLIENTS)),
                help="Print the configuration of a client that starts this server.",
            ),
            click.Option(
                ["--print-rules"],
                type=ChoiceParam(list(RULE_FILES)),
                help="Print rules for an editor: how a model should use the tools.",
            ),
            *(option for option in door_options() if option.name != "json"),
        ],
        help=HELP,
        short_help="Serve this store over MCP, for desktop clients and editors.",
    )


@click.pass_context
def _run(ctx: click.Context, every: bool, print_config: str | None, print_rules: str | None) -> int:
    door = ctx.ensure_object(StoreOptions)
    if print_config is not None:
        typed = [word for name, value in door.named.items() for word in (f"--{name}", value)]
        write_json(config_of(print_config, [sys.executable, "-m", "muniment", "mcp", *typed, *["--all"] * every]))
        return 0
    if print_rules is not None:
        click.echo(RULES, nl=False)
        click.echo(f"\nThis belongs into {RULE_FILES[print_rules]}.", err=True)
        return 0
    if not find_spec("mcp"):
        raise ExtraMissing(at="mcp", problem="needs_mcp")
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr)
    server = import_module("muniment.transports.mcp.mcp_server")  # only here: whoever does not serve does not load it
    key = set_client_key()
    with opened_to_serve(door) as runtime:
        caller = runtime if key is None else runtime.as_client(runtime.client_of(key))
        server.serve_stdio(caller, catalogue(), every=every)
    return 0
