"""`muniment serve`: the operations over HTTP, for programs that have a client key."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from muniment.errors import ExtraMissing, InvalidInput
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.client_scope import ClientScope
from muniment.kernel.sources import system_sources
from muniment.runtime.open import MEMORY, open  # noqa: A004 - muniment.open()
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import settings
from muniment.transports.cli.opening import opened_to_serve
from muniment.transports.cli.store_options import StoreOptions, door_options

HELP = """Serve this store over HTTP, to programs that have a client key.

Operations are at /v1/GROUP/VERB, as /openapi.json describes; those that take a path on this machine are not served. A
client key (`muniment clients create NAME`) is valid for one space, and allows what its scope names. The server listens
on this machine only; for other machines use --allow-remote, with TLS or behind a proxy."""
NEEDED = ("starlette", "uvicorn")
NO_CLIENTS = "This space has no clients yet. Create one: muniment clients create NAME"
SPACES_MAX = 64
METRICS_PORT = 8719
WORKERS_MAX = 64
TYPED = "passphrase:"  # the source of a root key that somebody types
KEY_BYTES = 32
TALK = "parcel-7"
DEMO = """A throw-away store with one conversation. Try in another terminal:

  curl -s {url}/health/ready
  curl -s -H 'Authorization: Bearer {key}' '{url}/v1/transcripts/search?query=parcel'
  curl -s -H 'Authorization: Bearer {key}' \\
    {url}/v1/transcripts/replay --json '{{"conversation": {{"conversation": "parcel-7"}}}}'
"""


def serve_command() -> click.Command:
    """Return the command `serve`."""
    return click.Command(
        "serve",
        callback=_run,
        params=[
            click.Option(["--host"], default="127.0.0.1", show_default=True, help="Address to listen on."),
            click.Option(["--port"], type=int, default=8718, show_default=True, help="Port; 0 takes a free one."),
            click.Option(["--allow-remote"], is_flag=True, help="Let other machines connect."),
            click.Option(["--tls-cert"], metavar="FILE", help="Certificate of the server and its chain (PEM)."),
            click.Option(["--tls-key"], metavar="FILE", help="Private key of the certificate (PEM)."),
            click.Option(["--behind-proxy"], is_flag=True, help="A proxy in front of the server ends TLS."),
            click.Option(
                ["--name", "names"],
                multiple=True,
                metavar="HOST",
                help="Name that clients call the server by, beside localhost; repeat it for several.",
            ),
            click.Option(
                ["--origin", "origins"],
                multiple=True,
                metavar="ORIGIN",
                help="Origin of web pages that may call the server; repeat it for several.",
            ),
            *token_options(),
            click.Option(
                ["--workers"],
                type=click.IntRange(min=1, max=WORKERS_MAX),
                default=1,
                show_default=True,
                help="Processes that serve the store together.",
            ),
            click.Option(
                ["--spaces-max"],
                type=click.IntRange(min=1),
                default=SPACES_MAX,
                show_default=True,
                help="Spaces that stay open while nobody uses them; others open when they are asked for.",
            ),
            click.Option(
                ["--metrics"],
                type=int,
                is_flag=False,
                flag_value=METRICS_PORT,
                metavar="[PORT]",
                help=f"Serve metrics for Prometheus, to this machine alone. Without a port: {METRICS_PORT}.",
            ),
            click.Option(["--demo"], is_flag=True, help="Serve a throw-away store with a small conversation."),
            *(option for option in door_options() if option.name != "json"),
        ],
        help=HELP,
        short_help="Serve this store over HTTP, to programs that have a client key.",
    )


def token_options() -> list[click.Option]:
    """Return the options that say whose tokens are taken."""
    return [
        click.Option(
            ["--issuer"],
            metavar="URL",
            help="Also accept tokens of this issuer (OpenID Connect); asks it for keys.",
        ),
        click.Option(["--audience"], metavar="NAME", help="Audience that tokens must be for: your server."),
        click.Option(["--jwks"], metavar="FILE", help="Public keys of the issuer; then it is not asked."),
        click.Option(
            ["--client-claim"],
            default="sub",
            show_default=True,
            metavar="NAME",
            help="Claim of a token that names the client.",
        ),
    ]


@click.pass_context
def _run(ctx: click.Context, /, *, demo: bool, workers: int, spaces_max: int, **given: Any) -> int:
    if not all(find_spec(name) for name in NEEDED):
        raise ExtraMissing(at="serve", problem="needs_http")
    serving, served = import_module("muniment.transports.http.serving"), import_module(f"{__package__}.served_store")
    door = ctx.ensure_object(StoreOptions)
    if workers > 1 and (demo or _is_of_one_process(door)):
        raise InvalidInput(at="workers", problem="one_process_only")
    if workers > 1 and given["metrics"] is not None:
        raise InvalidInput(at="metrics", problem="metrics_of_one_process")
    tokens = {name: given.pop(name) for name in ("issuer", "audience", "jwks", "client_claim")}
    told = served.ServeOrder(metrics_port=given.pop("metrics"), tokens=tokens)
    told.check()
    listener = serving.Listener(msgspec.convert(given, serving.ServeOptions))
    with open(MEMORY) if demo else opened_to_serve(door, spaces_max) as runtime:
        begun = partial(_tell_url, listener.url, runtime, demo=demo)
        if workers == 1:
            served.serve_store(listener, runtime, told, served.Rates(), begun)
            return 0
        begun()
    served.log_to_stderr()
    with TemporaryDirectory(prefix="muniment-") as directory:
        shared = served.SharedRates(path=Path(directory) / "rates.db", key=system_sources().entropy.take(KEY_BYTES))
        work = partial(served.work, listener, told, (door, spaces_max), shared)
        import_module("muniment.transports.http.workers").Workers(workers, work).run()
    return 0


def _is_of_one_process(door: StoreOptions) -> bool:
    """Tell whether no other process can open the store: it is in memory, or somebody types what its key is made of."""
    typed = (door.named.get("keys") or settings().keys) == TYPED
    return typed or str(door.named.get("store") or settings().store) == MEMORY


def _tell_url(url: str, runtime: Runtime, *, demo: bool) -> None:
    """Say where the server is, and how to begin."""
    click.echo(f"muniment serves {url}")
    if demo:
        click.echo(DEMO.format(url=url, key=_demo_key(runtime)))
    elif not runtime.clients.list_().clients:
        click.echo(NO_CLIENTS)
    sys.stdout.flush()


def _demo_key(runtime: Runtime) -> str:
    """Fill a store and return a key that reads it."""
    said = [
        Message(role=Role.USER, content="Where is my parcel?"),
        Message(role=Role.ASSISTANT, content="At the depot in Lyon.", speaker_id="desk", speaker_kind="agent"),
    ]
    runtime.transcripts.commit(
        Turn(turn=TurnId("t-1"), subject=SubjectId("ada"), conversation=ConversationId(TALK), messages=said)
    )
    return runtime.clients.create("demo", ClientScope()).key
