"""`muniment serve`: the operations over HTTP, for programs that have a client key."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click
import msgspec

from muniment.errors import ExtraMissing
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.governance.client_scope import ClientScope
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.runtime.open import open  # noqa: A004 - muniment.open()
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import set_observer
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
SOURCES = system_sources()
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


@click.pass_context
def _run(ctx: click.Context, /, *, demo: bool, spaces_max: int, metrics: int | None, **given: object) -> int:
    if not all(find_spec(name) for name in NEEDED):
        raise ExtraMissing(at="serve", problem="needs_http")
    if metrics is not None and not find_spec("prometheus_client"):
        raise ExtraMissing(at="metrics", problem="needs_metrics")
    serving, served = (import_module(f"muniment.transports.http.{name}") for name in ("serving", "http_app"))
    tokens = _tokens({name: given.pop(name) for name in ("issuer", "audience", "jwks", "client_claim")})
    options = msgspec.convert(given, serving.ServeOptions)
    listener = serving.Listener(options)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    with open("memory:") if demo else opened_to_serve(ctx.ensure_object(StoreOptions), spaces_max) as runtime:
        click.echo(f"muniment serves {listener.url}")
        if demo:
            click.echo(DEMO.format(url=listener.url, key=_demo_key(runtime)))
        elif not runtime.clients.list_().clients:
            click.echo(NO_CLIENTS)
        with _counting(runtime, serving, metrics) as observer:
            setup = served.HttpSetup(options.rules, _mounts(), tokens, observer)
            app = served.http_app(runtime, catalogue(), SOURCES, setup)
            sys.stdout.flush()
            listener.serve(listener.server(_traced(app)))
    return 0


def _tokens(given: dict[str, Any]) -> Any:
    """Return what verifies tokens, where any are taken."""
    if all(given[name] is None for name in ("issuer", "audience", "jwks")):
        return None
    if not find_spec("jwt"):
        raise ExtraMissing(at="serve", problem="needs_jwt")
    return msgspec.convert(given, import_module("muniment.transports.http.tokens").TokenOptions).verifier()


def _traced(app: Any) -> Any:
    """Return an application that goes on with the traces of its callers, where the settings ask for traces."""
    return app if set_observer() is None else import_module("muniment.transports.http.trace_context").TraceContext(app)


@contextmanager
def _counting(runtime: Runtime, serving: Any, port: int | None) -> Iterator[Any]:
    """Give what counts requests, and serve what it counts at a port of this machine; None where nobody asked for it."""
    if port is None:
        yield None
        return
    counted = import_module("muniment.transports.http.metrics").HttpMetrics(runtime.totals)
    listener = serving.Listener(serving.ServeOptions(port=port))
    click.echo(f"metrics are at {listener.url}/metrics")
    with listener.serving(counted.app(SOURCES.ids)):
        yield counted


def _mounts() -> Any:
    """Return what mounts the gateway beside the operations, and MCP where its package is installed."""
    gateway = import_module("muniment.transports.gateway.gateway_app")
    over_http = import_module("muniment.transports.mcp.over_http") if find_spec("mcp") else None

    def mounts(callers: Any) -> dict[str, Any]:
        made = dict(gateway.GatewayApp(catalogue(), callers).mounts)
        if over_http is not None:
            made[over_http.PATH] = over_http.McpOverHttp(catalogue(), callers, every=False)
        return made

    return mounts


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
