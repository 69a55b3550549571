"""The door: which store and space a call means, and how they are opened for an operation.

The options of the door stand wherever a person looks for them: before the group, before the verb, or behind it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from muniment.kernel.sources import Sources
    from muniment.runtime.operation import Operation
    from muniment.runtime.runtime import Runtime

# option of the door -> what it says in the help
OPTIONS: dict[str, str] = {
    "store": "Directory of the store. Default: MUNIMENT_STORE, or the user's data directory.",
    "space": "Space in the store. Default: MUNIMENT_SPACE, or 'default'.",
    "keys": "Where the root key is: file:PATH, env:NAME, passphrase:, keyring:SERVICE/NAME. Never the key itself.",
}
SHARED = frozenset(OPTIONS)


class Door:
    """What the options of the door say so far. `sources` are those of the system, except for fixtures."""

    def __init__(self, sources: Sources | None = None) -> None:
        self.sources = sources
        self.as_json = False
        self.named: dict[str, str] = {}

    @contextmanager
    def opened(self, operation: Operation) -> Iterator[Runtime]:
        """Open what an operation needs: with keys, without, or nothing yet. Only what appends may make a store."""
        # The database and the ciphers are loaded here, when it is certain that they are needed.
        from muniment.governance.access import Effect  # noqa: PLC0415
        from muniment.kernel.sources import system_sources  # noqa: PLC0415
        from muniment.runtime.open import inspect, open  # noqa: A004, PLC0415
        from muniment.runtime.options import Options  # noqa: PLC0415
        from muniment.transports.cli.progress import shown  # noqa: PLC0415

        with shown() as progress:
            options = Options(
                create=operation.effect is Effect.APPEND, sources=self.sources or system_sources(), progress=progress
            )
            store = self.named.get("store")
            if operation.keyless:
                runtime = inspect(store, options=options)
            else:
                runtime = open(store, keys=self.named.get("keys"), space=self.named.get("space"), options=options)
            with runtime:
                yield runtime

    def may_ask(self) -> bool:
        """Tell whether there is somebody to ask."""
        return sys.stdin is not None and sys.stdin.isatty()


def door_options() -> list[click.Parameter]:
    """Return the options of the door, each keeping what it is given for the operation that will run."""
    options: list[click.Parameter] = [
        click.Option([f"--{name}"], metavar="TEXT", help=told, expose_value=False, callback=_keep(name))
        for name, told in OPTIONS.items()
    ]
    as_json = click.Option(
        ["--json"], is_flag=True, help="One JSON document on standard output.", expose_value=False, callback=_keep_json
    )
    return [*options, as_json]


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.ensure_object(Door).named[name] = value

    return keep


def _keep_json(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
    door = ctx.ensure_object(Door)
    door.as_json = door.as_json or bool(value)
