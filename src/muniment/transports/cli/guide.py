"""`muniment guide`: the pages of the guide, which the package ships as Markdown.

A pipe gets the source of a page, a terminal gets it rendered, both without the marks around generated tables. `TOPICS`
is the reading order.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from importlib.resources.abc import Traversable

import click
from msgspec import Struct

from muniment.transports.cli.fields import ChoiceParam
from muniment.transports.cli.output import page_on, write_json
from muniment.transports.cli.plain_page import StyledText, TextStyle
from muniment.transports.cli.store_options import StoreOptions, door_options

TOPICS = (
    "start", "concepts", "browsing", "search", "sql", "embedding", "context", "views", "redaction", "access",
    "lifecycle", "erasure", "attributes", "attachments", "evidence", "provenance", "memory", "notebook", "skills",
    "tools", "serving", "inspection", "keys", "backup", "archives", "limits", "profiles", "replay", "compare", "errors",
)  # fmt: skip
MARK = "<!-- "


class Topic(Struct, frozen=True, kw_only=True):
    """A page of the guide and its title."""

    topic: str
    title: str


class Topics(Struct, frozen=True, kw_only=True):
    """The pages of the guide."""

    topics: list[Topic]


class Chapter(Struct, frozen=True, kw_only=True):
    """One page of the guide."""

    topic: str
    title: str
    text: str


def guide_command() -> click.Command:
    """Return the command `guide`."""
    topic = click.Argument(["topic"], required=False, type=ChoiceParam(list(TOPICS)), metavar="[TOPIC]")
    return click.Command(
        "guide",
        callback=_run,
        params=[topic, *(option for option in door_options() if option.name == "json")],
        help=f"Print a page of the guide, or list the pages.\n\nPages: {', '.join(TOPICS)}.",
        short_help="Print a page of the guide, or list the pages.",
    )


def pages() -> Traversable:
    """Return the directory of the guide, wherever the package is installed."""
    return files("muniment").joinpath("guide")


def chapter(topic: str) -> Chapter:
    """Return a page of the guide."""
    lines = pages().joinpath(f"{topic}.md").read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if not line.startswith(MARK)]
    return Chapter(topic=topic, title=told[0].removeprefix("# "), text="\n".join(told) + "\n")


@click.pass_context
def _run(ctx: click.Context, topic: str | None) -> None:
    door = ctx.ensure_object(StoreOptions)
    if topic is not None:
        _tell_chapter(chapter(topic), door)
        return
    topics = [Topic(topic=name, title=chapter(name).title) for name in TOPICS]
    if door.as_json:
        write_json(Topics(topics=topics))
    else:
        page = page_on(sys.stdout)
        page.facts([(topic.topic, StyledText(topic.title)) for topic in topics])
        page.line()
        page.line(StyledText("`muniment guide TOPIC` prints a page.", TextStyle.FAINT))


def _tell_chapter(told: Chapter, door: StoreOptions) -> None:
    if door.as_json:
        write_json(told)
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - nothing in a pipe pays for colours

        from muniment.transports.cli.rich_page import Leaf  # noqa: PLC0415 - the same

        Console(file=sys.stdout).print(Leaf(told.text))
    else:
        sys.stdout.buffer.write(told.text.encode())
        sys.stdout.buffer.flush()
