"""The options that say which store and space a call means; they work before the group, before the verb and after it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from muniment.transports.cli.shell_paths import directory_completion

if TYPE_CHECKING:
    from muniment.kernel.sources import Sources

# option -> its help
OPTIONS: dict[str, str] = {
    "store": "Directory of the store. Default: MUNIMENT_STORE, or the user's data directory.",
    "space": "Space in the store. Default: MUNIMENT_SPACE, or 'default'.",
    "keys": "Where the root key is: PATH, env:NAME, passphrase:, keyring:SERVICE/NAME. Never the key itself.",
    "profile": "Kind of deployment: embedded, desktop, server or developer. Default: MUNIMENT_PROFILE, or none.",
}
PIN_HELP = (
    "Directory that the head is pinned in; repeat it for several. Default: MUNIMENT_PINS, or the state directory."
)
SHARED = frozenset({*OPTIONS, "pin"})


def _profiles(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from muniment.governance.profiles import Profile  # noqa: PLC0415 - loaded when a shell asks

    return [CompletionItem(word) for word in Profile if word.startswith(incomplete)]


# option -> how a shell completes its value
COMPLETED = {"store": directory_completion, "profile": _profiles}


class StoreOptions:
    """The values of the options so far. `sources` are those of the system, except in tests."""

    def __init__(self, sources: Sources | None = None) -> None:
        self.sources = sources
        self.as_json = False
        self.named: dict[str, str] = {}
        self.pins: list[str] = []

    def may_ask(self) -> bool:
        """Return whether there is a terminal to ask."""
        return sys.stdin is not None and sys.stdin.isatty()


def door_options() -> list[click.Parameter]:
    """Return the options; each keeps its value for the operation that will run."""
    options: list[click.Parameter] = [
        click.Option(
            [f"--{name}"],
            metavar="TEXT",
            help=text,
            expose_value=False,
            callback=_keep(name),
            shell_complete=COMPLETED.get(name),
        )
        for name, text in OPTIONS.items()
    ]
    pins = click.Option(
        ["--pin"],
        metavar="TEXT",
        multiple=True,
        help=PIN_HELP,
        expose_value=False,
        callback=_keep_pins,
        shell_complete=directory_completion,
    )
    as_json = click.Option(
        ["--json"], is_flag=True, help="One JSON document on standard output.", expose_value=False, callback=_keep_json
    )
    return [*options, pins, as_json]


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.ensure_object(StoreOptions).named[name] = value

    return keep


def _keep_pins(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    ctx.ensure_object(StoreOptions).pins.extend(value)


def _keep_json(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
    door = ctx.ensure_object(StoreOptions)
    door.as_json = door.as_json or bool(value)
